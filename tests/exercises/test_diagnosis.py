"""The diagnosis of answers that make no mistake with a name: mutations, repairs, relations, and what is said."""

import ast
import time

import pytest
import torch

from tests.answers.lesson_01 import softmax_by_powers
from transformer_lab import exercises
from transformer_lab.exercises import catalogue
from transformer_lab.exercises import exercise as exercise_module
from transformer_lab.exercises.diagnosis import explanation, loop_limit, repairs, wording
from transformer_lab.exercises.diagnosis.joint_mutations import joint_mutations
from transformer_lab.exercises.diagnosis.mutation import applied
from transformer_lab.exercises.diagnosis.mutations import mutations
from transformer_lab.exercises.diagnosis.relations import related
from transformer_lab.exercises.diagnosis.repairs import Repair, repair_search
from transformer_lab.exercises.diagnosis.right_parts import is_better, right_parts
from transformer_lab.exercises.diagnosis.source_tree import SourceTree
from transformer_lab.exercises.engine.running import Attempt, Case, Outcome

every_exercise = pytest.mark.parametrize("exercise", catalogue.values(), ids=catalogue.keys())

# ── mutations ──


def dumped(tree: SourceTree) -> list[str]:
    return [ast.dump(function) for function in tree.functions]


@every_exercise
def test_a_mutation_changes_the_source_and_is_taken_back(exercise):
    tree = SourceTree(exercise.reference)
    before, found = dumped(tree), mutations(tree)
    assert len(found) >= 5
    different = []
    for one in found[::9]:
        with applied([one]):
            different.append(dumped(tree) != before)
    assert sum(different) > 0.8 * len(different)  # two equal arguments that are swapped are the same
    assert dumped(tree) == before


@every_exercise
def test_every_place_can_be_named(exercise):
    tree = SourceTree(exercise.reference)
    for one in mutations(tree)[::5]:
        line, source = tree.place(one)
        assert line.startswith(("line ", "`"))
        assert source
        assert "\n" not in source


def product(x, y):
    return (x + y) * (x - y)


def test_two_mutations_are_made_at_once():
    tree = SourceTree(product)
    found = {f"{ast.unparse(one.old)} to {ast.unparse(one.new)}": one for one in mutations(tree)}
    minus, divided = found["x + y to x - y"], found["(x + y) * (x - y) to (x + y) / (x - y)"]
    assert tree.function([minus, divided])(5, 3) == 1
    assert tree.function()(5, 3) == 16
    with pytest.raises(ValueError, match="two mutations must be of two places"):
        tree.function([minus, minus])


def ends(x):
    return x[:-2] + x[2:]


def results(function, *arguments) -> list:
    """What a function returns with each joint mutation."""
    tree = SourceTree(function)
    return [tree.function(joint)(*arguments) for joint in joint_mutations(tree, mutations(tree))]


