"""After pretraining: losses, LoRA, samples and rewards, by hand and by formula; trainings that learn and go on."""

import copy
import math

import pytest
import torch

from tests.support import DEVICE, assert_close, refuses, tensor
from transformer_lab import (
    LanguageModel,
    LanguageModelConfig,
    answer_loss,
    clipped_objective,
    dpo_loss,
    group_advantages,
    lora_forward,
    pass_at_k,
    verifies,
)
from transformer_lab.data.texts import Characters
from transformer_lab.training import TextRecipe, load_training, save_training
from transformer_lab.training import after_pretraining as ap
from transformer_lab.training.after_pretraining import digit_sums as task

CHARACTERS = Characters(task.ALPHABET)
PAIRS = [(">38576=", "9."), (">41157=", "45618:8.")]


def small_model(**changes) -> LanguageModel:
    torch.manual_seed(0)
    config = LanguageModelConfig(
        len(CHARACTERS), 16, 2, 32, 2, 32, dropout=0.0, attention_dropout=0.0, positions="rotary", **changes
    )
    return LanguageModel(config).to(DEVICE).eval()


def examples() -> ap.AnswerExamples:
    return ap.AnswerExamples.from_pairs(PAIRS, CHARACTERS)


# The task


def test_a_problem_worked_by_hand():
    assert task.running_sums("38576") == "31639"
    assert (task.direct("38576"), task.worked("38576")) == ("9.", "31639:9.")
    assert verifies("38576", "9.")
    assert verifies("38576", "31639:9.")
    assert not verifies("38576", "31639:8.")


def test_what_is_held_out_is_in_no_text_for_pretraining_and_the_form_is_not_either():
    text, held_out = task.pretraining_text(40_000, seed=0), task.draw_problems(50, 0, held_out=True)
    assert set(text) == set(task.ALPHABET)
    assert not any(f"{problem}{sign}" in text for problem in held_out for sign in "=?")
    lines = [line for line in text.splitlines() if "=" in line]
    assert lines
    assert not any(line.startswith(">") or line.endswith(".") for line in lines)


def test_demonstrations_are_right_and_as_many_work_it_out_as_asked():
    problems = task.draw_problems(40, 3)
    pairs = task.demonstrations(problems, 0.25, seed=0)
    assert all(verifies(problem, answer) for problem, (_, answer) in zip(problems, pairs, strict=True))
    assert sum(task.is_worked(answer) for _, answer in pairs) == 10
    with refuses("share_worked (1.5) must be from 0 to 1"):
        task.demonstrations(problems, 1.5, seed=0)


@pytest.mark.parametrize(
    ("text", "well_formed"),
    [
        ("8.", True),
        ("12345:6.", True),
        ("12345.", False),
        ("6", False),
        ("1:6.", False),
        ("٧.", False),
        ("6.6.", False),
    ],
)
def test_well_formed_worked_by_hand(text, well_formed):
    assert task.is_well_formed(text) is well_formed


# Supervised fine-tuning


def test_examples_worked_by_hand():
    found = examples()
    assert found.tokens.shape == (2, 15)
    assert CHARACTERS.decode(found.tokens[0]) == ">38576=9."
    assert [CHARACTERS.decode(row[mask]) for row, mask in zip(found.tokens, found.answer_mask, strict=True)] == [
        "9.",
        "45618:8.",
    ]
    assert found.with_prompts(CHARACTERS.pad_id).answer_mask.sum(1).tolist() == [9, 15]


def test_the_loss_of_an_answer_worked_by_hand():
    logits = tensor([[[0.0, 0.0], [0.0, math.log(3)], [5.0, 1.0]]])
    marked = tensor([[False, True, True]])
    assert_close(answer_loss(logits, tensor([[0, 1, 1]]), marked), tensor((math.log(2) - math.log(0.75)) / 2))
    with refuses("answer_mask must be torch.bool of the tokens' shape (1, 3), True = a target (got torch.int64"):
        answer_loss(logits, tensor([[0, 1, 1]]), marked.long())


def test_what_a_prompt_says_costs_nothing_and_what_it_is_matters():
    model, one = small_model(), examples().to(DEVICE)
    other = one.tokens.clone()
    other[:, 1] = 20
    losses = [answer_loss(model(tokens), tokens, one.answer_mask) for tokens in (one.tokens, other)]
    assert not losses[0].equal(losses[1])
    leaf = model(one.tokens).detach().requires_grad_()
    (gradient,) = torch.autograd.grad(answer_loss(leaf, one.tokens, one.answer_mask), leaf)
    counted = gradient.abs().sum(-1) > 0
    assert torch.equal(counted[:, :-1], one.answer_mask[:, 1:])


