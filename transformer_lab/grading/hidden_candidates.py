"""Hidden candidates for tests that learners write: right ones and wrong ones, with a number of their own each."""

from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from transformer_lab.exercises import lesson_10_models as models
from transformer_lab.exercises import lesson_12_models as encoders
from transformer_lab.grading.case_generators import Arguments, case_generator, number, pick


@case_generator("leaks")
def _(generator: Generator) -> Arguments:
    reach, mix = number(generator, 1, 6), torch.randn(16, 16, generator=generator).double() / 4

    def drawn_right(x: Tensor) -> Tensor:
        mixed, length = x.double() @ mix, x.size(1)  # float64: see `exactly` in exercises/lesson_05.py
        past = [torch.cat([torch.zeros_like(mixed[:, :lag]), mixed], 1)[:, :length] for lag in range(reach)]
        return torch.stack(past).sum(0).to(x.dtype)

    return {"layer": drawn_right}


@case_generator("leaks")
def _(generator: Generator) -> Arguments:
    feature, least = number(generator, 0, 15), number(generator, 2, 16)

    def drawn_leak(x: Tensor) -> Tensor:
        output = x.cumsum(1)
        if x.size(1) >= least:
            output[:, 0, feature] += x[:, -1, feature]
        return output

    return {"layer": drawn_leak}


@case_generator("leaks")
def _(generator: Generator) -> Arguments:
    rows = torch.randn(16, 16, generator=generator)

    def drawn_step(x: Tensor) -> Tensor:
        """Without a gradient: sixteen numbers, even or odd. Whatever is changed at the end changes some."""
        return x + (x @ rows)[:, -1:].floor() % 2

    return {"layer": drawn_step}


def weights_for(query: Tensor, key: Tensor, mask: Tensor, scale: float) -> Tensor:
    scores = query @ key.mT / query.size(-1) ** 0.5 * scale
    return scores.masked_fill(~mask, float("-inf")).softmax(-1).nan_to_num()


@case_generator("is_attention")
def _(generator: Generator) -> Arguments:
    order = torch.randperm(12, generator=generator)

    def drawn_right(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """The keys in another order, which must not matter, and back."""
        keys = order[order < key.size(-2)]
        weights = weights_for(query, key[..., keys, :], mask[..., keys], 1.0)
        return weights @ value[..., keys, :], weights[..., keys.argsort()]

    return {"attend": drawn_right}


@case_generator("is_attention")
def _(generator: Generator) -> Arguments:
    scale = number(generator, 11, 30) / (10 if number(generator, 0, 1) else 40)

    def drawn_scale(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        weights = weights_for(query, key, mask, scale)
        return weights @ value, weights

    return {"attend": drawn_scale}


@case_generator("is_attention")
def _(generator: Generator) -> Arguments:
    unmasked = number(generator, 0, 2)

    def drawn_leak(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """One key is seen by all."""
        weights = weights_for(query, key, mask | (torch.arange(key.size(-2)) == unmasked), 1.0)
        return weights @ value, weights

    return {"attend": drawn_leak}


@case_generator("is_attention")
def _(generator: Generator) -> Arguments:
    feature, share = number(generator, 0, 1), number(generator, 2, 8) / 10

    def drawn_feature(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """One feature of the values counts too little."""
        weights = weights_for(query, key, mask, 1.0)
        return weights @ (value * torch.where(torch.arange(value.size(-1)) == feature, share, 1.0)), weights

    return {"attend": drawn_feature}


@case_generator("is_relative")
def _(generator: Generator) -> Arguments:
    start, speed = number(generator, 0, 50), number(generator, 2, 30) / 10

    def drawn_right(query: Tensor, key: Tensor) -> Tensor:
        """Turned in one plane, by the distance times a speed."""
        angle = speed * (start + torch.arange(query.size(0)).double())[:, None]
        rows = []
        for x in (query.double(), key.double()):
            a, b = x[:, :4], x[:, 4:]
            rows.append(torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], 1))
        return (rows[0] @ rows[1].mT).to(query.dtype)

    return {"scores": drawn_right}


@case_generator("is_relative")
def _(generator: Generator) -> Arguments:
    share = number(generator, 1, 9) / 10

    def drawn_bias(query: Tensor, key: Tensor) -> Tensor:
        """The distance counts, and the query's own position, too."""
        at = torch.arange(query.size(0)).double()
        bias = at[:, None] * share - at[None] * 0.5
        return (query.double() @ key.double().mT + bias - 0.5 * at[:, None]).to(query.dtype)

    return {"scores": drawn_bias}


@case_generator("is_relative")
def _(generator: Generator) -> Arguments:
    period = 2 * number(generator, 1, 2)

    def drawn_rhythm(query: Tensor, key: Tensor) -> Tensor:
        """Every so many keys one has a higher score."""
        at = torch.arange(query.size(0))
        return (query.double() @ key.double().mT + 2.0 * (at % period == 0)).to(query.dtype)

    return {"scores": drawn_rhythm}


@case_generator("is_top_p")
def _(generator: Generator) -> Arguments:
    order = torch.randperm(200, generator=generator)

    def drawn_right(logits: Tensor, p: float) -> Tensor:
        """The tokens in another order, which must not matter, and back."""
        tokens = order[order < logits.size(-1)]
        q = logits.double().softmax(-1)[..., tokens]
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)[..., tokens.argsort()]
        return logits.masked_fill((before >= p - 1e-6) & (p < 1), float("-inf"))

    return {"cut": drawn_right}


@case_generator("is_top_p")
def _(generator: Generator) -> Arguments:
    share = number(generator, 20, 75) / 100

    def drawn_share(logits: Tensor, p: float) -> Tensor:
        """It stops too early: at a share of p."""
        q = logits.double().softmax(-1)
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)
        return logits.masked_fill(before >= share * p, float("-inf"))

    return {"cut": drawn_share}