def test_the_same_change_is_made_in_several_places_and_names_are_exchanged():
    assert [1, 2, 2, 3] in results(ends, [1, 2, 3])
    assert (3 + 2) * (3 - 2) in results(product, 2, 3)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("norm(x) + f(x)", "norm(f(x) + x)"),
        ("norm(f(x))", "f(norm(x))"),
        ("f(x)", "x + f(x)"),
        ("f(norm(x))", "x + f(norm(x))"),
        ("torch.where(x, y, 0.0)", "torch.where(x, y, -inf)"),
        ("x.sort(-1)", "x.sort(-1, descending=True)"),
        ("range(1, x + 1)", "range(x)"),
        ("range(x)", "range(1, x)"),
        ("x.reshape(2, 3)", "x.mT"),
        ("x ** -1", "x ** (-1 / 2)"),
        ("x.mean(dim=0)", "x.mean(dim=-1)"),
        ("x.T", "x"),
        ("x > 1", "x >= 1"),
        ("f(x[1:])", "f(x[:-1])"),
        ("x @ f", "x @ f.mT"),
        ("x @ f.mT", "x @ f.mT / x.size(-1) ** 0.5"),
        ("x.sum()", "x.sum(-1, keepdim=True)"),
        ("x.sum(dim=1)", "x.sum(dim=1, keepdim=True)"),
        ("f(x.sum(y=-1))", "f(x.sum(y=y))"),
        ("f(x) + f(norm)", "f(x + norm)"),
        ("''.join(x)", "x"),
        ("x.permute(0, 3, 1, 2)", "x.permute(0, 2, 1, 3)"),
        ("x.view(f, f)", "x.view(f, -1)"),
        ("torch.einsum('bi,bj->ij', x, x)", "torch.einsum('bi,bj->bij', x, x)"),
        ("f(x)", "f(x) * y ** -0.5"),
        ("f(x) + norm", "f(x) + y * norm"),
        ("f(x) * norm", "f(x) * (1 - norm)"),
    ],
)
def test_what_people_write_by_mistake_is_taken_back(tmp_path, wrong, right):
    (tmp_path / "answer.py").write_text(f"def answer(x, y, f, norm):\n    return {wrong}\n")
    scope: dict = {"__name__": "answer"}
    exec(compile((tmp_path / "answer.py").read_text(), str(tmp_path / "answer.py"), "exec"), scope)
    tree, found = SourceTree(scope["answer"]), []
    for one in mutations(tree):
        with applied([one]):
            found.append(ast.unparse(tree.functions[0].body[0]))
    assert f"return {right}" in [text.replace("1e309", "inf") for text in found]


def unequal(x, y):
    return torch.equal(x, y) and (x == y).all()


def test_exact_equality_is_made_a_comparison_with_a_tolerance():
    tolerant = explanation.with_tolerance(unequal)
    assert tolerant(torch.ones(2), torch.ones(2) + 1e-6)
    assert not tolerant(torch.ones(2), torch.ones(2) + 0.1)
    assert explanation.with_tolerance(product) is None


# ── what is right ──


@pytest.mark.parametrize(
    ("after", "before", "better"),
    [
        ([True, True], [True, False], True),
        ([True, False], [False, True], False),
        ([True, False], [True, False], False),
        ([True, False, False], [False], True),
        ([True, True], [True], False),
        ([False], [True, False], False),
    ],
)
def test_better_is_what_makes_more_right_and_nothing_wrong(after, before, better):
    assert is_better(after, before) == better


def test_the_parts_of_a_result_are_judged_one_by_one():
    exercise = exercises.softmax
    case = exercise.cases[0]
    right = exercise.expected(case).value
    assert right_parts(exercise, case, Outcome(right)) == [True] * 3
    assert right_parts(exercise, case, Outcome(right * torch.tensor([1.0, 1.0, 2.0]))) == [True, True, False]
    for wrong in (Outcome(right[:2]), Outcome(right.double()), Outcome(2), Outcome(error=ValueError())):
        assert right_parts(exercise, case, wrong) == [False]


# ── what is said ──


def said(exercise, answer) -> str | None:
    verdict = exercise.check(answer)
    assert not verdict.passed
    assert verdict.mistake is None
    assert verdict.cause is None or verdict.message.startswith(verdict.cause)
    return verdict.cause


def scaled_and_swapped(query, key, value):
    weights = torch.softmax(query @ key.mT / query.shape[-1], -1)
    return weights, weights @ value


def test_a_mistake_with_a_name_may_come_with_another_order():
    exercise = exercises.scaled_dot_product_attention
    assert said(exercise, scaled_and_swapped) == "\n".join(
        [
            "Two things are wrong:",
            f"- {exercise.mistakes['divided_by_d_k'].explanation}",
            "- Besides, what is returned is in the wrong order.",
        ]
    )


def first_pair_in_place(symbols, pair):
    for i in range(len(symbols) - 1):
        if (symbols[i], symbols[i + 1]) == tuple(pair):
            symbols[i : i + 2] = ["".join(pair)]
            break
    return symbols


def test_a_mistake_with_a_name_may_be_made_in_place():
    words = said(exercises.merge_pair, first_pair_in_place)
    assert words.startswith("Two things are wrong:\n- Only the first occurrence is merged")
    assert words.endswith("Besides, the answer writes into what it is given.")


