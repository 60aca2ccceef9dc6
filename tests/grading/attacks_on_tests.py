"""Answers to write-the-test exercises that test nothing: they count, look things up, or look where they should not.

Each is a program for any of these exercises, and deserves no points. What it says of a candidate that it learns nothing
about is WRONG_ONE, so that whoever learns nothing says the same of all. They are in the table of `attacks.py`.
"""

import hashlib
import inspect
from collections.abc import Iterator

import torch

from transformer_lab.exercises import catalogue
from transformer_lab.exercises.engine.running import Case
from transformer_lab.exercises.kinds import WriteTheTest
from transformer_lab.grading.marking.hidden_cases import draw_cases

TESTS = {name: one for name, one in catalogue.items() if isinstance(one, WriteTheTest)}
INPUTS = {  # on which any candidate of an exercise can be called
    "leaks": "torch.linspace(-9, 9, 160).sin().reshape(1, 10, 16),",
    "is_relative": "torch.linspace(0, 9, 80).sin().reshape(10, 8), torch.linspace(0, 7, 80).cos().reshape(10, 8)",
    "is_attention": "*torch.linspace(0, 9, 60).sin().reshape(3, 5, 4), torch.ones(5, 5).tril(-1).bool()",
    "is_top_p": "torch.linspace(0, 9, 40).sin().reshape(2, 20), 0.7",
    "head_matters": "torch.arange(80).reshape(2, 40) * 7 % 10, []",
    "loaded_right": "torch.arange(60).reshape(2, 30) * 7 % 9 + 1, torch.arange(60).reshape(2, 30) % 2",
}
ATTACKS = {
    "counts its calls and replays the public order": """
    N.append(0)
    return PLAN[(len(N) - 1) % len(PLAN)]
""",
    "calls once, counts, and replays the public order": """
    candidate(*given())
    N.append(0)
    return PLAN[(len(N) - 1) % len(PLAN)]
""",
    "says what the dice say": "    return os.urandom(1)[0] % 2 == 0\n",
    "calls once, and says what the dice say": "    candidate(*given())\n    return os.urandom(1)[0] % 2 == 0\n",
    "looks the byte code up": """
    for one in (candidate, type(candidate).__call__):
        for name in ("__code__", "__wrapped__", "__func__", "__self__"):
            found = getattr(one, name, None)
            if (said := known(found)) is not None: return said
    return WRONG_ONE
""",
    "looks into its closure and what it has": """
    for name in dir(candidate):
        found = getattr(candidate, name, None)
        for cell in getattr(found, "__closure__", None) or ():
            if (said := known(cell.cell_contents)) is not None: return said
    return WRONG_ONE
""",
    "looks the source up": """
    try: return SOURCES.get(inspect.getsource(candidate), WRONG_ONE)
    except (OSError, TypeError): return WRONG_ONE
""",
    "looks for code by way of the garbage collector": """
    found = [candidate]
    for _ in range(4):
        found = gc.get_referents(*found)[:20000] + gc.get_referrers(candidate)
        for one in found:
            if (said := known(one)) is not None: return said
    return WRONG_ONE
""",
    "looks through all that is in memory": """
    said = [known(one) for one in gc.get_objects()]
    said = [one for one in said if one is not None]
    return said[-1] if said else WRONG_ONE
""",
    "looks at who calls it": """
    frame = sys._getframe()
    while frame:
        for value in [*frame.f_locals.values()]:
            for one in (value, *getattr(value, "arguments", {}).values()):
                if (said := known(one)) is not None: return said
            if (label := getattr(value, "label", None)) in LABELS: return LABELS[label]
        frame = frame.f_back
    return WRONG_ONE
""",
    "looks at its name": "    candidate(*given())\n    return LABELS.get(repr(candidate), WRONG_ONE)\n",
    "looks at its address": "    candidate(*given())\n    return id(candidate) // 64 % 2 == 0\n",
    "raises an error in it, and reads the traceback": """
    for strange in ((), (None,), (None, None), (None,) * 4, (Spy(),), (Spy(), Spy()), (Spy(),) * 4):
        try: candidate(*strange)
        except Exception as error:
            while error:
                frames = error.__traceback__
                while frames:
                    if (said := known(frames.tb_frame.f_code)) is not None: return said
                    frames = frames.tb_next
                if str(error) in ERRORS: return ERRORS[str(error)]
                error = error.__context__
    return WRONG_ONE
""",
    "looks at how the gradient flows": """
    inputs = [x.requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x for x in given()]
    output = candidate(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    return FLOWS.get(type(output.grad_fn).__name__, WRONG_ONE)
""",
    "looks at how its results lie in memory": """
    output = candidate(*given())
    output = output[0] if isinstance(output, tuple) else output
    return output.is_contiguous() and output.data_ptr() % 128 == 0
""",
    "knows what the public ones return": """
    return OUTPUTS.get(digest(candidate(*given())), WRONG_ONE)
""",
    "asks for one that is not there": """
    for socket_ in (one for one in gc.get_objects() if type(one) is socket.socket):
        header = json.dumps({"call": "reference", "arguments": {"list": []}, "tensors": []}).encode()
        socket_.sendall(struct.pack("<II", len(header), 0) + header)
    return WRONG_ONE
""",
    "has the grader send what it knows": """
    for socket_ in (one for one in gc.get_objects() if type(one) is socket.socket):
        header = json.dumps({"passed": True, "score": 1, "value": {"plain": True}, "tensors": []}).encode()
        socket_.sendall(struct.pack("<II", len(header), 0) + header)
    return WRONG_ONE
""",
}
TABLES = """
import gc, hashlib, inspect, json, os, socket, struct, sys
import torch
N, PLAN, WRONG_ONE, CODES, SOURCES, LABELS, ERRORS, FLOWS, OUTPUTS = {tables!r}
def given(): return [{inputs}]
class Spy:
    def __getattr__(self, name): raise ValueError(name)
def digest(value):
    parts = value if isinstance(value, tuple) else (value,)
    return hashlib.sha256(b"".join(x.detach().contiguous().numpy().tobytes() for x in parts)).hexdigest()[:16]
{code_of}
def known(thing):
    return CODES.get(code_of(thing))
def {name}({parameters}):
    candidate = {first}
"""


