"""A page judges answers as a check in a notebook does: on every case of every exercise that it judges, by Node."""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from tests.built_site import ROOT
from transformer_lab.exercises import Exercise, catalogue
from transformer_lab.exercises.engine.checking import examine
from transformer_lab.exercises.engine.running import Attempt

STATIC = ROOT / "web" / "static"
sys.path.insert(0, str(ROOT / "web"))
from judged import NOTHING, flat, is_judged, judged_cases, plain, table  # noqa: E402

JUDGED = [one for one in catalogue.values() if is_judged(one)]
VALUES = [one for one in JUDGED if one.kind != "set the weights"]
MATRICES = [one for one in JUDGED if one.kind == "set the weights"]
named = pytest.mark.parametrize


def by_node(script: str, data: object) -> list:
    """What a module prints, given `data` and the page's scripts."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node")
    imports = "".join(
        f"import {{ {names} }} from {json.dumps((STATIC / file).as_uri())};"
        for file, names in {
            "beside.js": "differing",
            "judging.js": "judged, makersOf, same, ROUGH",
            "weights.js": "judgedMatrices, flatMatrices",
            "expressions.js": "parsed",
            "given.js": "areWeights, inDigits, inWords",
            "meanings.js": "branches, computed, meet, seen, written",
            "region.js": "region",
        }.items()
    )
    read = "import { readFileSync } from 'node:fs'; const data = JSON.parse(readFileSync(0, 'utf8'));"
    run = subprocess.run(
        [node, "--input-type=module", "--eval", f"{imports}{read}console.log(JSON.stringify({script}))"],
        input=json.dumps(data),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def in_the_package(exercise: Exercise, function: Callable) -> tuple[bool, str | None]:
    """Whether a function passes the cases that a page asks for, and the name of its mistake."""
    result = examine(exercise, Attempt(function), judged_cases(exercise))
    return result.passed, result.mistake.name if result.mistake else None


def test_a_page_judges_every_exercise_that_asks_for_a_number_or_for_matrices_and_the_masks():
    kinds = {one.name for one in catalogue.values() if one.kind in ("predict", "set the weights")}
    assert {one.name for one in JUDGED} == kinds | {"causal_mask", "padding_mask", "decoder_mask"}
    assert all(judged_cases(one) for one in JUDGED)


@named("exercise", VALUES, ids=lambda one: one.name)
def test_values_are_judged_as_in_a_notebook(exercise):
    data, mistakes = table(exercise), [*exercise.mistakes.values()]
    typed = [i for i in range(len(mistakes)) if all(case["wrong"][i] != NOTHING for case in data["cases"])]
    answers = [[case["right"] for case in data["cases"]]]
    answers += [[case["wrong"][i] for case in data["cases"]] for i in typed]
    said = by_node("data.answers.map(one => judged(data.table, one))", {"table": data, "answers": answers})
    judged = [(one["passed"], one["mistake"] and one["mistake"]["name"]) for one in said]
    assert judged[0] == (True, None)
    assert judged[1:] == [in_the_package(exercise, mistakes[i].function) for i in typed]
    assert any(name for _, name in judged[1:])


@named("exercise", VALUES, ids=lambda one: one.name)
def test_three_digits_are_enough_and_give_no_other_name(exercise):
    data = table(exercise)
    count = len(data["mistakes"])
    typed = [i for i in range(count) if all(case["wrong"][i] != NOTHING for case in data["cases"])]
    answers = [[rounded(case["right"]) for case in data["cases"]]]
    answers += [[rounded(case["wrong"][i]) for case in data["cases"]] for i in typed]
    script = "data.answers.map(one => judged(data.table, one, one.map(() => ROUGH)))"
    said = by_node(script, {"table": data, "answers": answers})
    assert said[0]["passed"]
    exact = [in_the_package(exercise, exercise.mistakes[data["mistakes"][i]["name"]].function)[1] for i in typed]
    assert [one["mistake"] and one["mistake"]["name"] for one in said[1:]] == exact


def rounded(value):
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def test_one_wrong_answer_tells_which_mistakes_make_it():
    data = table(catalogue["kv_cache_bytes"])
    script = "data.answers.map(one => makersOf(data.table, 0, one, ROUGH).map(({ name }) => name))"
    found = by_node(script, {"table": data, "answers": [1, 2, 3, 4]})
    assert found == [["one_of_the_two"], [], ["with_queries"], []], "2 is right, and 4 has no name"
    data = table(catalogue["visible_pairs"])
    found = by_node(script, {"table": data, "answers": [9]})
    assert found == [["future_seen", "no_mask_at_all", "pairs_of_words"]]


def test_what_an_answer_has_wrong_is_told_number_by_number():
    data = table(catalogue["place_in_heads"])
    script = "data.answers.map(one => differing(data.table, 1, one))"
    found = by_node(script, {"table": data, "answers": [[1, 0, 1], [0, 0, 3], 7]})
    assert found == [[False] * 3, [True, False, True], [True] * 3]
    rough = by_node("differing(data.table, 0, 0.3334, ROUGH)", {"table": {"cases": [{"right": 1 / 3}]}})
    assert rough == [False]


@named("exercise", MATRICES, ids=lambda one: one.name)
def test_matrices_are_judged_as_in_a_notebook(exercise):
    generator = torch.Generator().manual_seed(0)

    def at_random(*given):
        return like(exercise.reference(*given), generator)

    functions = [exercise.reference, *(one.function for one in exercise.mistakes.values()), at_random]
    cases = judged_cases(exercise)
    values = [[Attempt(f).run(case).value for case in cases] for f in functions]
    answers = [[plain(flat(value)) for value in of_one] for of_one in values]
    said = by_node(
        "data.answers.map(one => judgedMatrices(data.table, one))", {"table": table(exercise), "answers": answers}
    )
    for function, of_one, page in zip(functions, values, said, strict=True):
        kept = {id(case): value for case, value in zip(cases, of_one, strict=True)}
        result = examine(exercise, Kept(function, kept), cases)
        assert page["passed"] == result.passed
        assert (page["mistake"] or {}).get("name") == (result.mistake.name if result.mistake else None)
        if not result.passed:
            assert page["lacks"] == result.what
            assert cases[page["failed"]] is result.case
    assert said[0]["passed"]
    assert sum(one["mistake"] is not None for one in said) >= len(exercise.mistakes) - 2


class Kept(Attempt):
    """An attempt that returns, for each case, what it returned before: random matrices, too, are then the same."""

    def __init__(self, function: Callable, kept: dict):
        super().__init__(function)
        self.kept = kept

    def run(self, case):
        return replace(super().run(case), value=self.kept[id(case)])


def like(value, generator):
    if isinstance(value, torch.Tensor):
        return 3 * torch.randn(value.shape, generator=generator, dtype=value.dtype)
    return type(value)(like(one, generator) for one in value)


# ── expressions ──

SCOPE = {"n": 3, "lengths": [2, 5, 0], "cached": True, "scheme": "data"}
TENSORS = {"w": [0.5, 0.3, 0.2], "m": [[1.0, 2.0], [3.0, 5.0]]}
EXPRESSIONS = (
    *("2 + 3 * 4", "-n ** 2", "2 ** 3 ** 2", "7 // 2", "-7 // 2", "-7 % 3", "1_000 / 8", "(n + 1) * n / 2"),
    *("sum(x * (x + 1) // 2 + (max(lengths) - x) * x for x in lengths)", "[x for x in lengths if x > 1]"),
    *("max(lengths)", "min(4, 7)", "len(lengths)", "lengths[0] + lengths[-1]", "math.lcm(4, 6)", "math.gcd(12, 18)"),
    *("math.comb(5, 2)", "n if cached else n * 2", "1 if scheme == 'tensor' else 2", "not cached or n > 2"),
    *("0, n, n % 2", "(1, 2)", "[1, 2, 3]", "sum([1, 2])", "sum(range(1, n + 1))", "round(2 / 3, 2)"),
    *("math.prod([2, 3, 4])", "math.sqrt(16) + math.exp(0)", "[a * b for a, b in [(1, 2), (3, 4)]]", "1.5e3"),
    *(".5 + 1.", "n != 3", "n <= 3 and n >= 3", "abs(-2) + int(7.9)", "math.floor(-0.5) + math.ceil(0.5)"),
)
UNREADABLE = {
    "2 +": "it ends too early",
    "2 $ 3": "I cannot read “$ 3”",
    "fetch(1)": "I do not know the function fetch (there is sum, ",
    "constructor": "I do not know constructor",
    "n.constructor(1)": "I know only .sum(-1)",
    "(1 + 2]": "“)” is missing",
    "1 2": "I do not expect “2” here",
}


def test_an_expression_has_the_value_that_python_gives_it():
    found = by_node("data.texts.map(one => parsed(one)(data.scope))", {"texts": EXPRESSIONS, "scope": SCOPE})
    wanted = [eval(text, {"math": math} | SCOPE) for text in EXPRESSIONS]
    assert found == [[*value] if isinstance(value, tuple) else value for value in wanted]


def test_an_expression_of_tensors_has_the_value_that_torch_gives_it():
    texts = ["w**2 / (w**2).sum(-1, keepdim=True)", "m / m.sum(-1, keepdim=True)", "(m * 2).softmax(-1)", "m.sum()"]
    texts += ["torch.softmax(2 * m, dim=-1)", "torch.log(m) + m.exp()"]
    found = by_node("data.texts.map(one => parsed(one)(data.scope))", {"texts": texts, "scope": TENSORS})
    scope = {name: torch.tensor(rows, dtype=torch.float64) for name, rows in TENSORS.items()}
    for text, value in zip(texts, found, strict=True):
        torch.testing.assert_close(torch.tensor(value, dtype=torch.float64), eval(text, {"torch": torch}, scope))


def test_what_cannot_be_read_is_said():
    script = "data.map(one => { try { return parsed(one)({n: 3}) } catch (error) { return error.message } })"
    said = by_node(script, [*UNREADABLE])
    assert [(one, text) for one, text in zip(said, UNREADABLE.values(), strict=True) if text not in str(one)] == []


def test_whether_something_is_so_is_said_in_words():
    given = [["with_cosine", True], ["cached", False], ["d_model", 4]]
    assert by_node("data.map(inWords)", given) == [["with cosine", "yes"], ["cached", "no"], ["d_model", 4]]