def unscaled_and_doubled(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-1)
    return 2 * weights @ value, weights


def test_a_mistake_with_a_name_may_remain_after_a_change_that_helps():
    exercise = exercises.scaled_dot_product_attention
    line = unscaled_and_doubled.__code__.co_firstlineno + 2
    words = said(exercise, unscaled_and_doubled)
    assert words.startswith(f"Two things are wrong:\n- {exercise.mistakes['unscaled'].explanation}")
    assert words.endswith(f"One change does away with the rest: look at `2 * weights` in line {line}.")


def unscaled_over_queries(query, key, value):
    weights = torch.softmax(query @ key.mT, dim=-2)
    return weights @ value, weights


def test_two_mistakes_with_names_are_both_told_if_the_two_changes_make_it_right():
    exercise = exercises.scaled_dot_product_attention
    both = [exercise.mistakes[name].explanation for name in ("unscaled", "softmax_over_queries")]
    in_float16 = "\nIn float16 something is wrong as well; it may be the same."  # whatever divides late
    assert said(exercise, unscaled_over_queries) == "\n- ".join(["Two things are wrong:", *both]) + in_float16


def divided_by_eight(query, key, value):
    """The root of 64, which is right in the case of float16 alone."""
    weights = (query / 8 @ key.mT).softmax(-1)
    return weights @ value, weights


def test_float16_is_not_blamed_where_it_is_right():
    exercise = exercises.scaled_dot_product_attention
    words = said(exercise, divided_by_eight)
    assert words
    assert "float16" not in words


def larger_of_both(p, q):
    larger = torch.maximum(p, q)
    return larger / larger.sum(-1, keepdim=True)


def test_a_change_that_hands_an_argument_back_leads_to_no_mistake():
    """Any answer becomes p where p is returned in its place: that doesn't make it an answer that draws from p."""
    words = said(exercises.residual_distribution, larger_of_both) or ""
    assert exercises.residual_distribution.mistakes["from_p_anew"].explanation not in words


def without_width_and_steep(step, d_model, warmup_steps):
    return min(1 / step**0.5, step / warmup_steps**0.5)


def test_a_mistake_that_a_change_leads_to_is_named_if_a_second_change_does_away_with_it():
    """Nothing that is returned is right before, and nothing after the first change."""
    exercise = exercises.warmup_rate
    words = said(exercise, without_width_and_steep)
    assert words.startswith(f"Two things are wrong:\n- {exercise.mistakes['climbs_too_fast'].explanation}")
    line = without_width_and_steep.__code__.co_firstlineno + 1
    assert words.endswith(f"look at `min(1 / step ** 0.5, step / warmup_steps ** 0.5)` in line {line}.")


def old_positions_alone(query, key, value, cache):
    grown = torch.cat([cache, torch.stack([key, value])], dim=-2)
    if cache.size(-2) == 0:
        return value, grown
    return torch.softmax(query @ cache[0].mT / query.size(-1) ** 0.5, dim=-1) @ cache[1], grown


def test_one_value_of_several_may_be_as_a_mistake_makes_it():
    exercise = exercises.cached_attention
    words = f"What is wrong is `output` alone. {exercise.mistakes['itself_not_seen'].explanation}"
    assert said(exercise, old_positions_alone) == words


def old_positions_for_one_width(query, key, value, cache):
    """Wrong in a single case, as a mistake makes it."""
    grown = torch.cat([cache, torch.stack([key, value])], dim=-2)
    outputs = []
    for one, keys, values in zip(*(heads.flatten(0, 1) for heads in (query, *grown)), strict=True):
        weights = torch.softmax(one @ (keys[:-1] if one.size(-1) == 7 else keys).T / one.size(-1) ** 0.5, dim=-1)
        outputs.append(weights @ (values[:-1] if one.size(-1) == 7 else values))
    return torch.stack(outputs).view_as(query), grown


