"""The site as files: what a page links to is there, nothing comes from elsewhere, and nothing of a lesson is lost."""

import importlib
import json
import re
import subprocess
import sys
from html import unescape
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tests.built_site import LESSONS, ROOT, SITE, PageOfTheSite, built_site, is_relative
from transformer_lab.exercises import catalogue

# Formulas, alt texts, addresses and tags; and the time that a lesson takes, which its poster says.
NO_WORDS = re.compile(r"\*\*Time:\*\*|\$\$.*?\$\$|\$.*?\$|!\[.*?\]\(.*?\)|\]\(.*?\)|<.*?>", re.DOTALL)
# The effort of an exercise, which its card says, and the way to its statement, which stands on the card.
ON_THE_CARD = re.compile(r"(?<=\*\*) \([^)]*\d+ minutes[^)]*\)|Print the statement, `[\w.]+`, for the details\.")
every_lesson = pytest.mark.parametrize("name", LESSONS)
every_notebook = pytest.mark.parametrize("name", [*LESSONS, "gallery"])


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    return built_site(tmp_path_factory.mktemp("site") / "out")


@pytest.fixture(scope="module")
def pages(site) -> dict[str, PageOfTheSite]:
    """Every page, by its address without the ending."""
    return {path.relative_to(site).as_posix()[:-5]: PageOfTheSite(path) for path in sorted(site.rglob("*.html"))}


def stored(name: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)


def html_of(cell: nbformat.NotebookNode) -> str:
    return "".join(output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))


# ── the way about ──


def test_every_notebook_has_a_page_and_so_have_the_texts(pages):
    texts = {"index", "contributing", "docs/instructors", "docs/design", "docs/figures", "search"}
    assert set(pages) == texts | {f"lessons/{name}" for name in [*LESSONS, "gallery"]}


@every_lesson
def test_a_lesson_leads_to_those_before_and_after_it(pages, name):
    order = ["../index", *LESSONS, "gallery"]
    at = order.index(name)
    addresses = pages[f"lessons/{name}"].addresses
    named = {rel.split()[-1]: address for _, rel, address in addresses if rel.endswith("-page")}
    assert named["prev-page"] == f"{order[at - 1]}.html"
    assert named["next-page"] == f"{order[at + 1]}.html"


def test_what_a_page_names_is_there(pages):
    ids = {page.path: page.ids for page in pages.values()}
    missing = []
    for name, page in pages.items():
        for _, _, address in filter(lambda found: is_relative(found[2]), page.addresses):
            path, place = page.target(address)
            if not path.exists() or (place and "=" not in place and path in ids and place not in ids[path]):
                missing.append((name, address))
    assert missing == []


def test_nothing_is_loaded_from_elsewhere_and_no_path_is_absolute(pages):
    for name, page in pages.items():
        elsewhere = [(tag, a) for tag, rel, a in page.addresses if not is_relative(a) and not a.startswith("data:")]
        loaded = [found for found in elsewhere if found[0] != "a" and found[1] != canonical(name)]
        assert loaded == [], name
        assert [a for _, a in elsewhere if not re.match(r"https?://|mailto:", a)] == [], name
        assert str(ROOT) not in page.html, name
    styles = {path for page in pages.values() for path in page.assets() if path.suffix == ".css"}
    for style in styles:
        assert re.findall(r"@import|url\(\s*[\"']?(?:https?:|//|/)[^)]*", style.read_text("utf-8")) == []


def canonical(name: str) -> str:
    return f"{SITE}/" if name == "index" else f"{SITE}/{name}.html"


def test_what_is_loaded_with_a_page_is_there(pages):
    assert {str(path) for page in pages.values() for path in page.assets() if not path.exists()} == set()


def test_a_page_is_not_heavy(pages):
    for name, page in pages.items():
        limit = {"index": 1.5, "lessons/gallery": 3.0}.get(name, 2.5)  # the gallery shows every view, and has a wall
        assert page.weight() <= limit, (name, page.weight())


