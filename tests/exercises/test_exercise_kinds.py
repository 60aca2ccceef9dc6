"""Exercises that do not ask for a function to be written: what passes, what does not, and what the card then says."""

import inspect
import itertools
import random
from functools import partial

import numpy as np
import pytest
import torch

from notebooks.build import text_to_notebook
from tests.notebook_rules import ROOT
from transformer_lab import exercises
from transformer_lab.decoding.single import top_p_filter
from transformer_lab.exercises import exercise as exercise_module
from transformer_lab.exercises.engine.running import Attempt, Case, run
from transformer_lab.exercises.engine.time_limit import time_limit
from transformer_lab.exercises.exercise import Exercise
from transformer_lab.exercises.kinds import FindTheBug, Predict, SetTheWeights
from transformer_lab.exercises.lesson_03.is_relative import ABSOLUTE, RELATIVE
from transformer_lab.exercises.lesson_06.is_attention import RIGHT_ATTENTIONS, WRONG_ATTENTIONS
from transformer_lab.exercises.lesson_08.is_top_p import RIGHT_CUTS, WRONG_CUTS
from transformer_lab.exercises.lesson_10.head_matters import RIGHT_CLAIMS, WRONG_CLAIMS, by_induction
from transformer_lab.exercises.lesson_10.induction_by_hand import both_layers, sequences_of
from transformer_lab.grading.marking.hidden_cases import draw_cases
from transformer_lab.nn import attention
from transformer_lab.nn.masks import decoder_mask
from transformer_lab.nn.transformer import Transformer, TransformerConfig
from transformer_lab.training import warmup_rate


def mean_of_squares(numbers):
    """The mean of the squares."""
    return sum(x * x for x in numbers) / len(numbers)


def mean_with_a_bug(numbers):
    """The mean of the squares."""
    return sum(x * x for x in numbers) / (len(numbers) - 1)


@pytest.fixture
def bug() -> FindTheBug:
    exercise = FindTheBug(
        mean_of_squares,
        lesson="00",
        minutes=5,
        difficulty=1,
        statement="The mean is too large.",
        returns=("mean",),
        cases=(Case("two", {"numbers": [1.0, 2.0]}), Case("three", {"numbers": [1.0, 2.0, 4.0]})),
        hints=("Count.", "Divide by all."),
        broken=mean_with_a_bug,
    )

    @exercise.mistake("The symptom is gone for two numbers, not its cause.")
    def halved(numbers):
        return sum(x * x for x in numbers) / 2

    return exercise


# ── find the bug ──


def test_the_broken_function_is_handed_out_under_the_name_of_the_exercise(bug):
    assert bug.handed_out().startswith("def mean_of_squares(numbers):\n")
    assert "len(numbers) - 1" in bug.handed_out()


def test_what_was_handed_out_is_not_attempted_whatever_its_texts_are(bug):
    def mean_of_squares(numbers):
        # as it was
        return sum(x * x for x in numbers) / (len(numbers) - 1)

    for answer in (mean_with_a_bug, mean_of_squares):
        verdict = bug.check(answer)
        assert (verdict.passed, verdict.attempted) == (False, False)
        assert "Mend the function and run its cell again" in verdict.message


@pytest.mark.parametrize(("change", "attempted"), [(("", ""), False), (("- 1", "- 2"), True)])
def test_what_was_handed_out_is_known_where_there_is_no_source(bug, change, attempted):
    namespace: dict = {}
    exec(bug.handed_out().replace(*change), namespace)
    assert bug.check(namespace["mean_of_squares"]).attempted is attempted


def test_a_mend_passes_and_one_that_hides_the_symptom_is_named(bug):
    def mended(numbers):
        return sum(x**2 for x in numbers) / len(numbers)

    def hidden(numbers):
        return sum(x**2 for x in numbers) / 2

    assert bug.check(mended).passed
    assert bug.check(hidden).mistake == "halved"
    assert bug.check(lambda numbers: 0.0).attempted


