"""The drawn figures: what is committed is what the scripts draw, and every reader can read it."""

import importlib
import math
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
import torch

from transformer_lab import widgets
from transformer_lab.plots import picture
from transformer_lab.training import after_pretraining, load_table
from transformer_lab.training.after_pretraining import digit_sums
from transformer_lab.training.experiments.clinic.bugs import BUGS
from transformer_lab.weights import tensor_names

IMG = Path(__file__).parent.parent / "img"
FIGURES = sorted(IMG.glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def build(folder, *arguments):
    return subprocess.run([sys.executable, folder / "build.py", *arguments], capture_output=True, text=True)


def words(path):
    return ["".join(text.itertext()) for text in ElementTree.parse(path).iter(f"{SVG}text")]


def test_committed_figures_are_what_the_script_draws(tmp_path):
    for script in IMG.glob("*.py"):
        shutil.copy(script, tmp_path)
    assert build(tmp_path).returncode == 0
    assert {path.name: path.read_bytes() for path in FIGURES} == {
        path.name: path.read_bytes() for path in tmp_path.glob("*.svg")
    }


def test_check_passes_on_the_committed_figures():
    answer = build(IMG, "--check")
    assert (answer.returncode, answer.stdout) == (0, "out of date: none\n")


def test_check_names_a_changed_and_a_missing_figure_and_writes_nothing(tmp_path):
    shutil.copytree(IMG, tmp_path / "img", ignore=shutil.ignore_patterns("__pycache__"))
    changed, missing = tmp_path / "img" / "01_bank.svg", tmp_path / "img" / "01_paths.svg"
    changed.write_text(changed.read_text(encoding="utf-8").replace("money", "honey"), encoding="utf-8")
    missing.unlink()
    answer = build(tmp_path / "img", "--check")
    assert (answer.returncode, answer.stdout) == (1, "out of date: 01_bank.svg, 01_paths.svg\n")
    assert not missing.exists()
    assert build(tmp_path / "img").stdout == "written: 01_bank.svg, 01_paths.svg\n"
    assert changed.read_bytes() == (IMG / "01_bank.svg").read_bytes()


def test_the_colours_are_those_of_the_figures_and_of_the_views_in_the_light_and_in_the_dark(monkeypatch):
    monkeypatch.syspath_prepend(str(IMG))
    ours = importlib.import_module("drawing").PAPER
    assert {name: picture.PAPER[name] for name in ours} == ours
    table = Path(widgets.__file__).with_name("shared").joinpath("palette.js").read_text("utf-8")
    dark = dict(re.findall(r'"?([\w-]+)"?: "(#\w{6})"', table.partition("dark: {")[2].partition("},\n}")[0]))
    assert {name: dark[name] for name in ours} == {name: colour.dark for name, colour in ours.items()}


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_every_colour_of_a_figure_has_another_in_the_dark(path):
    svg = path.read_text("utf-8")
    style, _, drawn = svg.partition("</style>")
    pairs = re.findall(r'(?:fill|stroke)="#(\w{6})"', drawn)
    used = set(re.findall(r"\b(?:fill|stroke)\w{6}-\w{6}\b", drawn))
    assert len(re.findall(r"\b(?:fill|stroke)\w{6}-\w{6}\b", drawn)) == len(pairs) > 20
    assert set(re.findall(r"\.(\w+-\w{6}) {", style)) == used


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_no_word_of_a_figure_is_true_in_the_light_alone(path):
    turned = {
        "dark",
        "darker",
        "light",
        "lighter",
        "black",
        "white",
        "pale",
        "bright",
    }  # they change places in the dark
    assert turned.isdisjoint(" ".join(words(path)).replace(",", " ").split())


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_is_self_contained_and_described(path):
    root = ElementTree.parse(path).getroot()
    assert root.tag == f"{SVG}svg"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
    assert len(root.find(f"{SVG}title").text) > 10
    assert len(root.find(f"{SVG}desc").text) > 100
    attributes = [(name, value) for element in root.iter() for name, value in element.attrib.items()]
    assert not [pair for pair in attributes if "href" in pair[0] or pair[0] == "id" or "url(" in pair[1]]
    assert not {"script", "foreignObject", "image"} & {element.tag.removeprefix(SVG) for element in root.iter()}


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_words_are_at_least_12_pixels_high_when_shown_700_pixels_wide(path):
    root = ElementTree.parse(path).getroot()
    sizes = [float(text.get("font-size")) for text in root.iter(f"{SVG}text")]
    assert min(sizes) * 700 / float(root.get("width")) >= 12


def test_the_map_shows_every_lesson_in_the_list_and_in_the_drawing():
    shown = words(IMG / "00_map.svg")
    numbers = [f"{lesson:02d}" for lesson in range(9)]
    assert [number for number in numbers if shown.count(number) < 2] == ["00"]


def test_the_numbers_of_the_bank_figure_are_those_of_torch():
    money, river, bank, took, other = torch.tensor([[4.5, 0], [0, 4.5], [1, 1], [1, 0], [0, 0]])
    for sentence in ([other, took, other, money, other, other, bank], [other] * 4 + [bank] + [other] * 2 + [river]):
        vectors = torch.stack(sentence)
        weights = torch.softmax(vectors @ bank / math.sqrt(2), dim=0)
        shown = words(IMG / "01_bank.svg")
        assert all(f"{value:.2f}".removeprefix("0") in shown for value in weights.tolist())
        assert all(f"{value:.2f}" in shown for value in (weights @ vectors).tolist())


def test_tensors_lead_where_the_loader_puts_them():
    shown = words(IMG / "12_loading.svg")
    arrows = list(zip(shown[2::3], shown[4::3], strict=False))[:6]  # the two headings, then name, shape and part
    names = {
        theirs.removeprefix("encoder.layer.{}."): ours.rpartition(".")[2].upper().replace("_", "")
        for theirs, ours in tensor_names.BERT.items()
    }
    assert len(arrows) == 6
    assert [names[tensor.removesuffix(".weight")] for tensor, _ in arrows] == [part for _, part in arrows]


def test_the_discs_of_the_clinic_are_the_bugs_that_each_step_saw():
    steps = (
        {"texts"},
        {"targets", "first_loss"},
        {"later", "alone", "generation", "portions"},
        {"step", "by_heart"},
        {"twin"},
    )
    seen = [
        Counter(BUGS[row["bug"]].file for row in load_table("clinic") if tools & set(row["alarms"])) for tools in steps
    ]
    sentences = ElementTree.parse(IMG / "14_steps.svg").getroot().find(f"{SVG}desc").text.split(": ")[1:]
    of = Counter(bug.file for bug in BUGS.values())
    assert [sentence.split(". ")[0].rstrip(".") for sentence in sentences] == [
        ", ".join(f"{found[file]} of {of[file]} in {file}" for file in ("data", "model", "training", "generation"))
        for found in seen
    ]
    discs = [disc for disc in ElementTree.parse(IMG / "14_steps.svg").iter(f"{SVG}circle") if disc.get("r") == "6.5"]
    assert sum(disc.get("fill") == disc.get("stroke") for disc in discs) == sum(found.total() for found in seen)


def test_the_advantages_of_the_group_are_those_of_the_package():
    shown = words(IMG / "16_right_or_wrong.svg")
    answers = [word for word in shown if re.fullmatch(r"(\d{5}:)?\d\.", word)]
    rewards = torch.tensor([[float(digit_sums.verifies("38576", answer)) for answer in answers]])
    advantages = [word.replace("−", "-") for word in shown if re.fullmatch(r"[+−]\d\.\d\d", word)]
    assert advantages == [f"{value:+.2f}" for value in after_pretraining.group_advantages(rewards)[0].tolist()]


def test_the_numbers_of_the_attention_figure_are_those_of_torch():
    query = torch.tensor([[2.0, 0, 1, 0], [0, 2, 0, 1], [2, 0, -1, 2]])
    key = torch.tensor([[2.0, 0, 1, 0], [0, 2, 1, 0], [1, 0, 0, 2], [0, 1, 2, 1], [-1, 1, 0, 2]])
    value = torch.tensor([[4.0, 0], [0, 2], [1, 1], [2, 3], [0, 4]])
    weights = torch.softmax(query @ key.T / math.sqrt(4), dim=-1)
    shown = words(IMG / "01_attention.svg")
    start = shown.index(f"{weights[0, 0]:.2f}".removeprefix("0"))
    assert shown[start : start + 15] == [f"{w:.2f}".removeprefix("0") for w in weights.flatten().tolist()]
    output = torch.nn.functional.scaled_dot_product_attention(query[None], key[None], value[None])[0]
    start = shown.index("blend the values") + 1
    assert shown[start : start + 6] == [f"{v:.1f}" for v in output.flatten().tolist()]