def test_the_readme_leads_to_the_site(pages):
    """To how it is made and published, by an anchor that is there, with the command that makes it."""
    readme = (ROOT / "README.md").read_text("utf-8")
    place = re.search(r"\[web pages\]\(docs/design\.md#([\w-]+)\)", readme)
    assert place is not None
    assert place[1] in pages["docs/design"].ids
    assert "`python web/build.py site`" in readme


def test_a_folder_that_holds_something_else_is_not_touched(site, tmp_path):
    (tmp_path / "thesis.txt").write_text("three years of work")
    run = subprocess.run([sys.executable, ROOT / "web" / "build.py", tmp_path], capture_output=True, text=True)
    assert run.returncode == 2
    assert "OUT must be empty, or a site that was built before" in run.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


# ── the front page ──


def test_the_front_page_is_a_map_with_a_knot_for_each_lesson_and_a_dot_for_each_exercise(pages):
    knots = re.findall(r'<li class="knot" data-knot="(\w+)" data-exercises="([\w ]*)">(.*?)</li>', pages["index"].html)
    assert [name for name, _, _ in knots] == LESSONS
    assert [one for _, names, _ in knots for one in names.split()] == list(catalogue)
    for name, names, knot in knots:
        assert f'href="lessons/{name}.html"' in knot
        assert knot.count('class="dot"') == len(names.split())
        minutes = re.search(r'class="minutes">([\d +]+) min', knot)
        said = re.search(r"\*\*Time:\*\* (\d+) minutes.*?exercises (\d+) more", stored(name).cells[0].source)
        assert minutes is not None
        assert minutes[1] == (" + ".join(said.groups()) if said else "30")


def test_the_front_page_has_a_view_and_the_commands_of_the_readme(pages):
    text = unescape(re.sub(r"<[^>]+>", "", pages["index"].html))
    assert len(re.findall(r"<tl-[a-z_]+-[0-9a-f]{8}>", pages["index"].html)) == 1
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^(pip .+ && .+)$", readme, re.MULTILINE)
    assert len(commands) == 2
    assert [command for command in commands if command not in text] == []
    assert "icon" in [relation for _, relation, _ in pages["index"].addresses]  # or browsers ask for one
    assert ("a", "", "https://github.com/lab/lab") in pages["index"].addresses


def test_the_front_page_says_what_it_is_and_quotes_what_an_exercise_says(pages):
    hello = re.search(r'<div class="hello">(.+?)</div>', pages["index"].html, re.DOTALL)
    assert hello is not None
    said = re.sub(r"<[^>]+>", "", hello[1])
    assert f"{len(LESSONS)} lessons, {len(catalogue)} exercises that name your mistake" in said
    links = re.findall(r'href="([^"]+)"', hello[1])
    assert links == ["#s=thirty-four+thousand+and+twenty-one&amp;view=map", f"lessons/{LESSONS[0]}.html"]
    cards = pages["index"].html.partition('<ul class="cards">')[2].partition("</ul>")[0]
    quoted = unescape(re.sub(r"<[^>]+>", "", cards.partition("“")[2].partition("”")[0]))
    assert quoted == catalogue["causal_mask"].mistakes["upper_triangle"].explanation.replace("*", "")


def showing(*kinds: str) -> nbformat.NotebookNode:
    html = [f"<tl-{kind}-01234567></tl-{kind}-01234567>" for kind in kinds]
    return new_notebook(cells=[new_code_cell(outputs=[new_output("display_data", {"text/html": one})]) for one in html])