def test_whoever_has_mended_the_one_defect_is_told_what_was_wrong(bug):
    bug.defect = "One number too few is divided by."
    right = bug.check(lambda numbers: sum(x * x for x in numbers) / len(numbers))
    assert "What was wrong: One number too few is divided by." in right.message
    assert "What was wrong" not in bug.check(lambda numbers: 0.0).message


FINDS = [one for one in exercises.catalogue.values() if isinstance(one, FindTheBug)]
each_bug = pytest.mark.parametrize("exercise", FINDS, ids=lambda exercise: exercise.name)


@each_bug
def test_the_lesson_hands_out_the_broken_function_as_it_is(exercise):
    (source,) = (ROOT / "notebooks" / "source").glob(f"{exercise.lesson}_*.py")
    stubs = [c.source for c in text_to_notebook(source).cells if c.metadata.get("exercise") == exercise.name]
    assert stubs or exercise.lesson != "14"  # another lesson may hold one that it does not hand out yet
    assert all(stub.rstrip() == exercise.handed_out().rstrip() for stub in stubs)


@each_bug
def test_the_broken_function_raises_no_error_and_is_wrong(exercise):
    outcomes = [run(exercise.broken, case) for case in exercise.cases]
    assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
    assert not exercise.examine(Attempt(exercise.broken), exercise.cases).passed
    assert inspect.signature(exercise.reference) == inspect.signature(exercise.broken)
    assert exercise.name.startswith("mend_") != bool(exercise.defect), (
        "one defect says what it does, several by mistakes"
    )


def test_a_mend_that_changes_nothing_is_told_so(bug):
    verdict = bug.check(lambda numbers: sum(x**2 for x in numbers) / (len(numbers) - 1))
    assert (verdict.attempted, verdict.mistake) == (True, "still_broken")
    assert verdict.message.startswith("The function still computes what the broken one computes")


def test_the_broken_training_step_has_the_symptoms_that_its_statement_describes():
    step, weights = exercises.mend_training_step.broken, torch.zeros(4, 4)
    tokens, padded = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 3, 0, 0]])
    losses = []
    for _ in range(5):
        weights, loss = step(weights, tokens, 1.0, 0)
        losses.append(loss)
    assert losses == sorted(losses)
    assert losses[-1] > 1.5 * losses[0]
    falling = exercises.mend_training_step.mistakes["only_the_sign"].function
    weights = torch.zeros(4, 4)
    for _ in range(300):
        weights, loss = falling(weights, tokens, 1.0, 0)
    assert loss < 0.02
    assert weights[1].argmax() == 1  # it says the same word again
    assert falling(weights, padded, 1.0, 0)[1] > 10 * loss
    scope = {}
    exec(f"import torch\nimport torch.nn.functional as F\n{exercises.mend_training_step.handed_out()}", scope)
    assert scope["mend_training_step"](torch.zeros(4, 4), tokens, 1.0, 0)[1] == losses[0]


