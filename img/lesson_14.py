"""The figure of lesson 14: which bugs the five steps see, by the file that the bug is in."""

from drawing import BODY, GREY, INK, KEY, LINE, PANEL, SMALL, WHITE, Drawing

FILES = {"data": 4, "model": 8, "training": 10, "generation": 5}  # how many bugs there are in each
STEPS = (  # what one does, and how many of the bugs in each file it sees
    ("read the data back", (3, 0, 0, 2)),
    ("what must come out?", (1, 1, 4, 0)),
    ("what must not matter?", (0, 5, 4, 4)),
    ("learn a batch by heart", (2, 6, 7, 3)),
    ("compare with a twin", (4, 8, 10, 5)),
)
LEFT, WIDE, TOP, ROW, STEP = 262, 130, 88, 54, 19  # of the first column, of each; of the first row, of each; of a bug
IN_A_ROW = 5
AGAIN = LEFT + WIDE - 18  # where each row has its number once more: where a phone shows it in two parts


def bugs(d, x, y, count, seen):
    """A disc for each bug of a file, in rows of five; those that are seen come first and are filled."""
    rows = -(-count // IN_A_ROW)
    for i in range(count):
        down, along = divmod(i, IN_A_ROW)
        middle = y + (down - (rows - 1) / 2) * STEP
        d.disc(x + STEP * along, middle, 6.5, KEY if i < seen else WHITE, KEY if i < seen else LINE)


def what_sees_what():
    d = Drawing(
        TOP + ROW * len(STEPS) + 62,
        "Which bugs each of the five steps sees",
        "A row for each step, a column for each file of the program, and a disc for each bug, filled where the step "
        "sees it. "
        + " ".join(
            f"{name.rstrip('?').capitalize()}: "
            + ", ".join(f"{n} of {of} in {file}" for n, (file, of) in zip(seen, FILES.items(), strict=True))
            + "."
            for name, seen in STEPS
        ),
    )
    for i, file in enumerate(FILES):
        d.text(LEFT + WIDE * i, 40, file, BODY, INK, "start", bold=True)
        d.text(LEFT + WIDE * i, 62, f"{FILES[file]} bugs", SMALL, GREY, "start")
    for row, (name, seen) in enumerate(STEPS):
        y = TOP + ROW * row + ROW / 2
        d.rect(24, TOP + ROW * row + 2, 752, ROW - 4, PANEL, "none", 8)
        d.badge(46, y, f"{row + 1}")
        d.text(68, y, name, BODY, INK, "start")
        d.text(AGAIN, y, f"{row + 1}", SMALL, GREY)
        for i, (count, found) in enumerate(zip(FILES.values(), seen, strict=True)):
            bugs(d, LEFT + WIDE * i + 7, y, count, found)
    y = TOP + ROW * len(STEPS) + 30
    d.text(400, y, "each step costs more than the one above it, and only the last one names the function", SMALL, GREY)
    return d
