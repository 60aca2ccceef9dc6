"""What torch computes, for the tests of the speculation view."""

import torch

from tests.view_examples.speculation import data, shown


def numbers() -> dict:
    p, q = torch.randn(2, 9).softmax(-1).double()
    written = data["speculated"]
    names = data["few_letters"]
    return {
        "p": p.tolist(),
        "q": q.tolist(),
        "chances": (p / q).clamp(max=1).tolist(),
        "run": {
            "drafted": [[names[i] for i in one.drafted] for one in written.rounds],
            "accepted": [one.n_accepted for one in written.rounds],
            "written": [names[one.written] for one in written.rounds],
        },
        "texts": [shown(step=step)["text"] for step in range(len(written.rounds) - 1)],
    }