def trained_stack(stack, steps: int) -> torch.Tensor:
    """What leaves a stack after a training of its sub-layers, which are linear; its norms are as they were."""
    torch.manual_seed(0)
    x, target = torch.randn(2, 5, 16), torch.randn(2, 5, 16)
    maps, norms = [torch.nn.Linear(16, 16) for _ in range(2)], [torch.nn.LayerNorm(16) for _ in range(3)]
    optimizer = torch.optim.Adam([parameter for one in maps for parameter in one.parameters()], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(stack(x, *maps, *norms), 3 * target).backward()
        optimizer.step()
    return stack(x, *maps, *norms).detach()


def test_the_broken_stack_has_the_symptoms_that_its_statement_describes_and_the_right_one_has_not():
    broken, right = exercises.mend_stack.broken, exercises.mend_stack.reference
    for stack, has_symptoms in ((broken, True), (right, False)):
        x, norms = torch.randn(2, 5, 16), [torch.nn.LayerNorm(16) for _ in range(3)]
        for weight, norm in zip((1.0, 2.0, 3.0), norms, strict=True):
            torch.nn.init.constant_(norm.weight, weight)
        idle = stack(x, torch.zeros_like, torch.zeros_like, *norms)
        assert torch.allclose(idle, norms[2](x), atol=1e-4) != has_symptoms
        stack(x, torch.tanh, torch.sin, *norms).square().sum().backward()
        reached = [norm.weight.grad is not None for norm in norms]
        assert reached == ([True, False, False] if has_symptoms else [True, True, True])
        longer = trained_stack(stack, 300).norm() / trained_stack(stack, 0).norm()
        assert (longer > 1.3) if has_symptoms else (abs(longer - 1) < 0.01)


# ── predict ──


def test_a_prediction_is_judged_like_a_function_and_says_its_kind():
    def count(n):
        return 2 * n

    exercise = Predict(
        count,
        lesson="00",
        minutes=5,
        difficulty=1,
        statement="How many?",
        returns=("n",),
        cases=(Case("3", {"n": 3}),),
        hints=("Two each.",),
    )
    assert exercise.check(lambda n: n + n).passed
    assert not exercise.check(lambda n: n).passed
    assert "predict" in repr(exercise)


@pytest.mark.parametrize("sizes", [(10, 4, 2, 6, 3), (37, 12, 3, 5, 1), (300, 64, 1, 256, 6)])
def test_the_count_is_that_of_the_model(sizes):
    model = Transformer(TransformerConfig(*sizes))
    assert exercises.count_parameters.reference(*sizes) == sum(p.numel() for p in model.parameters())
    untied = Transformer(TransformerConfig(*sizes, tie_weights=False))
    counted = exercises.count_parameters.mistakes["three_tables"].function(*sizes)
    assert counted == sum(p.numel() for p in untied.parameters())


def test_each_list_of_runs_has_one_control_and_not_in_one_place():
    cases = [*exercises.which_control.cases, *draw_cases(exercises.which_control, "one")]
    right = [exercises.which_control.reference(**case.arguments) for case in cases]
    assert len(set(right)) > 3
    for case in cases:
        runs = case.arguments["experiments"]
        others = [runs[0], *(run for i, run in enumerate(runs) if i != right[cases.index(case)])]
        assert exercises.which_control.reference(others) is None


def test_runs_are_shown_one_in_a_line():
    message = exercises.which_control.check(lambda experiments: 0).message
    assert "  experiments = [{'settings': {'layers': 24" in message
    assert "\n                 {'settings': {'layers': 24, 'residual': True" in message


@pytest.mark.parametrize(("token", "feature", "length", "d_model", "n_heads"), [(0, 5, 4, 6, 3), (3, 4, 4, 12, 2)])
def test_the_place_is_where_split_heads_puts_it(token, feature, length, d_model, n_heads):
    x = torch.zeros(1, length, d_model)
    x[0, token, feature] = 1
    place = exercises.place_in_heads.reference(token, feature, length, d_model, n_heads)
    assert attention.split_heads(x, n_heads)[(0, *place)] == 1


def test_the_new_weights_are_those_of_the_new_scores():
    scores = 3 * torch.randn(2, 5, dtype=torch.float64)
    given = exercises.new_weights.reference(scores.softmax(-1), 100.0, 1.7)
    assert torch.allclose(given, (1.7 * (scores + 100)).softmax(-1))


@pytest.mark.parametrize("lengths", [[3], [0, 3], [2, 5, 1], [4, 4]])
def test_the_visible_pairs_are_those_of_the_mask(lengths):
    words = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    assert exercises.visible_pairs.reference(lengths) == decoder_mask(words.long(), 0).sum()


@pytest.mark.parametrize(("step", "warmup_steps"), [(2000, 4000), (7, 30), (30, 30)])
def test_the_rate_is_the_same_again(step, warmup_steps):
    later = exercises.same_rate_again.reference(step, warmup_steps)
    assert later >= warmup_steps
    rate = partial(warmup_rate, d_model=512, warmup_steps=warmup_steps)
    assert rate(round(later)) == pytest.approx(rate(step), rel=0.01)


@pytest.mark.parametrize("with_cosine", [False, True])
def test_the_first_repeat_is_the_first_in_the_table(with_cosine):
    periods = [4, 6, 9]
    angle = 2 * torch.pi * torch.arange(100, dtype=torch.float64)[:, None] / torch.tensor(periods)
    table = torch.cat([angle.sin(), angle.cos()], 1) if with_cosine else angle.sin()
    equal = (table[1:] - table[0]).abs().amax(1) < 1e-9
    assert exercises.first_repeat.reference(periods, with_cosine) == 1 + int(equal.nonzero()[0])


@pytest.mark.parametrize("cached", [False, True])
def test_the_positions_are_those_that_a_model_is_handed(cached):
    handed, known = 0, 0
    for n_tokens in range(5, 5 + 7):  # a prompt of 5; the last of 7 new tokens is not read
        handed, known = handed + n_tokens - known, n_tokens if cached else 0
    assert exercises.positions_computed.reference(5, 7, cached) == handed


@pytest.mark.parametrize("heads", [[], [3], [2, 2], [1, 0, 4, 2]])
def test_the_paths_are_those_that_can_be_listed(heads):
    ways = ([None, *range(count)] for count in heads)  # past the layer, or through a head
    assert exercises.count_paths.reference(heads) == len(list(itertools.product(*ways)))


# ── write the test ──


@pytest.mark.parametrize(
    ("test", "score", "words"),
    [
        (lambda layer: True, 0, "accepts 0 of 7 right layers and catches 15 of 15 wrong ones"),
        (lambda layer: False, 0, "accepts 7 of 7 right layers and catches 0 of 15 wrong ones"),
        (lambda layer: layer(torch.ones(1, 4, 16)).shape != (1, 4, 16), 0, "catches 0 of 15"),
        (lambda layer: 1 / 0, 0, "ZeroDivisionError"),
        (lambda layer: "yes", 0, "`leaks` must be a bool, but is a str."),
        (lambda layer: ..., 0, "Write the test"),
    ],
    ids=["always", "never", "shapes", "raises", "a text", "stub"],
)
def test_a_test_that_tells_nothing_apart_scores_nothing(test, score, words):
    verdict = exercises.leaks.check(test)
    assert not verdict.passed
    assert verdict.score == score
    assert words in verdict.message


def half_a_test(layer):
    x = torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(1))
    changed = x.clone()
    changed[:, -1] += 1
    return (layer(x)[:, :-1] != layer(changed)[:, :-1]).any()