@case_generator("is_top_p")
def _(generator: Generator) -> Arguments:
    amount = number(generator, 3, 40) / 10

    def drawn_lift(logits: Tensor, p: float) -> Tensor:
        """The right tokens, with logits that are all higher by as much."""
        q = logits.double().softmax(-1)
        before = ((q[..., None, :] > q[..., :, None]) * q[..., None, :]).sum(-1)
        return logits.masked_fill((before >= p - 1e-6) & (p < 1), float("-inf")) + amount

    return {"cut": drawn_lift}


@case_generator("head_matters")
def _(generator: Generator) -> Arguments:
    start, seed = number(generator, 0, 24), number(generator, 2, 10_000)
    looks, head = pick(generator, models.at_itself, models.back_one, models.at_all), number(generator, 0, 2)

    def drawn_late(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """It acts from some position on."""
        weights = torch.stack([models.by_induction(tokens), looks(tokens), models.back_one(tokens)], 1)
        acts = (torch.arange(tokens.size(1)) >= start)[:, None] * (head not in without)
        return (models.NEXT[tokens] + weights[:, head] @ models.table(seed)[tokens] * acts).float(), weights.float()

    return {"model": drawn_late, "head": head}


@case_generator("head_matters")
def _(generator: Generator) -> Arguments:
    token, head = number(generator, 0, 9), number(generator, 0, 1)

    def drawn_idle(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """Where it sees a certain token it adds the same to all logits; the other head copies."""
        weights = torch.stack([models.by_induction(tokens), models.back_one(tokens)], 1)
        seen = weights[:, head] @ (tokens == token).double()[..., None]  # (B, T, 1)
        copied = weights[:, 1 - head] @ models.COPY[tokens] * (1 - head not in without)
        return (models.NEXT[tokens] + copied + 2 * seen * (head not in without)).float(), weights.float()

    return {"model": drawn_idle, "head": head}


@case_generator("head_matters")
def _(generator: Generator) -> Arguments:
    head, seed = number(generator, 0, 2), number(generator, 2, 10_000)

    def drawn_reserve(tokens: Tensor, without: Sequence[int] = ()) -> tuple[Tensor, Tensor]:
        """Three heads that do the same, of which one is enough."""
        weights = models.back_one(tokens)
        written = weights @ models.table(seed)[tokens] * any(i not in without for i in range(3))
        return (models.NEXT[tokens] + written).float(), torch.stack([weights] * 3, 1).float()

    return {"model": drawn_reserve, "head": head}


@case_generator("loaded_right")
def _(generator: Generator) -> Arguments:
    size = number(generator, 1, 9) / 1e6

    def drawn_right(tokens: Tensor, types: Tensor) -> Tensor:
        """Rounded in another way, and other numbers at padding."""
        return encoders.original(tokens, types) + torch.where(tokens == 0, 3.0, size)[..., None]

    return {"ours": drawn_right, "theirs": encoders.original}


@case_generator("loaded_right")
def _(generator: Generator) -> Arguments:
    token, kind = number(generator, 1, 9), number(generator, 0, 1)

    def drawn_row(tokens: Tensor, types: Tensor) -> Tensor:
        """One token is wrong where it is of one type."""
        x = encoders.embedded(tokens, types)
        x = x + ((tokens == token) & (types == kind))[..., None] * encoders.WORD[0]
        return encoders.states(x, tokens != 0).float()

    return {"ours": drawn_row, "theirs": encoders.original}


@case_generator("loaded_right")
def _(generator: Generator) -> Arguments:
    start, feature = number(generator, 12, 36), number(generator, 0, encoders.WIDTH - 1)

    def drawn_late(tokens: Tensor, types: Tensor) -> Tensor:
        """From some position on a feature is off."""
        late = (torch.arange(tokens.size(1)) >= start)[:, None] & (torch.arange(encoders.WIDTH) == feature)
        return encoders.original(tokens, types) + 0.002 * late

    return {"ours": drawn_late, "theirs": encoders.original}


@case_generator("loaded_right")
def _(generator: Generator) -> Arguments:
    most = number(generator, 1, 3)

    def drawn_mask(tokens: Tensor, types: Tensor) -> Tensor:
        """The first positions of padding are attended to."""
        real = tokens != 0
        seen = torch.arange(tokens.size(1)) < real.sum(1, keepdim=True) + most
        return encoders.states(encoders.embedded(tokens, types), seen).float()

    return {"ours": drawn_mask, "theirs": encoders.original}
