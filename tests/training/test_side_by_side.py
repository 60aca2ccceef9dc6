"""Copies that are trained side by side are each what it would be alone."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_lab.training.experiments.side_by_side import train_side_by_side


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.out = nn.Linear(3, 5), nn.Linear(5, 4)

    def forward(self, x):
        hidden = self.inner(x).tanh()
        return self.out(hidden), hidden


def test_each_copy_learns_what_it_would_learn_alone():
    torch.manual_seed(0)
    models, read = [], []

    def build():
        models.append(Net())
        return models[-1]

    def batch():
        read.append((torch.randn(2, 7, 6, 3), torch.randint(4, (2, 7, 6))))
        return read[-1]

    start = torch.random.get_rng_state()
    losses, hidden = train_side_by_side(build, batch, steps=5, rate=0.01)
    torch.random.set_rng_state(start)
    batch()
    alone = [build(), build()]
    for copy, model in enumerate(alone):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for step, (x, classes) in enumerate(read[1:6]):
            logits, its_hidden = model(x[copy])
            loss = F.cross_entropy(logits.flatten(0, 1), classes[copy].flatten())
            torch.testing.assert_close(losses[step, copy], loss.detach(), atol=1e-5, rtol=1e-4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.testing.assert_close(hidden[copy], its_hidden.detach(), atol=1e-5, rtol=1e-4)
    assert losses.shape == (5, 2)