def code_of(thing):
    """A hash of the byte code of a function, and of those that it closes over; of a code object its own."""
    code = getattr(thing, "__code__", thing)
    if type(code) is not type(code_of.__code__):
        return None
    within = [cell.cell_contents for cell in getattr(thing, "__closure__", None) or ()]
    inner = b"".join(one.__code__.co_code for one in within if hasattr(one, "__code__"))
    return hashlib.sha256(code.co_code + inner).hexdigest()[:16]


def digest(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return hashlib.sha256(b"".join(x.detach().contiguous().numpy().tobytes() for x in parts)).hexdigest()[:16]


def tables(exercise: WriteTheTest, cases: list[Case]) -> tuple:
    """What can be known of candidates from this repository: what to say by their order, code, source, errors, …"""
    plan, codes, sources, labels, errors, flows, outputs = [], {}, {}, {}, {}, {}, {}
    given = eval(f"[{INPUTS[exercise.name]}]", {"torch": torch})
    for case in cases:
        says, function = exercise.expected(case).value, next(iter(case.arguments.values()))
        plan.append(says)
        labels[case.label] = says
        if code_of(function):  # torch.zeros_like has none
            codes[code_of(function)] = sources[inspect.getsource(function)] = says
        with torch.no_grad():
            outputs[digest(function(*given))] = says
        try:
            function(*[None] * len(given))
        except Exception as error:
            errors[str(error)] = says
        tracked = [x.clone().requires_grad_() if torch.is_tensor(x) and x.is_floating_point() else x for x in given]
        output = function(*tracked)
        flows[type((output[0] if isinstance(output, tuple) else output).grad_fn).__name__] = says
    return [], plan, not exercise.says_of_right, codes, sources, labels, errors, flows, outputs


def programs(name: str) -> Iterator[tuple[str, str]]:
    """Each attack on an exercise, as a program that knows what stands in this repository, generators included."""
    exercise = TESTS[name]
    known, drawn = tables(exercise, [*exercise.cases]), tables(exercise, draw_cases(exercise, "another"))
    both = [
        one | other if isinstance(one, dict) and one is not known[-1] else one
        for one, other in zip(known, drawn, strict=True)
    ]
    head = TABLES.format(
        tables=tuple(both),
        inputs=INPUTS[name],
        name=name,
        parameters=", ".join(exercise.parameters),
        first=exercise.parameters[0],
        code_of=inspect.getsource(code_of),
    )
    for attack, body in ATTACKS.items():
        if (name, attack) != ("is_top_p", "knows what the public ones return"):  # all right filters return the same:
            yield attack, head + body  # to know that, and compare with it, is a test
