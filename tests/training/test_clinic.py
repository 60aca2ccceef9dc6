"""The bug clinic: the program is right, no tool cries wolf over it, and each bug is seen by the right tools."""

import json
import math

import pytest
import torch
import torch.nn.functional as F

from tests.support import refuses
from transformer_lab.training.experiments.clinic import patients, table
from transformer_lab.training.experiments.clinic import program as package
from transformer_lab.training.experiments.clinic.bugs import BUGS, Bug
from transformer_lab.training.experiments.clinic.patients import FILES, load
from transformer_lab.training.experiments.clinic.program import data, generation, model, training
from transformer_lab.training.experiments.clinic.tools import TOOLS, bench
from transformer_lab.training.shipped import load_table

TRAINS = ("by_heart",)  # takes a second, the others a tenth of it
ONE_BY_ONE = "[generate(model, [prompt])[0] for prompt in prompts]]"
CHEAP = {name: tool for name, tool in TOOLS.items() if name not in (*TRAINS, "twin")}
SEEN_BY = {  # by the cheap tools; the twin sees all
    "tokenizer_trims": {"texts"},
    "test_in_training": {"texts"},
    "other_template": {"texts"},
    "mask_behind_the_end": {"targets"},
    "softmax_over_queries": {"later", "generation"},
    "scale_lost": set(),
    "future_seen": {"later", "generation"},
    "chats_mixed": {"alone", "portions"},
    "two_layouts": {"alone", "portions"},
    "positions_by_row": {"generation"},
    "gain_shared": {"step"},
    "large_table": {"first_loss"},
    "not_shifted": {"targets"},
    "shifted_twice": {"targets"},
    "labels_across_chats": {"targets", "portions"},
    "two_softmaxes": set(),
    "padding_counted": {"first_loss", "portions"},
    "means_of_means": {"portions"},
    "gradients_kept": {"portions"},
    "gradients_erased": {"step"},
    "gains_decay": {"step"},
    "rate_by_portions": {"step"},
    "left_padding": {"generation"},
    "position_zero": {"generation"},
    "padding_seen": {"texts", "generation"},
    "dropout_on": {"generation"},
    "two_bos": {"texts"},
}


@pytest.fixture(scope="module")
def tokenizer():
    return data.all_names()


# The program ---------------------------------------------------------------------------------------------------------


def test_a_chat_is_text_in_a_template_and_its_answers_are_marked(tokenizer):
    text = data.chat_text([data.turn(7), data.turn(21)])
    assert text == "<bos><user>7<end><assistant>seven<end><user>21<end><assistant>twenty-one<end>"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    marked = [
        piece for piece, mark in zip((tokenizer.pieces[i] for i in ids), data.mark_answers(ids), strict=True) if mark
    ]
    assert marked == ["seven", "<end>", "twenty", "-", "one", "<end>"]


def test_rows_are_packed_with_the_first_that_has_room():
    rows = data.pack([[5, 3, 6, 4], [7] * 5, [8, 9]], 7)
    assert rows.tokens.tolist() == [[5, 3, 6, 4, 8, 9, 0], [7, 7, 7, 7, 7, 0, 0]]
    assert rows.documents.tolist() == [[1, 1, 1, 1, 2, 2, 0], [1, 1, 1, 1, 1, 0, 0]]
    assert rows.answers.nonzero().tolist() == [[0, 2], [0, 3]]


def test_the_numbers_of_the_test_are_new():
    numbers, test = data.split_numbers(100, 0)
    assert sorted([*numbers, *test]) == [*range(1000)]
    assert len(test) == 100


def test_attention_is_torch_s(tokenizer):
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 6, 8)
    mask = model.may_attend(torch.tensor([[1, 1, 2, 2, 2, 0]] * 2), 6)
    theirs = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    torch.testing.assert_close(model.attention(query, key, value, mask), theirs)


def test_rotary_scores_depend_on_the_distance_alone():
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 8)

    def score(i, j):
        turned = [model.rotate(x, model.angles(torch.tensor([[n]]), 8)) for x, n in ((query, i), (key, j))]
        return (turned[0] * turned[1]).sum()

    torch.testing.assert_close(score(3, 1), score(12, 10))
    assert (score(3, 1) - score(3, 2)).abs() > 0.01


def test_the_loss_is_the_mean_over_the_answers_by_hand(tokenizer):
    rows = data.pack([tokenizer.encode(data.chat_text([data.turn(n)])) for n in (7, 815)], 24)
    decoder = model.Decoder(model.Sizes(len(tokenizer.pieces), 16, 2, 1)).eval()
    with torch.no_grad():
        log_probs = decoder(rows.tokens, rows.documents).log_softmax(-1)
    places = [(b, t) for b in range(len(rows.tokens)) for t in range(1, 24) if rows.answers[b, t]]
    by_hand = -sum(log_probs[b, t - 1, rows.tokens[b, t]].item() for b, t in places) / len(places)
    assert len(places) == 2 + 5  # seven <end>, eight hundred and fifteen <end>
    assert training.add_gradients(decoder, [rows]) == pytest.approx(by_hand, rel=1e-5)


def test_the_rate_climbs_and_falls_in_lines():
    recipe = training.Recipe(n_steps=100, warmup=10, rate=1.0)
    assert [training.rate_at(step, recipe) for step in (0, 4, 50, 99)] == pytest.approx([0.1, 0.5, 0.5, 0.01])