def test_a_test_is_scored_and_the_symptoms_that_it_misses_are_named():
    verdict = exercises.leaks.check(half_a_test)
    assert verdict.score == pytest.approx(11 / 15)
    assert "catches 11 of 15 wrong ones" in verdict.message
    assert "It scores 73 %." in verdict.message
    assert "It misses a wrong layer: it leaks only in sentences of more than twenty tokens." in verdict.message
    assert "lambda" not in verdict.message


def by_chance(layer):
    x = torch.randn(2, 25, 16) * random.random() * np.random.rand()
    changed = x.clone()
    changed[:, random.randrange(1, 25) :] += torch.randn(16) * 1e-3
    return not torch.allclose(layer(x)[:, :-1], layer(changed)[:, :-1], atol=1e-4)


def test_a_test_that_draws_random_numbers_gets_one_score_whatever_was_drawn_before():
    verdicts = set()
    for seed in range(6):
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        verdicts.add((round((verdict := exercises.leaks.check(by_chance)).score, 3), verdict.message))
    assert len(verdicts) == 1
    assert 0 <= verdicts.pop()[0] < 1


def test_the_right_attentions_are_right_and_the_wrong_ones_are_not():
    assert len(RIGHT_ATTENTIONS) >= 5
    assert len(WRONG_ATTENTIONS) >= 12
    for label, attend in (RIGHT_ATTENTIONS | WRONG_ATTENTIONS).items():
        assert exercises.is_attention.reference(attend) == (label in RIGHT_ATTENTIONS), label


def test_the_relative_scores_are_relative_and_the_others_are_not():
    for label, scores in (RELATIVE | ABSOLUTE).items():
        assert exercises.is_relative.reference(scores) == (label in RELATIVE), label