def test_a_value_that_is_mostly_right_is_no_part_of_a_mistake():
    assert "itself_not_seen" in exercises.cached_attention.mistakes
    assert "alone" not in (said(exercises.cached_attention, old_positions_for_one_width) or "")


def no_residual_before_norm(x, sublayer, norm, norm_first):
    return sublayer(norm(x)) if norm_first else norm(x + sublayer(x))


def step_without_rate(saved, tokens, targets, rate):
    table = saved.detach().clone().requires_grad_()
    torch.nn.functional.cross_entropy(table[tokens] @ table.T, targets).backward()
    new = (table - table.grad).detach()
    return new, new


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        ("residual_block", no_residual_before_norm),
        ("clinic_10", step_without_rate),
    ],
)
def test_a_mistake_that_a_change_only_makes_is_not_named(exercise, answer):
    """The change breaks what is right, or throws away what was merely wrong."""
    assert "Two things" not in (said(catalogue[exercise], answer) or "")


def test_an_answer_that_is_like_nothing_else_is_told_no_cause():
    assert said(exercises.softmax, lambda scores, dim: softmax_by_powers(scores, dim) ** 1.7 + 0.01) is None


def in_place(scores, dim):
    scores -= scores.amax(dim, keepdim=True)
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def test_an_answer_that_is_right_but_for_writing_into_its_input_is_told_so():
    assert said(exercises.softmax, in_place).startswith("The values are right.")


def all_ties_in_place(logits, k):
    logits[logits < logits.topk(k).values[..., -1:]] = -torch.inf
    return logits


def test_what_writes_into_its_input_and_makes_a_wrong_choice_is_told_both():
    exercise = exercises.top_k_filter
    words = wording.both(
        exercise.mistakes["all_equals_kept"].explanation, "Besides, the answer writes into what it is given."
    )
    assert said(exercise, all_ties_in_place) == words


def test_chance_is_found_by_calling_twice():
    answer = lambda scores, dim: softmax_by_powers(torch.rand_like(scores), dim)  # noqa: E731
    assert said(exercises.softmax, answer) == explanation.CHANCE


def test_what_differs_without_chance_is_not_called_chance():
    kept = []

    def answer(scores, dim):
        kept.append(scores)
        return softmax_by_powers(scores, dim) + len(kept)

    assert said(exercises.softmax, answer) == explanation.MEMORY


class Holder:
    def __init__(self, *parts):
        self.parts = parts


def generated(symbols, pair):
    yield from symbols


@pytest.mark.parametrize(
    ("exercise", "answer", "headline"),
    [
        ("merge_pair", generated, "`symbols` must be a list, but is a generator."),
        ("merge_pair", lambda symbols, pair: map(str, symbols), "`symbols` must be a list, but is a map."),
        ("merge_pair", lambda symbols, pair: zip(symbols, symbols, strict=True), "must be a list, but is a zip."),
        ("softmax", lambda scores, dim: Holder(scores), "`weights` must be a torch.Tensor, but is a Holder."),
        ("softmax", lambda scores, dim: scores.numpy(), "`weights` must be a torch.Tensor, but is a"),
        ("softmax", lambda scores, dim: {"a": Holder(scores)}, "`weights` must be a torch.Tensor, but is a dict."),
    ],
)
def test_an_object_that_equals_itself_alone_is_no_matter_of_chance(exercise, answer, headline):
    verdict = catalogue[exercise].check(answer)
    assert "Called twice" not in verdict.message
    assert headline in verdict.message


def test_an_answer_that_takes_long_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(explanation, "PATIENCE", -1.0)
    assert said(exercises.softmax, lambda scores, dim: -softmax_by_powers(scores, dim)) is None


def test_the_verdict_stands_where_no_cause_can_be_found(monkeypatch):
    def explain(*arguments):
        raise ZeroDivisionError

    monkeypatch.setattr(exercise_module, "explain", explain)
    assert (
        "Simplest case that fails"
        in exercises.softmax.check(lambda scores, dim: -softmax_by_powers(scores, dim)).message
    )