def test_a_padded_batch_writes_what_each_prompt_gives_alone(tokenizer):
    torch.manual_seed(0)
    decoder = model.Decoder(model.Sizes(len(tokenizer.pieces), 32, 2))
    for weight in decoder.parameters():
        torch.nn.init.normal_(weight, std=0.4)  # so that whatever has an influence shows it
    chats = data.draw_chats(range(1000), 5, 1)
    prompts = [tokenizer.encode(data.prompt_text(chat[:-1], chat[-1][0])) for chat in chats]
    assert len({*map(len, prompts)}) > 1
    together = generation.generate(decoder, prompts)
    assert together == [generation.generate(decoder, [prompt])[0] for prompt in prompts]
    assert len({*map(tuple, together)}) > 1


def test_a_short_training_learns():
    program = load()
    decoder = bench.new_model(program, 0, d_model=32)
    recipe = training.Recipe(n_steps=30, chats=8, rate=1e-2, warmup=5)
    losses = [loss for _, loss in training.train(decoder, data.all_names(), range(1000), recipe)]
    assert losses[0] == pytest.approx(math.log(len(data.all_names().pieces)), abs=0.4)
    assert losses[-1] < 2.5


# The bugs and the tools ----------------------------------------------------------------------------------------------


def test_the_healthy_copy_is_the_program():
    assert [name for name in FILES if f"`{name}`" in package.__doc__] == [*FILES]
    program = load()
    assert program.data is not data
    assert program.training.data is program.data
    assert program.sources["model"] == source_of(model)


def source_of(module):
    with open(module.__file__, encoding="utf-8") as file:
        return file.read()


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_changes_the_function_that_it_names(name):
    bug, healthy, broken = BUGS[name], load(), load(name)
    changed = [file for file in FILES if healthy.sources[file] != broken.sources[file]]
    assert changed == [bug.file]
    before, after = healthy.sources[bug.file].splitlines(), broken.sources[bug.file].splitlines()
    first = next(i for i, (old, new) in enumerate(zip(before, after, strict=False)) if old != new)
    above = [line.strip() for line in before[: first + 1] if line.strip().startswith(("def ", "class "))]
    assert above[-1].startswith(f"def {bug.function.split('.')[-1]}(")


def test_what_no_bug_is_is_refused():
    with refuses(f"a bug must be one of {', '.join(BUGS)} (got typo)"):
        load("typo")
    with refuses("the lines that a bug replaces must stand in data once (got 2)"):
        Bug("two", "data", "f", "a", "b", "").put_into("a a")


def test_a_repair_replaces_lines_and_a_function_called_one_by_one_hides_a_bug():
    patient = load("left_padding")
    bug = BUGS["left_padding"]
    assert patients.mend(patient, "generation", bug.broken, bug.healthy).sources == load().sources
    assert not TOOLS["twin"](patients.mend(patient, "generation", bug.broken, bug.healthy), 0).alarm
    hidden = patients.mend(patient, "generation", "generate(model, prompts)]", ONE_BY_ONE)
    assert not TOOLS["texts"](hidden, 0).alarm
    assert TOOLS["generation"](hidden, 0).alarm
    with refuses("a file must be one of data, model, training, generation (got loss)"):
        patients.mend(patient, "loss", "a", "b")
    with refuses("the lines to replace must stand in model once (got 0)"):
        patients.mend(patient, "model", "no such line", "b")


def test_a_bug_shows_the_lines_that_it_changes():
    assert BUGS["large_table"].difference() == "- std=0.02\n+ std=1.0"


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_tool_cries_wolf(seed):
    said = {name: tool(load(), seed) for name, tool in TOOLS.items()}
    assert {name: str(reading) for name, reading in said.items() if reading.alarm} == {}


@pytest.mark.parametrize("name", BUGS)
def test_a_bug_is_seen_by_the_tools_that_should_see_it(name):
    program = load(name)
    seen = {tool for tool, look in CHEAP.items() if look(program, 0).alarm}
    assert seen == SEEN_BY[name]


@pytest.mark.parametrize("name", BUGS)
def test_the_twin_names_the_function(name):
    reading = TOOLS["twin"](load(name), 0)
    assert f"look at `{BUGS[name].function}`" in reading.says


@pytest.mark.parametrize("name", ["two_softmaxes", "labels_across_chats", "position_zero"])
def test_what_cannot_be_learned_by_heart_is_seen(name):
    assert TOOLS["by_heart"](load(name), 0).alarm


def test_the_tools_leave_a_program_as_it_was():
    program = load("means_of_means")
    before = dict(vars(program.training))
    for tool in (*CHEAP.values(), TOOLS["twin"]):
        tool(program, 0)
    assert vars(program.training) == before


def test_the_stored_table_is_what_the_tools_say():
    rows = load_table("clinic")
    assert {row["bug"] for row in rows} == {table.HEALTHY, *BUGS}
    assert [row["alarms"] for row in rows if row["bug"] == table.HEALTHY] == [[]] * len({row["seed"] for row in rows})
    for row in (row for row in rows if row["bug"] != table.HEALTHY):
        assert {*row["alarms"]} - {"by_heart"} == SEEN_BY[row["bug"]] | {"twin"}
        assert ("by_heart" in row["alarms"]) or row["bug"] not in ("two_softmaxes", "labels_across_chats")


def test_the_command_writes_a_row_for_each_patient(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(table, "TOOLS", {"later": TOOLS["later"]})
    out = tmp_path / "clinic.json"
    table.main(["--out", str(out), "--steps", "2", "--seeds", "1", "--bugs", "healthy", "future_seen"])
    rows = json.loads(out.read_text("utf-8"))
    assert [(row["bug"], row["seed"], row["alarms"]) for row in rows] == [
        ("healthy", 1, []),
        ("future_seen", 1, ["later"]),
    ]
    assert len(rows[0]["losses"]) == 2
    assert rows[0]["right"] == 0
    assert capsys.readouterr().out.count("\n") == 2
