"""The figure of lesson 16: six answers to one question, which of them are right, and what that makes of each."""

from drawing import BODY, GREY, INK, KEY, MINUS, SMALL, VALUE, Drawing, mix

PROBLEM = (3, 8, 5, 7, 6)
ANSWERS = ("9.", "4.", "31639:9.", "7.", "31638:8.", "6.")  # a full stop ends each; before a colon stand sums
TOP, ROW, ZERO, UNIT = 96, 44, 600, 78  # the first row, each; where an advantage is 0, and 1 in pixels


def is_right(answer):
    """Whether the digit is that of the sum, and the running sums before it, if there are any, are all right."""
    sums = "".join(str(sum(PROBLEM[: i + 1]) % 10) for i in range(len(PROBLEM)))
    return answer in (f"{sums[-1]}.", f"{sums}:{sums[-1]}.")


def advantages():
    """Of each answer: its reward, less the mean of all, over their standard deviation."""
    rewards = [float(is_right(answer)) for answer in ANSWERS]
    mean = sum(rewards) / len(rewards)
    deviation = (sum((r - mean) ** 2 for r in rewards) / len(rewards)) ** 0.5
    return [(r - mean) / deviation for r in rewards]


def right_or_wrong():
    d = Drawing(
        TOP + ROW * len(ANSWERS) + 66,
        "A group of answers to one question, and what right or wrong makes of each",
        f"The question is the last digit of 3 + 8 + 5 + 7 + 6. Six answers are drawn: {', '.join(ANSWERS)} Those that "
        "are right get a positive advantage, and a bar to the right: they become likelier. The wrong ones get a "
        "negative one, and a bar to the left.",
    )
    question = "the last digit of " + " + ".join(map(str, PROBLEM))
    d.text(30, 36, question, 20, INK, "start", bold=True)
    for x, head in ((250, "drawn answers"), (420, "reward"), (ZERO, "advantage")):
        d.text(x, 72, head, SMALL, GREY, "start" if x == 250 else "middle")
    middle = TOP + ROW * len(ANSWERS) / 2
    d.box(30, middle - 34, 130, 68, "the policy", mix(INK, 0.08))
    for row, (answer, advantage) in enumerate(zip(ANSWERS, advantages(), strict=True)):
        y, colour = TOP + ROW * row + ROW / 2, VALUE if is_right(answer) else KEY
        d.path(f"M160 {middle}C205 {middle} 200 {y} 240 {y}", GREY, 1.4)
        d.rect(246, y - 16, 122, 32, mix(colour, 0.14), colour)
        d.text(258, y, answer, BODY, INK, "start")
        d.text(420, y, "1" if is_right(answer) else "0", BODY, colour, bold=True)
        d.rect(min(ZERO, ZERO + UNIT * advantage), y - 11, abs(UNIT * advantage), 22, mix(colour, 0.6), colour, 3)
        beyond = ZERO + UNIT * advantage + (12 if advantage > 0 else -12)
        d.text(beyond, y, f"{advantage:+.2f}".replace("-", MINUS), SMALL, colour, "start" if advantage > 0 else "end")
    d.path(f"M{ZERO} {TOP - 4}V{TOP + ROW * len(ANSWERS) + 4}", GREY, 1.4)
    y = TOP + ROW * len(ANSWERS) + 32
    d.text(ZERO - 12, y, "← less likely", SMALL, KEY, "end")
    d.text(ZERO + 12, y, "likelier →", SMALL, VALUE, "start")
    return d