def test_a_test_is_told_symptoms_and_no_cause():
    assert exercises.leaks.check(lambda layer: True).cause is None


def equal_on_one_batch(attend):
    query, key, value = torch.randn(2, 5, 8), torch.randn(2, 4, 8), torch.randn(2, 4, 6)
    weights = (query @ key.mT / 8**0.5).softmax(-1)
    output, given = attend(query, key, value, torch.ones(5, 4, dtype=torch.bool))
    return torch.equal(given, weights) and torch.equal(output, weights @ value)


def test_a_test_that_asks_for_exact_equality_is_told_so():
    words = said(exercises.is_attention, equal_on_one_batch)
    assert words.startswith("You ask for numbers that are *exactly* equal")


def says_the_opposite(layer):
    x = torch.randn(2, 9, 16)
    changed = torch.cat([x[:, :-1], torch.randn(2, 1, 16)], 1)
    return torch.allclose(layer(x)[:, :-1], layer(changed)[:, :-1], atol=1e-6)


def test_a_test_that_is_turned_round_is_told_so():
    message = exercises.leaks.check(says_the_opposite).message
    assert message.startswith("Your test says the opposite: turned round, it would score ")
    assert "opposite" not in exercises.leaks.check(lambda layer: not says_the_opposite(layer)).message


@pytest.mark.parametrize(("strength", "ahead", "mistake"), [(1.5, 0, "too_soft"), (40, 1, "looks_ahead")])
def test_heads_are_recognised_by_where_they_look_however_strongly(strength, ahead, mistake):
    def answer(positions):
        moved = strength * torch.diag(torch.ones(len(positions) - 1), 1 if ahead else -1)
        return positions.T @ moved @ positions, torch.eye(positions.size(1))

    assert exercises.look_back_one.check(answer).mistake == mistake


# ── what is returned ──

FLOATING = {"x": torch.ones(1)}
NUMBERS = {
    Case("a", FLOATING): torch.tensor([[1.0, 2.0, 4.0], [0.5, 3.0, 5.0]]),
    Case("b", FLOATING): torch.tensor([[2.0, 7.0]]),
}


def relation(change, exercise=exercises.softmax) -> str | None:
    right = {case: Outcome(x) for case, x in NUMBERS.items()}
    return related(exercise, {case: Outcome(change(x)) for case, x in NUMBERS.items()}, right)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: -x, "`weights`: its sign is flipped"),
        (lambda x: x.mT, "`weights`: its last two axes are swapped"),
        (lambda x: x.flip(-1), "`weights`: its last axis runs backwards"),
        (lambda x: 3 * x, "`weights`: it is 3 times what it should be"),
        (lambda x: x + 2, "`weights`: 2 is added to it everywhere"),
        (lambda x: x.double(), "`weights`: it is of the type torch.float64, and should be torch.float32"),
        (lambda x: x[None], "`weights`: there is an axis of size 1 too many"),
        (
            lambda x: x.flatten(),
            "`weights`: the numbers are right, but the shape is (6,) where it should be (2, 3)",
        ),
        (lambda x: x**1.7, None),
        (lambda x: x.flip(-1) * x, None),
    ],
)
def test_how_what_is_returned_is_related_to_what_should_be(change, words):
    assert relation(change) == words


def test_of_a_tuple_the_part_that_is_wrong_is_named():
    attention = exercises.scaled_dot_product_attention
    right = {case: Outcome((x, 2 * x)) for case, x in NUMBERS.items()}
    for change, words in (
        (lambda a, b: (a, -b), "`weights`: its sign is flipped"),
        (lambda a, b: (b, a), "what is returned is in the wrong order"),
        (lambda a, b: b, "`weights` alone is returned"),
        (lambda a, b: (a, a, b), None),
        (lambda a, b: (-a, -b), None),
    ):
        given = {case: Outcome(change(*outcome.value)) for case, outcome in right.items()}
        assert related(attention, given, right) == words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (float, "`bytes`: it is a float, and should be a whole number"),
        (lambda x: 2 * x, "`bytes`: it is 2 times what it should be"),
        (lambda x: 0, None),  # the answer 0 is not 0 times the right one
    ],
)
def test_how_a_whole_number_is_related_to_what_should_be(change, words):
    given, right = ({case: Outcome(f(len(x))) for case, x in WORDS.items()} for f in (change, int))
    assert related(exercises.kv_cache_bytes, given, right) == words