def test_it_learns_two_answers_by_heart():
    training = ap.FineTuning(small_model(), examples(), TextRecipe(80, batch_size=2, peak_rate=0.02))
    losses = [report.loss for report in training.run(80)]
    assert losses[-1] < 0.1 < 1 < losses[0]


# LoRA


@torch.no_grad()
def with_lora() -> LanguageModel:
    model = ap.add_lora(small_model(), rank=3, alpha=5.0)
    for name, parameter in model.named_parameters():
        if name.endswith(".b"):
            parameter.normal_(std=0.2)
    return model


def test_lora_worked_by_hand():
    x, weight, a, b = tensor([[1.0, 2.0]]), tensor([[1.0, 0.0]]), tensor([[1.0, 1.0]]), tensor([[2.0]])
    assert lora_forward(x, weight, a, b, alpha=0.5).tolist() == [[1 + 0.5 * 3 * 2]]


def test_lora_starts_as_the_model_and_only_a_and_b_learn():
    tokens = examples().tokens.to(DEVICE)
    model = ap.add_lora(small_model(), rank=1, alpha=2.0)
    assert torch.equal(model(tokens), small_model()(tokens))
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert learning == {name for name, _ in model.named_parameters() if name.endswith((".a", ".b"))}
    assert len(learning) == 2 * 6 * 2
    with refuses("a model must have no LoRA yet"):
        ap.add_lora(model, 1, 2.0)


def test_merged_lora_computes_the_same():
    model, tokens = with_lora().double(), examples().tokens.to(DEVICE)
    apart = model(tokens)
    together = ap.merge_lora(model)
    assert not any("lora" in type(part).__name__.lower() for part in together.modules())
    assert_close(together(tokens), apart, within=1e-10)
    assert not torch.allclose(small_model().double()(tokens), apart, atol=1e-2)


def test_lora_is_saved_alone_and_loaded_into_a_base(tmp_path):
    model, tokens, path = with_lora(), examples().tokens.to(DEVICE), tmp_path / "lora.safetensors"
    ap.save_lora(path, model)
    again = ap.load_lora(path, small_model())
    assert_close(again(tokens), model(tokens))
    assert path.stat().st_size < 4 * sum(p.numel() for p in model.parameters())
    other = LanguageModel(LanguageModelConfig(len(CHARACTERS), 20, 2, 32, 2, 32, positions="rotary"))
    with refuses("stored weights must fit the model"):
        ap.load_lora(path, other)
    with refuses("a model must have LoRA"):
        ap.save_lora(path, other)


# Samples


def test_samples_end_with_their_stop_and_are_what_the_model_says_with_a_cache():
    model, prompts = small_model(), [">38576=", ">41157="]
    samples = ap.sample_answers(model, CHARACTERS, prompts, 40, generator=torch.Generator().manual_seed(0))
    assert len(samples.texts) == 80
    assert all(text.count(".") == text.endswith(".") for text in samples.texts)
    assert any(text.endswith(".") for text in samples.texts)
    for row, mask, text in zip(samples.tokens, samples.answer_mask, samples.texts, strict=True):
        assert CHARACTERS.decode(row[mask]) == text.replace("�", "�")
    assert CHARACTERS.decode(samples.tokens[40]).startswith(prompts[1])


def test_samples_follow_the_model_s_probabilities():
    model = small_model()
    prompt = CHARACTERS.encode(">38576=")[None].to(DEVICE)
    wanted = model(prompt)[0, -1].softmax(-1)
    samples = ap.sample_answers(
        model, CHARACTERS, [">38576="], 4_000, max_tokens=1, generator=torch.Generator().manual_seed(1)
    )
    found = torch.bincount(samples.tokens[:, -1], minlength=len(CHARACTERS)) / 4_000
    assert (found - wanted).abs().max() < 0.03


def test_prompts_of_two_lengths_are_refused():
    with refuses("prompts must be one or more, of one length (got lengths [2, 3])"):
        ap.sample_answers(small_model(), CHARACTERS, [">1", ">12"])
    with refuses("prompts must be one or more, of one length (got lengths [])"):
        ap.sample_answers(small_model(), CHARACTERS, [])


def test_pass_at_k_is_without_bias():
    """The mean over all draws of 6 answers, each right with 0.3, is the chance that 2 hold a right one."""
    p, n, k = 0.3, 6, 2
    mean = sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1))
    assert mean == pytest.approx(1 - (1 - p) ** k)
    assert pass_at_k(4, 1, 2) == 0.5
    with refuses("n_right must be from 0 to n, and k from 1 to n (got n=4, n_right=5, k=1)"):
        pass_at_k(4, 5, 1)


def test_best_of_and_majority_worked_by_hand():
    assert ap.best_of(["8.", "9.", "31639:9."], lambda text: verifies("38576", text)) == "9."
    assert ap.majority([ap.final_digit(text) for text in ("8.", "31639:9.", "9.", "x")]) == "9"


