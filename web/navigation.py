"""The ways about a page: its contents, what a search may find in it, and what others are told when it is shared.

All is read off the HTML that Sphinx has made of a page, so that nothing has to be listed twice.
"""

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import postcards
import posters
from answered import ANSWERED
from ends import parted
from figures import with_plates
from listings import with_lines
from sphinx.application import Sphinx

from transformer_lab.exercises.engine.cards import inline

UNSEEN = ("script", "style", "svg", "math", "button")  # what a search does not look into
APART = ("p", "li", "td", "th", "pre", "div", "dt", "dd", "summary", "figcaption")  # no word runs on
WORD = re.compile(r"\s+")
LONGEST = 300  # letters of a description
PICTURED = "An English number, its German translation, and between them ribbons as thick as the attention"
HEADINGS = {"h1": "page", "h2": "part", "h3": "under"}
KINDS = {"index": "front", "search": "text"}


@dataclass
class Place:
    """A place on a page with an address of its own: a heading, a view or an exercise, and the text below it."""

    kind: str
    id: str
    title: str
    text: str = ""

    @property
    def words(self) -> str:
        return self.title.replace("_", " ") if self.kind == "view" else self.title


@dataclass
class PlacesOf(HTMLParser):
    """The places of a page, in their order, read from its HTML."""

    html: str
    places: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.unseen, self.section, self.level = 0, "", ""
        self.feed(self.html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        self.unseen += tag in UNSEEN
        if tag in APART:
            self.handle_data(" ")
        if tag == "section":
            self.section = named.get("id", "")
        elif re.fullmatch("h[123]", tag) and (id_ := named.get("id") or self.section):
            kind = "extra" if id_.startswith("extra-") else HEADINGS[tag]
            self.places.append(Place(kind, id_, ""))
            self.level, self.section = tag, ""
        elif kind := named.get("data-place"):
            self.places.append(Place(kind, named["id"], named["data-title"]))

    def handle_endtag(self, tag: str) -> None:
        self.unseen -= tag in UNSEEN
        if tag == self.level:
            self.level, self.places[-1].title = "", self.places[-1].title.rstrip(" ")

    def handle_data(self, data: str) -> None:
        if self.unseen or not self.places:
            return
        if self.level:
            self.places[-1].title = WORD.sub(" ", self.places[-1].title + data).removesuffix("#").lstrip(" ")
        else:
            heading = next((one for one in reversed(self.places) if one.kind != "view"), self.places[-1])
            heading.text += data


def closing(lesson: dict | None, answer: str) -> dict | None:
    """What stands at the end of a lesson: its question again, its answer in short, and what was done."""
    if lesson is None:
        return None
    told = {"question": inline(lesson["question"]), "progress": posters.progress_of(lesson), "answer": answer}
    told |= {"exercises": lesson["exercises"], "sketch": posters.picture(lesson, ANSWERED[lesson["number"]])}
    return told | {"picture": f"_static/postcards/answered/{lesson['number']}.png"}


def onward(lesson: dict | None, lessons: list[dict]) -> dict | None:
    """The lesson after this one as its poster has it, and the sentence that leads there."""
    follower = next((one for one in lessons if lesson and one["number"] > lesson["number"]), None)
    if lesson is None or follower is None:
        return None
    told = {"question": inline(follower["question"]), "picture": posters.picture(follower)}
    return told | {"time": posters.time_of(follower), "bridge": inline(lesson["bridge"])}


class Navigation:
    """What the template needs on each page, and the list that the search reads, which is complete at the end."""

    def __init__(self, course: dict, parts: list[dict]):
        self.course, self.lessons = course, parts
        self.found: list[list[str]] = []

    def of_page(self, app: Sphinx, name: str, template: str, context: dict, doctree: object) -> None:
        # An empty corner of a table is no heading.
        context["body"] = re.sub(r'<th class="head">(<p>)?(</p>)?</th>', "<td></td>", context.get("body") or "")
        context["body"] = with_lines(context["body"])
        if name.startswith("lessons/"):
            context["body"] = with_plates(context["body"])
        places = PlacesOf(context["body"]).places
        context |= parted(context["body"])
        heading = places[0].title if places else "Search"
        lesson = next((one for one in self.lessons if name == f"lessons/{one['name']}"), None)
        described = lesson["question"] if lesson else self.course["described"]
        context["about"] = {
            "kind": KINDS.get(name, "lesson" if name.startswith("lessons/") else "text"),
            "title": self.course["title"] if name == "index" else f"{heading} · {app.config.project}",
            "heading": heading,
            "description": described[:LONGEST],
            "picture": f"postcards/{lesson['number']}.png" if lesson else "share.png",
            "pictured": postcards.described(lesson) if lesson else PICTURED,
            "address": f"{app.config.html_baseurl}{'' if name == 'index' else f'{name}.html'}",
        }
        context["contents"] = [] if name in KINDS else [one for one in places if one.kind != "page"]
        context |= {"closing": closing(lesson, context["answer"]), "onward": onward(lesson, self.lessons)}
        context |= {"lessons": self.lessons, "ours": self.course["files"], "html_baseurl": app.config.html_baseurl}
        context |= {"colab": self.course["colab"], "repository": self.course["repository"]}
        if name not in KINDS:
            self.found += [
                [name, one.id, heading, one.title, WORD.sub(" ", one.text).strip()]
                for one in places
                if one.kind != "view"
            ]

    def write(self, app: Sphinx, error: Exception | None) -> None:
        """Write what the search reads: page, address, title of the page, title of the place, its text."""
        if error is None:
            text = json.dumps(self.found, ensure_ascii=False, separators=(",", ":"))
            (Path(app.outdir) / "_static" / "search.json").write_text(text, "utf-8")