WORDS = {Case("a", {"x": 1}): [3, 1, 2], Case("b", {"x": 2}): [5, 6]}


@pytest.mark.parametrize(
    ("change", "words", "of_mistake"),
    [
        (lambda x: x[::-1], "it runs backwards", "it runs backwards"),
        (lambda x: list(map(torch.tensor, x)), *["it holds tensors, and should hold numbers"] * 2),
        (lambda x: x[1:], "its first entry is missing", "its first entry is missing"),
        (lambda x: x[:-1], "its last entry is missing", "its last entry is missing"),
        (lambda x: [7, *x], "it has an entry too many at the front", None),
        (lambda x: [*x, 7], "it has an entry too many at the end", None),
        (lambda x: x, None, None),
        (lambda x: [7, *map(torch.tensor, x)], None, None),
    ],
)
def test_how_a_list_is_related_to_what_should_be(change, words, of_mistake):
    given, right = ({case: Outcome(f(x)) for case, x in WORDS.items()} for f in (change, list))
    for of, expected in ((False, words), (True, of_mistake)):
        found = related(exercises.merge_pair, given, right, of)
        assert found == (expected and f"`symbols`: {expected}")


def test_parts_that_belong_in_one_tensor_are_told_so():
    assert relation(lambda x: tuple(x)) == "`weights`: its parts come as a tuple, and should be one tensor"
    assert relation(lambda x: tuple(2 * x)) is None


# ── the answer's own source ──


def outcomes_of(exercise, answer) -> dict[Case, Outcome]:
    return explanation.outcomes_of(exercise, Attempt(answer))


def one_change(exercise, answer) -> list[Repair]:
    search = repair_search(exercise, answer, outcomes_of(exercise, answer))
    return search.one_change()


def turned(x, weight, bias, eps):
    deviations = x - x.mean(-1, keepdim=True)
    spread = torch.stack([deviations, deviations]).square().mean(-2, keepdim=True)[0]
    return deviations / (spread + eps).sqrt() * weight + bias


def test_the_place_is_named_where_one_change_makes_an_answer_right():
    found = one_change(exercises.layer_norm, turned)
    line = turned.__code__.co_firstlineno + 2
    assert {repair.places[0][0] for repair in found} == {f"line {line}"}
    assert any("-2" in repair.places[0][1] for repair in found)
    assert {repair.remaining for repair in found} == {None}


def cut_off(scores, dim):
    return softmax_by_powers(scores.detach(), dim) + 1 if scores.requires_grad or scores.ndim else scores


def test_a_change_that_makes_the_values_right_and_not_the_gradients_is_none():
    assert one_change(exercises.softmax, cut_off) == []