def test_the_right_filters_are_the_package_s_and_the_wrong_ones_are_not():
    logits = 2 * torch.randn(4, 9, generator=torch.Generator().manual_seed(3))
    for label, cut in (RIGHT_CUTS | WRONG_CUTS).items():
        equal = all(torch.equal(cut(logits, p), top_p_filter(logits, p)) for p in (0.04, 0.3, 0.55, 0.8, 0.97))
        assert equal == (label in RIGHT_CUTS), label


@pytest.mark.parametrize("p", [0.5, 0.8, 1.0])
def test_where_a_sum_reaches_p_exactly_all_right_filters_agree(p):
    logits = torch.tensor([0.2, 0.5, 0.3]).log()
    kept = {label: tuple(cut(logits, p).isfinite().tolist()) for label, cut in RIGHT_CUTS.items()}
    assert set(kept.values()) == {{0.5: (False, True, False), 0.8: (False, True, True), 1.0: (True,) * 3}[p]}


@pytest.mark.parametrize("claims", [RIGHT_CLAIMS, WRONG_CLAIMS])
def test_the_right_claims_are_right_and_none_is_a_close_call(claims):
    texts = torch.randint(10, (200, 40), generator=torch.Generator().manual_seed(7))
    for label, (model, head) in claims.items():
        one, other = (model(texts, gone)[0].softmax(-1) for gone in ([], [head]))
        change = (one - other).abs().max().item()
        assert change > 0.01 if claims is RIGHT_CLAIMS else change < 1e-4, (label, change)


def test_the_models_of_claims_are_causal_and_their_weights_sum_to_1():
    texts = torch.randint(10, (20, 30), generator=torch.Generator().manual_seed(8))
    for label, (model, head) in (RIGHT_CLAIMS | WRONG_CLAIMS).items():
        for gone in ([], [head]):
            logits, weights = model(texts, gone)
            assert torch.allclose(model(texts[:, :12], gone)[0], logits[:, :12], atol=1e-5), label
            assert torch.allclose(weights.sum(-1), torch.ones(())), label
            assert not weights.triu(1).any(), label


def test_an_induction_head_looks_at_what_came_after_the_same_token():
    weights = by_induction(torch.tensor([[4, 7, 4, 4, 7, 1]]))[0]
    assert weights.argmax(-1).tolist() == [0, 1, 1, 3, 2, 5]  # alone: 0 and 5; after 4: 7, then 4; after 7: 4


def test_many_missed_symptoms_are_counted():
    assert "… and 12 more." in exercises.leaks.check(lambda layer: False).message


def test_a_test_that_never_returns_is_stopped(monkeypatch):
    monkeypatch.setattr(exercise_module, "time_limit", partial(time_limit, 0.2))

    def never(layer):
        while True:
            pass

    assert "It did not end within" in exercises.leaks.check(never).message


def test_the_reference_scores_everything_on_hidden_candidates_and_a_poor_test_little():
    hidden = draw_cases(exercises.leaks, "one")
    assert exercises.leaks.examine(Attempt(exercises.leaks.reference), hidden).score == 1
    assert exercises.leaks.examine(Attempt(lambda layer: False), hidden).score == 0


# ── set the weights ──


def test_the_counter_example_is_drawn():
    eye = torch.eye
    verdict = exercises.look_back_one.check(lambda positions: (eye(positions.size(1)), eye(positions.size(1))))
    assert "Simplest case that fails: 2 positions, one-hot vectors." in verdict.message
    assert "The query at position 1 must attend to position 0 with a weight of at least 0.9." in verdict.message
    assert "It gives it 0.33, and most, 0.67, to position 1." in verdict.message
    assert verdict._repr_html_().count("<td") == 4
    assert "0.67</td>" in verdict._repr_html_()


def test_each_head_is_drawn():
    verdict = exercises.look_both_ways.check(exercises.look_both_ways.mistakes["both_back"].function)
    assert "head 0" in verdict.figure
    assert "head 1" in verdict.figure
    assert "The query of head 1 at position 0 must attend to position 1" in verdict.message