def test_the_front_page_opens_with_the_machine_once_a_lesson_shows_it(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    opening_view = importlib.import_module("front").opening_view
    gallery = showing("attention", "heads")
    assert opening_view({"gallery": gallery, "06_x": showing("decoding")})[0] == "heads"
    kind, html = opening_view({"gallery": gallery, "06_x": showing("machine")})
    assert (kind, html[:12]) == ("machine", "<tl-machine-")


# ── what others see of a page ──


def test_a_page_says_what_it_is_and_where_it_stands(pages, site):
    from PIL import Image

    told = {name: page.told for name, page in pages.items()}
    assert len({one["og:title"] for one in told.values()}) == len(pages)
    for name, page in pages.items():
        assert ("link", "canonical", canonical(name)) in page.addresses
        assert told[name]["og:url"] == canonical(name)
        assert 50 <= len(told[name]["description"]) <= 300, name
        assert told[name]["og:description"] == told[name]["description"]
        picture = site / told[name]["og:image"].removeprefix(f"{SITE}/")
        with Image.open(picture) as shared:
            assert shared.size == (1200, 630)
    lessons = [told[f"lessons/{name}"] for name in LESSONS]
    for what in ("description", "og:image", "og:image:alt"):
        assert len({one[what] for one in lessons}) == len(LESSONS), what


@pytest.mark.parametrize("answered", [False, True])
def test_the_picture_of_a_lesson_shows_its_question_and_its_drawing_as_they_are(monkeypatch, answered):
    from PIL import Image

    monkeypatch.syspath_prepend(str(ROOT / "web"))
    cards, course = importlib.import_module("postcards"), importlib.import_module("course")
    stored = {name: nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4) for name in LESSONS}
    lessons = course.lessons_of(stored, ROOT)
    folder = cards.FOLDER / "answered" if answered else cards.FOLDER
    assert sorted(path.stem for path in folder.glob("*.png")) == [one["number"] for one in lessons]
    for lesson in lessons:
        with Image.open(folder / f"{lesson['number']}.png") as picture:
            told = picture.info[cards.DIGEST]
        assert told == cards.digest(lesson, answered), (
            f"lesson {lesson['number']}: draw it again by `python web/share.py`"
        )