def over_tokens(x, weight, bias, eps):
    mean = x.mean(dim=-2, keepdim=True)
    variance = x.var(dim=-2, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(variance + eps) * weight + bias


@pytest.mark.parametrize(
    ("exercise", "answer", "places"),
    [
        ("layer_norm", over_tokens, ["`-2` of `x.mean(dim=-2, keepdim=True)`", "`-2` of `x.var(dim=-2, keepdim=True"]),
    ],
)
def test_the_places_are_named_where_two_changes_make_an_answer_right(exercise, answer, places):
    """The same change in two places."""
    words = said(catalogue[exercise], answer)
    assert words.startswith("Two changes together would do: look at ")
    assert all(place in words for place in places)


def never_ends(symbols, pair):
    merged, i = [], 0
    while i < len(symbols):
        merged.append(symbols[i])
        i = i + 1
    return merged


def count_to(n):
    i = 0
    while i < n:
        i += 1
    return [x + 1 for x in range(i)]


def test_a_loop_that_a_change_makes_endless_ends_after_so_many_rounds():
    tree = SourceTree(count_to)
    before, function = dumped(tree), tree.function()
    assert len(function(loop_limit.MOST_ROUNDS)) == loop_limit.MOST_ROUNDS
    assert len(function(loop_limit.MOST_ROUNDS)) == loop_limit.MOST_ROUNDS, "each call counts from 0"
    with pytest.raises(loop_limit.EndlessLoop):
        tree.function()(loop_limit.MOST_ROUNDS + 1)
    assert dumped(tree) == before, "nothing of it stays in the tree"


def ring_as_a_tensor(chunks):
    n, held, steps = len(chunks), [row[:] for row in chunks], []
    for adds in (True, False):
        for s in range(n - 1):
            sent = [(r, (r - s + (not adds)) % n, held[r][(r - s + (not adds)) % n]) for r in range(n)]
            for r, c, number in sent:
                to = (r + 1) % n
                held[to][c] = held[to][c] + number if adds else number
            steps.append([row[:] for row in held])
    return torch.tensor(steps)


def test_a_change_that_puts_a_list_into_itself_does_not_end_the_session():
    verdict = exercises.all_reduce_ring.check(ring_as_a_tensor)
    assert "`steps` must be a list, but is a Tensor." in verdict.message


def counted_up_to(n):
    return torch.tensor([[float(s) for s in range(n)]])


def test_an_answer_that_makes_tensors_of_lists_is_run_as_it_is_unless_they_have_no_end():
    function = SourceTree(counted_up_to).function()
    assert torch.equal(function(3), torch.tensor([[0.0, 1.0, 2.0]]))
    endless = [0.0]
    endless.append(endless)
    with pytest.raises(ValueError, match="these lists have too many parts"):
        loop_limit.without_endless_lists(torch.tensor)(endless)


def test_changes_by_which_an_answer_never_ends_are_given_up(monkeypatch):
    ended = []
    monkeypatch.setattr(loop_limit.EndlessLoop, "__init__", lambda self: ended.append(self))
    monkeypatch.setattr(repairs, "SECONDS", 60.0)
    monkeypatch.setattr(repairs, "MOST_SECONDS", 600.0)
    exercise = exercises.merge_pair
    assert one_change(exercise, never_ends) == []
    most = repairs.MOST_ENDLESS
    assert len(ended) == most
    monkeypatch.setattr(repairs, "MOST_ENDLESS", 10**9)
    assert one_change(exercise, never_ends) == []
    assert len(ended) > 2 * most, "there are more"


def test_without_source_nothing_is_changed():
    outcomes = outcomes_of(exercises.softmax, torch.exp)
    assert repair_search(exercises.softmax, torch.softmax, outcomes) is None


# ── how long it takes ──


def like_nothing(reference):
    def answer(*arguments):
        result = reference(*arguments)
        if isinstance(result, tuple):
            return ([*result[0], 1], result[1] * 1.7) if isinstance(result[0], list) else tuple(result)
        return result**1.7 if isinstance(result, torch.Tensor) else result

    return answer


@pytest.mark.parametrize("name", ["decoder_layer", "beam_search", "multi_head_attention"])
def test_a_check_takes_less_than_a_second_of_computing(name):
    """It takes 0.4 to 0.7 s; the bound leaves room for machines that are slower, or busy."""
    exercise = catalogue[name]
    answer = like_nothing(exercise.reference)
    exercise.check(answer)
    start = time.thread_time()
    assert exercise.check(answer).cause is None
    assert time.thread_time() - start < 2.5


@every_exercise
def test_a_mistake_with_a_name_is_told_no_other_cause(exercise):
    mistake = next(iter(exercise.mistakes.values()))
    assert exercise.check(mistake.function).cause is None


def test_it_can_be_turned_off(monkeypatch):
    answer = lambda scores, dim: -softmax_by_powers(scores, dim)  # noqa: E731
    assert exercises.softmax.check(answer).cause
    monkeypatch.setenv("TRANSFORMER_LAB_DIAGNOSIS", "off")
    assert exercises.softmax.check(answer).cause is None
