"""What `test_wheel.py` runs in a folder without the checkout: what leans on files, or on names in the wheel."""

import contextlib
import io
import runpy
import sys
from collections.abc import Callable
from importlib.metadata import entry_points, version
from pathlib import Path

import torch

import transformer_lab
from transformer_lab import exercises, training, widgets


def first_line(run: Callable[[], object]) -> str:
    """The first line that a command prints before it exits."""
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.suppress(SystemExit):
        run()
    return text.getvalue().split("\n")[0]


home = Path(transformer_lab.__file__).parent
print("home", home)
print("version", transformer_lab.__version__, version("transformer-lab"))

model, tokenizer, _ = training.load_checkpoint("en_de")
print("translation", *training.translate(model, tokenizer, ["twenty-one"]))

html = widgets.attention_steps(torch.eye(2), torch.eye(2), torch.eye(2), ["a", "b"]).html()
print("script", "<script" in html, "picture", "data:image/png" in html)

print(
    "solved",
    exercises.softmax.check(
        lambda scores, dim: (e := (scores - scores.amax(dim, True)).exp()) / e.sum(dim, True)
    ).passed,
)

(command,) = entry_points(group="console_scripts", name="transformer-lab")
print("command", first_line(lambda: command.load()(["--version"])))
sys.argv[1:] = ["--help"]
usage = first_line(lambda: runpy.run_module("transformer_lab.training", run_name="__main__"))
print("training", usage.split(" [")[0])