def test_the_smallest_sequence_that_is_not_continued_is_drawn():
    verdict = exercises.induction_by_hand.check(exercises.induction_by_hand.mistakes["position_0_is_found"].function)
    assert "Simplest case that fails: 2 tokens, 4 positions: all sequences." in verdict.message
    assert "  tokens          a b a\n  what comes next b\n  next holds      0.50 for a, 0.50 for b" in verdict.message
    assert verdict.figure.count("<table") == 3
    assert verdict.figure.count("<td") == 4 * 4 + 4 * 4 + 4 * 2
    assert [name for name in ("layer 0", "layer 1", "next, after") if name not in verdict.figure] == []


def test_what_two_layers_make_of_repeated_sequences_is_what_attention_makes_of_them():
    matrices = exercises.induction_by_hand.reference(3, 7)
    effect = both_layers({"n_tokens": 3, "n_positions": 7}, *matrices)
    once = sequences_of({"n_tokens": 3, "n_positions": 7})
    assert len(once) == len(set(once)) == 3 + 6 + 6
    x = torch.zeros(6, 3 * 3 + 7)
    for t, token in enumerate(2 * once[-1]):
        x[t, token] = x[t, 3 + t] = 1
    for layer in range(2):
        qk, ov = matrices[2 * layer : 2 * layer + 2]
        visible = torch.ones(6, 6, dtype=torch.bool).tril()
        output, weights = attention.scaled_dot_product_attention(x @ qk * x.size(1) ** 0.5, x, x @ ov, visible)
        assert torch.allclose(effect[-1, :, 6 * layer : 6 * layer + 6], weights, atol=1e-5)
        x = x + output
    assert torch.allclose(effect[-1, :, 12:], x[:, -3:], atol=1e-5)


@pytest.mark.parametrize("size", [1e20, -1e20, 3e38, -3e38])
@pytest.mark.parametrize("name", ["look_at_kind", "look_back_one", "induction_by_hand"])
def test_weights_whose_effect_is_not_finite_are_refused(name, size):
    exercise = exercises.catalogue[name]

    def huge(*given):
        return tuple(torch.full_like(w, size) for w in exercise.reference(*given))

    message = exercise.check(huge).message
    assert "What these matrices bring about must be finite, but NaN or infinity is among it" in message


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda positions: torch.eye(2), "It must return w_q, w_k: in place of 2 values there is a Tensor"),
        (lambda positions: (torch.eye(2), 1.0), "It must return tensors"),
        (lambda positions: (torch.eye(3), torch.eye(2)), r"A matrix has the wrong shape or type."),
        (lambda positions: (torch.eye(2).int(), torch.eye(2)), "given    (2, 2), torch.int32"),
        (lambda positions: (torch.eye(2) / 0, torch.eye(2)), "contains NaN or infinity"),
        (lambda positions: 1 / 0, "It raises an error"),
    ],
)
def test_what_is_no_pair_of_matrices_is_told_how(answer, message):
    verdict = exercises.look_back_one.check(answer)
    assert message in verdict.message
    assert verdict.figure == ""


def test_any_weights_that_reach_the_goal_pass():
    assert exercises.look_back_one.kind == SetTheWeights.kind == "set the weights"
    assert exercises.look_back_one.check(lambda x: [x.T @ x.roll(1, 0) * 99, torch.eye(x.size(1))]).passed


def test_every_exercise_states_its_kind_time_and_difficulty():
    for exercise in exercises.catalogue.values():
        assert isinstance(exercise, Exercise)
        assert 1 <= exercise.minutes <= 45
        assert exercise.difficulty in (1, 2, 3)
        assert f"{exercise.kind} · about {exercise.minutes} minutes" in repr(exercise)


@pytest.mark.parametrize("lesson", [*(f"{number:02}" for number in range(1, 9)), "10", "12", "15", "16", "17"])
def test_every_lesson_has_three_kinds_of_exercise(lesson):
    assert len({one.kind for one in exercises.catalogue.values() if one.lesson == lesson}) >= 3