# Preferences and rewards


def test_dpo_worked_by_hand():
    assert_close(
        dpo_loss(*(tensor([x]) for x in (-1.0, -3.0, -2.0, -3.0)), beta=1.0), tensor(math.log(1 + math.exp(-1)))
    )


def test_advantages_worked_by_hand():
    found = group_advantages(tensor([[1.0, 0.0, 0.0, 0.0], [0.1, 0.1, 0.1, 0.1]]))
    assert_close(found, [[3**0.5, *(3 * [-(3**-0.5)])], [0.0, 0.0, 0.0, 0.0]])
    assert not group_advantages(torch.rand(2, 3, requires_grad=True)).requires_grad


@pytest.mark.parametrize(
    ("ratio", "advantage", "gain", "slope"),
    [(1.0, 2.0, 2.0, 2.0), (1.5, 1.0, 1.2, 0.0), (0.5, 1.0, 0.5, 0.5), (0.5, -1.0, -0.8, 0.0), (1.5, -1.0, -1.5, -1.5)],
)
def test_the_clipped_objective_worked_by_hand(ratio, advantage, gain, slope):
    log_prob = tensor([math.log(ratio)]).requires_grad_()
    found = clipped_objective(log_prob, tensor([0.0]), tensor([advantage]), 0.2)
    found.backward()
    assert_close(found.detach(), tensor(gain))
    assert_close(log_prob.grad, tensor([slope]))


def test_pairs_hold_a_right_and_a_wrong_answer_to_the_same_problem():
    samples = ap.sample_answers(small_model(), CHARACTERS, [">38576=", ">41157="], 3)
    pairs = ap.pairs_of(samples, tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))
    assert torch.equal(pairs.chosen.tokens, samples.tokens[[0, 4]])
    assert torch.equal(pairs.rejected.tokens, samples.tokens[[1, 3]])


def test_dpo_learns_to_prefer():
    pairs = ap.Preferences(examples(), ap.AnswerExamples.from_pairs([(p, "7.") for p, _ in PAIRS], CHARACTERS))
    training = ap.PreferenceTraining(small_model(), pairs, TextRecipe(60, batch_size=2, peak_rate=1e-2), beta=0.5)
    losses = [report.loss for report in training.run(60)]
    assert losses[0] == pytest.approx(math.log(2), abs=1e-4)
    assert losses[-1] < 0.2


def starts_with_a_digit(problem: str, text: str) -> bool:
    return text[:1].isdigit()


def reward_training(reward=starts_with_a_digit, **changes) -> ap.RewardTraining:
    problems = ap.Problems(task.draw_problems(12, 0), CHARACTERS)
    return ap.RewardTraining(small_model(), problems, ap.RewardRecipe(30, **{"batch_size": 4, **changes}), reward)


def test_what_is_rewarded_becomes_likelier():
    training = reward_training(peak_rate=1e-2, n_samples=16, batch_size=8)
    rewards = [training.mean_reward for _ in training.run(30)]
    assert rewards[0] < 0.5
    assert rewards[-1] > 0.9


def test_without_a_difference_nothing_is_learned():
    training = reward_training(reward=lambda problem, text: True)
    before = copy.deepcopy(training.model.state_dict())
    assert len(list(training.run(2))) == 2
    assert all(torch.equal(before[name], weight) for name, weight in training.model.state_dict().items())


def test_the_price_of_divergence_keeps_a_model_near_its_reference():
    def drift(**changes) -> float:
        training = reward_training(peak_rate=1e-2, **changes)
        list(training.run(30))
        return (training.model(prompt) - small_model()(prompt)).abs().max().item()

    prompt = examples().tokens.to(DEVICE)
    assert drift(kl=10.0) < drift() / 3


def test_a_training_from_a_file_ends_at_the_same_weights(tmp_path):
    whole, stopped = reward_training(inner_steps=2), reward_training(inner_steps=2)
    list(whole.run(4))
    list(stopped.run(2))
    save_training(tmp_path / "half", stopped, CHARACTERS, {})
    again = load_training(tmp_path / "half", stopped.examples, DEVICE, ap.RewardTraining)
    again.reward = starts_with_a_digit
    list(again.run(4))
    pairs = zip(whole.model.parameters(), again.model.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 1}, "n_samples (1) must be at least 2"),
        ({"inner_steps": 0}, "inner_steps (0) must be at least 1"),
        ({"epsilon": 0.0}, "epsilon (0.0) must be above 0"),
        ({"kl": float("nan")}, "kl (nan) must be at least 0"),
    ],
)
def test_what_no_recipe_can_have_is_refused(change, message):
    with refuses(message):
        ap.RewardRecipe(10, **change)