def test_without_an_address_a_page_claims_none(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    where = importlib.import_module("whereabouts").Whereabouts
    assert where.of({}) == where("", "")
    assert where("", "https://github.com/lab/lab").colab == ""
    assert where(f"{SITE}/", "https://example.org/lab/lab").colab == ""
    assert where.of({"SITE_ADDRESS": SITE, "GITHUB_REPOSITORY": "lab/lab"}) == where(f"{SITE}/", "")


def test_every_heading_and_view_has_an_address_and_stands_in_the_contents(pages):
    for name in [*LESSONS, "gallery"]:
        page = pages[f"lessons/{name}"]
        contents = page.html.partition('<ol class="places">')[2].partition("</ol>")[0]
        listed = re.findall(r'href="#([^"]+)"', contents)
        heading = r"<section[^>]* id=\"([^\"]+)\">\s*(?:<span[^>]*></span>|<details><summary>)*<h[23]>"
        headings = re.findall(heading, page.html)
        views = re.findall(r'id="(view-[\w-]+)" data-place', page.html)
        assert len(views) == len(re.findall(r"<tl-[a-z_]+-[0-9a-f]{8}>", page.html)), name
        assert [one for one in listed if one.startswith("view-")] == views
        assert set(headings) <= set(listed)
        assert len(listed) == len(set(listed))
        assert set(listed) <= page.ids


def test_the_search_knows_every_section_by_its_address(pages, site):
    found = json.loads((site / "_static" / "search.json").read_text("utf-8"))
    ids = {(name, one) for name, page in pages.items() for one in page.ids}
    assert {(page, id_) for page, id_, *_ in found} <= ids
    (section,) = [
        one for one in found if "einundzwanzig" in one[4] and one[:2] == ["lessons/07_training", "the-question"]
    ]
    assert section[2].startswith("07")
    assert not [id_ for _, id_, _, _, text in found if "minutesdifficulty" in text]  # labels are words of their own


# ── lessons ──


@every_notebook
def test_views_are_as_stored(pages, site, name):
    """But for the pictures of the gallery's, which are files: its wall shows them as well."""
    views = [html for cell in stored(name).cells if "<tl-" in (html := html_of(cell))]
    if name == "gallery":
        files = {path.read_text("utf-8"): path.name for path in (site / "lessons" / "wall").iterdir()}
        views = [
            re.sub(r"data:image/svg\+xml,([^\"]+)", lambda m: f"wall/{files[unquote(unescape(m[1]))]}", view, count=1)
            for view in views
        ]
        assert len(files) == len(views)
    assert [view[:100] for view in views if view not in pages[f"lessons/{name}"].html] == []


@every_notebook
def test_all_that_a_lesson_says_and_prints_is_on_its_page(pages, name):
    page = squeezed(unescape(re.sub(r"<[^>]+>", "", pages[f"lessons/{name}"].html)))
    for cell in stored(name).cells:
        if cell.cell_type == "code" and ".check(" not in cell.source:
            assert squeezed(cell.source) in page
            printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
            assert squeezed(printed) in page
        elif cell.cell_type == "markdown":
            source = ON_THE_CARD.sub("", re.sub("^## Extra:", "##", cell.source, flags=re.MULTILINE))
            words = re.findall(r"[^\W_]{4,}", NO_WORDS.sub(" ", source))
            assert [word for word in words if word not in page and word.capitalize() not in page] == []


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@every_lesson
def test_an_exercise_has_its_statement_and_its_hints_in_place_of_its_check(pages, name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    judged = importlib.import_module("judged")
    html = pages[f"lessons/{name}"].html
    here = [cell.metadata.exercise for cell in stored(name).cells if "exercise" in cell.metadata]
    assert re.findall(r'aria-label="Exercise (\w+)"', html) == here
    for exercise in map(catalogue.__getitem__, here):
        rest = html.partition(f'aria-label="Exercise {exercise.name}"')[2]
        panel = re.split('class="cell|aria-label="Exercise ', rest)[0]
        said = squeezed(unescape(re.sub(r"<[^>]+>", "", panel)))
        assert (f'data-judged="{exercise.name}"' in panel) == judged.is_judged(exercise)
        for text in (exercise.statement, *exercise.hints):
            assert squeezed(re.sub(r"[`*]|^- ", "", text, flags=re.MULTILINE)) in said.replace("*", "")
        hints = re.findall(r"<summary [^>]*>hint (\d+) of (\d+)</summary>", panel)
        assert hints == [(str(n), str(len(exercise.hints))) for n in range(1, len(exercise.hints) + 1)]
        assert f'href="{name}.ipynb"' in panel
        assert "Not attempted yet" not in html


@every_notebook
def test_the_notebook_lies_beside_its_page_and_both_have_its_drawings(pages, site, name):
    assert ("a", "", f"{name}.ipynb") in pages[f"lessons/{name}"].addresses
    taken = nbformat.read(site / "lessons" / f"{name}.ipynb", as_version=4)
    assert taken.cells[1:] == stored(name).cells
    wheel = re.search(rf"%pip install \S.* ({re.escape(SITE)}/\S+\.whl)\n", taken.cells[0].source)
    assert wheel is not None
    assert (site / wheel[1].removeprefix(f"{SITE}/")).exists()
    needs = "lessons" if name[:2] in ("11", "12", "15") else ""
    assert f"evaluate({{'extra': '{needs}'}})" in taken.cells[0].source
    colab = f"https://colab.research.google.com/github/lab/lab/blob/colab/{name}.ipynb"
    assert ("a", "", colab) in pages[f"lessons/{name}"].addresses
    drawn = [name for cell in stored(name).cells for name in cell.get("attachments", {})]
    shown = [Path(address) for _, _, address in pages[f"lessons/{name}"].addresses if "/_images/" in address]
    assert [path.with_suffix(".png").name for path in dict.fromkeys(shown)] == drawn  # its parts come from one file
    assert {path.suffix for path in shown} <= {".svg"}, "they follow the theme"


def test_what_is_to_be_predicted_is_folded(pages):
    html = pages["lessons/01_attention"].html
    before = html.partition('weights [<span class="amounts">')[0]
    assert before.rpartition("<details")[2].count("</details>") == 0
    assert "Predict first" in before.rpartition("<details")[2]


@every_lesson
def test_no_number_of_an_answer_that_is_folded_stands_open_in_the_prose_below_it(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    folds, lessons = importlib.import_module("folds"), importlib.import_module("lessons")
    for cell, below in pairwise(lessons.as_page(stored(name), name).cells):
        if "hide-output" not in cell.metadata.get("tags", []) or below.cell_type == "code":
            continue
        answer = folds.said_in("".join(output.get("text", "") for output in cell.outputs))
        _, is_folded, after = below.source.rpartition("\n\n</div>")
        first = (after if is_folded else below.source).strip().partition("\n\n")[0]
        if folds.PROSE.match(first) and "**Predict" not in first and not first.endswith(":"):
            assert is_folded
            assert not folds.said_in(first) & answer, first


@pytest.mark.parametrize(
    ("below", "folded"),
    [
        ("It falls.\n\nThen 12.5 rises.\n\nAnd so on.", ["It falls.", "Then 12.5 rises."]),
        ("It falls. Why? We look closer:", ["It falls. Why?"]),
        ("We look closer:", []),
        ("## A heading\n\nIt is 12.5.", []),
        ("It falls. **Predict** what comes next.", []),
    ],
)
def test_what_is_folded_with_an_answer_ends_where_something_else_begins(below, folded, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    cell = new_code_cell("", outputs=[new_output("stream", text="loss 12.5\n")])
    said = importlib.import_module("folds").opening_with(cell, below)
    assert (
        re.sub(r"\s+", " ", said.replace("</div>", "").replace('<div class="told-below">', "")).split() == below.split()
    )
    assert (said.partition("</div>")[0].split("\n\n")[1:-1] if folded else said) == (folded or below)


def test_of_two_outputs_that_are_predicted_at_once_each_says_what_it_is(pages):
    said = re.findall(r"<p[^>]*>((?:Predict first, then|Then) see [^<]+)</p>", pages["lessons/07_training"].html)
    assert said.count("Then see the figure") == 1
    assert "Then see more numbers" in said
    assert all(
        one.rpartition("see ")[2] != other.rpartition("see ")[2] for one, other in pairwise(said) if "Then" in other
    )


def test_a_figure_stands_before_its_code_and_says_what_is_to_be_seen(pages):
    html = pages["lessons/01_attention"].html
    (figure,) = re.findall(r'<figure class="plate" id="figure-1">.*?</figure>.*?</details>', html, re.DOTALL)
    caption = "Attention weights: took, money and bank put most on money; all other rows are even."
    assert f'<figcaption aria-hidden="true">{caption}</figcaption>' in figure
    assert "How this figure was made · 6 lines of Python" in figure
    assert "plots" in figure.rpartition("<details")[2]


def test_code_that_computes_or_is_used_again_stays_open(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    folds = importlib.import_module("folds")
    told = [new_output("stream", text="a: 1\nb: 2\n")]
    lines = "for name, x in found.items():\n    print(f'{name}: {x.mean()}')\nlast = found['b']\nassert last == 2"
    table = new_code_cell(lines, outputs=told)
    computed = new_code_cell(f"{lines}\nhalf = last / 2", outputs=told)
    said = "Where these numbers come from · 4 lines of Python"
    assert folds.folded_because(table, [], is_first=False) == said
    assert folds.folded_because(table, [new_code_cell("print(last)")], is_first=False) == ""
    assert folds.folded_because(computed, [], is_first=False) == ""
    assert folds.folded_because(new_code_cell(lines.replace("mean", "backward"), outputs=told), [], False) == ""


def test_a_long_function_is_folded_to_what_it_says_of_itself_unless_the_prose_speaks_of_it(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    with_lines = importlib.import_module("listings").with_lines
    code = "\n".join(["def helper(x):", '    """It helps."""', *["    x = x + 1"] * 8, "", "y = helper(1)"])
    listing = f"<pre><span></span>{code}\n</pre>"
    folded = with_lines(listing)
    assert re.sub(r"<[^>]+>", "", folded).split() == code.split()
    head, _, rest = folded.partition('<details class="rest">')
    assert "It helps." in head
    assert "8 more lines of helper" in rest
    assert "y = helper(1)" in rest.partition("</details>")[2]
    assert "<details" not in with_lines(f"<p>Now <code>helper</code> counts.</p>{listing}")


@pytest.mark.parametrize(
    ("html", "set_"),
    [
        ('<p>A friend says: "That is why."</p>', "<p>A friend says: “That is why.”</p>"),
        ("the block's <code>x['a']</code> it's", "the block’s <code>x['a']</code> it’s"),
        ('"<b>one</b>" and <a href="x">two</a>', '“<b>one</b>” and <a href="x">two</a>'),
    ],
)
def test_quotation_marks_of_a_quiz_are_those_of_a_printed_page(html, set_, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    assert importlib.import_module("lessons").curly(html) == set_


def test_the_gallery_opens_with_a_wall_whose_drawings_lead_to_all_views(pages):
    html = pages["lessons/gallery"].html
    wall = html.partition('<div class="wall"')[2].partition("</div>")[0]
    tile = r'<a href="#([\w-]+)"><svg [^>]*>(.+?)</svg><b>([^<]+)</b><span>.+?</span>(?:<i>lesson \d\d</i>)?</a>'
    tiles = re.findall(tile, wall)
    assert [place for place, _, _ in tiles] == re.findall(r'id="(view-[\w-]+)" data-place', html)
    assert len({title for _, _, title in tiles}) == len(tiles)
    assert len({drawing for _, drawing, _ in tiles}) == len(tiles)
    assert html.index('class="wall"') < html.index('id="attention"')
    assert [title for _, _, title in tiles if not title.endswith("?")] == []
    parts = re.findall(r'<p class="wall-part">([^<]+) <span>(\d+) views</span></p><ul [^>]*>(.+?)</ul>', wall)
    assert [(part, int(n)) for part, n, _ in parts] == [(part, row.count("<li>")) for part, _, row in parts]
    assert [part for part, _, _ in parts] == re.findall(r"<h2>([^<]+)<a", html)
    contents = html.partition('<ol class="places">')[2].partition("</ol>")[0]
    views = re.findall(r'<li data-kind="view"><a href="#([\w-]+)">([^<]+)</a>', contents)
    assert views == [(place, title) for place, _, title in tiles], "called in the contents as on the wall"
    heading = r'<p class="view-title" role="heading" aria-level="3">([^<]+?)(?: <span>lesson \d\d</span>)?</p>'
    assert re.findall(heading, html) == [title for _, _, title in tiles], "and above the view itself"


def test_a_view_without_a_drawing_is_named(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "web"))
    with pytest.raises(ValueError, match=r"no drawing of view-new: WALL in web/wall_sketches\.py must have one"):
        importlib.import_module("wall_sketches").on_card("view-new")


@every_lesson
def test_a_lesson_opens_with_a_poster_that_leads_to_its_view(pages, name):
    html = pages[f"lessons/{name}"].html
    poster = re.search(
        rf'<div class="poster" data-knot="{name}" data-exercises="([\w ]*)">.*?class="poster-picture".*?</a>',
        html,
        re.DOTALL,
    )
    assert poster is not None
    assert html.index("<h1>") < poster.start() < html.index("<h2>")
    assert poster[0].count("class=dot") == len(poster[1].split())
    (place,) = re.findall(r'class="poster-picture" href="#([\w-]+)"', poster[0])
    assert place in pages[f"lessons/{name}"].ids
    assert place.startswith("view-") == ("<tl-" in html)
    (alt,) = re.findall(r'<svg [^>]*role="img" aria-label="([^"]+)">', poster[0])
    assert len(alt) > 20
    opening = html[poster.start() : html.index("<h2>")]
    assert len(re.findall(r"\d+ minutes", opening)) == 1, "its time is said once"
    alive = re.findall(r'href="#([\w-]+)"', opening.partition('class="strip"')[2])
    assert alive == [one for one in re.findall(r'id="(view-[a-z-]+)" data-place', html) if not one.endswith("-")]
    assert re.findall(r"<text[^>]*>[^<]*\b[01]?\.\d", poster[0]) == [], "no number that a reader is to predict"


@every_lesson
def test_a_lesson_asks_for_a_guess_and_keeps_what_it_found_to_itself(pages, name):
    html = pages[f"lessons/{name}"].html
    asked = re.findall(r'<div class="guess" data-right="(\d)" data-found="([^"]+)"><p>([^<]+\?)</p>', html)
    assert len(asked) == (name[:2] != "00")
    for right, found, _ in asked:
        group = html.partition('class="guess-answers"')[2].partition("</div>")[0]
        assert int(right) < group.count("<button") <= 3
        assert found.endswith(".")
        assert f">{found}" not in html


ENDS = ("poster-picture", "closing-drawn")


@every_lesson
def test_a_lesson_ends_with_its_question_and_the_poster_of_the_next(pages, name):
    html = pages[f"lessons/{name}"].html
    asked = re.findall(r'class="(?:poster-question(?: long)?|closing-question)">(.+?)</p>', html)
    assert len(asked) == 2
    assert asked[0] == asked[1]
    opens, ends = (re.findall(rf'class="{place}"[^>]*>(<svg.+?</svg>)', html, re.DOTALL) for place in ENDS)
    assert len(opens) == len(ends) == 1
    assert opens != ends  # the answer is drawn
    follower = ([*LESSONS, ""])[LESSONS.index(name) + 1]
    assert ('class="turn-picture"' in html) == bool(follower)
    if follower:
        theirs = pages[f"lessons/{follower}"].html
        (onward,) = re.findall(r'class="turn-question">(.+?)</p>', html)
        assert f">{onward}</p>" in theirs
        (drawing,) = re.findall(r'class="turn-picture"[^>]*>(<svg.+?</svg>)', html, re.DOTALL)
        assert drawing in theirs.partition('class="turn"')[0]


@every_lesson
def test_extras_follow_the_end_and_each_is_folded_behind_its_heading(pages, name):
    """What is to be remembered stands beside the question; what leads on stands there once, on the card."""
    html = pages[f"lessons/{name}"].html
    said = "\n".join(cell.source for cell in stored(name).cells if cell.cell_type == "markdown")
    extras = re.findall(r"^## Extra: (.*)$", said, re.MULTILINE)
    folded = re.findall(
        r'<section id="(extra-[\w-]+)">\s*(?:<span[^>]*></span>)?<details><summary>\s*<h3>(.*?)</h3>', html, re.DOTALL
    )
    assert len(folded) == len(extras) == html.count('<section id="extra-')
    words = [
        [re.findall(r"\w{4,}", NO_WORDS.sub("", re.sub("<math.*?</math>", "", one)))[1:] for one in titles]
        for titles in (extras, [title for _, title in folded])
    ]
    assert words[0] == words[1]
    places = [html.index(one) for one in ('class="closing"', 'id="remember"', 'class="turn"')]
    places += [html.index(f'id="{id_}"') for id_, _ in folded]
    assert places == sorted(places)
    assert html.partition('class="closing"')[0].count("<section") == html.partition('class="closing"')[0].count(
        "</section>"
    )
    assert ("<strong>Next:</strong>" in html) == (name == LESSONS[-1])
    assert ('class="turn-bridge"></p>' in html) == (name == "14_bug_clinic")
    knots = re.findall(
        r'href="#exercise-(\w+)" data-exercise', html.partition('class="knots"')[2].partition("</ol>")[0]
    )
    assert knots == [cell.metadata.exercise for cell in stored(name).cells if "exercise" in cell.metadata]


def test_the_code_of_the_gallery_is_folded(pages):
    html = pages["lessons/gallery"].html
    inputs = html.count('class="cell_input docutils container"')
    assert inputs == html.count('of Python</p>\n<p class="expanded') + html.count("The set-up of this lesson") > 20


def test_what_answers_the_question_above_it_is_folded(pages):
    before = pages["lessons/01_attention"].html.partition("<b>36</b> stops")[0]
    assert before.rpartition("<details")[2].count("</details>") == 0


# ── mathematics ──


def test_formulas_are_mathematics_and_the_font_has_their_letters(pages, site):
    from fontTools.ttLib import TTFont

    letters = set(TTFont(site / "_static" / "mathematics.woff").getBestCmap())
    for name in LESSONS:
        html, cells = pages[f"lessons/{name}"].html, stored(name).cells
        found = re.findall(r"<math.*?</math>", html, re.DOTALL)
        assert all("merror" not in formula for formula in found)
        displayed = sum(cell.source.count("$$") // 2 for cell in cells if cell.cell_type == "markdown")
        assert html.count('<div class="math">') == displayed, "each alone, in one line or in several"
        assert sum('display="block"' in formula for formula in found) >= displayed
        used = set(unescape(re.sub(r"<[^>]+>", "", "".join(found)))) - set("\n\u2061\u200b")
        assert {letter for letter in used if ord(letter) not in letters} == set(), name
