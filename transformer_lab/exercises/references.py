"""References of exercises that ask for a test or for weights: functions that the package itself has no use for."""

import torch
import torch.nn.functional as F


def look_back_one(positions):
    """The projections of a head by which position t attends to position t - 1.

    The query of position t is the vector of position t - 1, made long; its key is its own vector.
    """
    d_model = positions.size(1)
    before = torch.cat([positions[:1], positions[:-1]])  # row t: the vector of t - 1
    w_q = 10 * d_model**0.5 * positions.T @ before  # x_t @ w_q = 10 √d · x_{t-1}, since the x are orthonormal
    w_k = torch.eye(d_model)
    return w_q, w_k


def look_both_ways(positions):
    """Two heads: position t attends to t - 1 with the first, and to t + 1 with the second."""
    d_model = positions.size(1)
    before = torch.cat([positions[:1], positions[:-1]])
    after = torch.cat([positions[1:], positions[-1:]])
    heads = []
    for target in (before, after):
        heads.append((10 * d_model**0.5 * positions.T @ target, torch.eye(d_model)))
    return heads


def leaks(layer):
    """Whether an output of the layer depends on a later input: change all that comes later, and compare.

    For several lengths, every position, and changes of several sizes.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 5, 33):
        for size in (1.0, 100.0):
            x = torch.randn(4, length, 16, generator=generator)
            before = layer(x)
            for t in range(1, length):
                changed = x.clone()
                changed[:, t:] = size * torch.randn(4, length - t, 16, generator=generator)
                if not torch.allclose(layer(changed)[:, :t], before[:, :t], rtol=1e-5, atol=1e-6):
                    return True
    return False


def count_parameters(vocab_size, d_model, n_heads, d_ff, n_layers):
    """The parameters of a post-norm Transformer with tied weights.

    `n_heads` does not matter: the heads share out the features of one projection. Positions are computed, not learned.
    """
    embedding = vocab_size * d_model  # one table for both languages and the output
    attention = 4 * (d_model + 1) * d_model  # W_Q, W_K, W_V and W_O; the 1 is the bias
    feed_forward = (d_model + 1) * d_ff + (d_ff + 1) * d_model
    norm = 2 * d_model  # weight and bias
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm  # to itself, and to the encoder's output
    return embedding + n_layers * (encoder_layer + decoder_layer)


def is_attention(attend):
    """Whether `attend` does what attention does: compare it with three lines that do, on inputs of several shapes.

    One that raises an error is wrong. Random masks hide about a third, and all of it from the first query.
    """
    generator = torch.Generator().manual_seed(0)
    for axes, n_queries, n_keys, d_k, d_v in (((), 3, 3, 4, 4), ((3,), 5, 4, 9, 2), ((2, 2), 4, 6, 5, 5)):
        for size in (1.0, 100.0):
            query = size * torch.randn(*axes, n_queries, d_k, generator=generator)
            key = torch.randn(*axes, n_keys, d_k, generator=generator)
            value = torch.randn(*axes, n_keys, d_v, generator=generator)
            mask = torch.rand(*axes, n_queries, n_keys, generator=generator) < 2 / 3
            mask[..., 0, :] = False
            scores = (query @ key.mT / d_k**0.5).masked_fill(~mask, float("-inf"))
            weights = scores.softmax(-1).masked_fill(~mask, 0.0)  # no NaN where all is hidden
            try:
                for given, right in zip(attend(query, key, value, mask), (weights @ value, weights), strict=True):
                    if given.shape != right.shape or not torch.allclose(given, right, rtol=1e-3, atol=1e-3):
                        return False
            except Exception:
                return False
    return True


def which_control(experiments):
    """The index of the run that separates a vanishing gradient from collapsed tokens.

    It changes one thing and measures the loss, the failure itself: if it falls, what was undone was a cause.
    """
    failed = experiments[0]["settings"]
    for i, run in enumerate(experiments):
        settings = run["settings"]
        changed = {name: settings[name] for name in failed if settings[name] != failed[name]}
        gradient_is_back = changed == {"gradient": "rescaled"}
        tokens_stay_apart = changed == {"attention": "itself"} and failed["task"] == "copy"  # a sum needs the others
        if run["measures"] == "loss" and (gradient_is_back or tokens_stay_apart):
            return i
    return None


def mend_training_step(weights, tokens, rate, pad_id):
    """One step of gradient descent of a model that says of each token which comes next: `(weights, loss)`.

    Row i of the weights (vocab, vocab) holds the logits of the token behind token i.
    """
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    weights = weights.detach().requires_grad_()
    logits = weights[inputs]  # (B, T - 1, vocab)
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")  # (B · (T - 1),)
    loss = losses[targets.flatten() != pad_id].mean()
    (gradient,) = torch.autograd.grad(loss, weights)
    return weights.detach() - rate * gradient, loss.detach()


def look_at_kind(words):
    """The projections of a head by which a word attends to all words of its kind, which its first three numbers say."""
    d_model = words.size(1)
    kind = torch.eye(d_model)[:, :3]  # keeps the first three numbers, (d_model, 3)
    return 20 * kind, kind  # e^(20 / √3) for the words of the same kind, e^0 for all others


def mend_stack(x, sublayer_1, sublayer_2, norm_1, norm_2, norm_3):
    """Two pre-norm blocks and the norm behind them: what is added up is never normalised in between."""
    x = x + sublayer_1(norm_1(x))
    x = x + sublayer_2(norm_2(x))
    return norm_3(x)


def is_relative(scores):
    """Whether the scores of two tokens depend on their positions by the distance alone: put others before and behind.

    That moves all positions by as much, and leaves every distance as it is.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 6, 40):
        query, key = torch.randn(2, length, 8, generator=generator)
        alone = scores(query, key)
        for before, behind in ((1, 0), (0, 1), (30, 2)):
            first = torch.randn(2, before, 8, generator=generator)
            last = torch.randn(2, behind, 8, generator=generator)
            longer = scores(torch.cat([first[0], query, last[0]]), torch.cat([first[1], key, last[1]]))
            within = slice(before, before + length)
            if not torch.allclose(longer[within, within], alone, rtol=1e-4, atol=1e-4):
                return False
    return True


def is_top_p(cut):
    """Whether `cut` keeps the smallest set of tokens whose probabilities reach p: compare it with a few lines that do.

    A token is kept if all that are more probable do not reach p together.
    """
    generator = torch.Generator().manual_seed(0)
    for shape in ((7,), (3, 5), (2, 3, 12)):
        for p in (0.05, 0.35, 0.6, 0.93):
            logits = 2 * torch.randn(shape, generator=generator) + 1
            probabilities = logits.double().softmax(-1)
            row, column = probabilities[..., :, None], probabilities[..., None, :]
            before = torch.where(column > row, column, 0.0).sum(-1)  # of all that are more probable
            right = logits.masked_fill(before >= p, float("-inf"))
            try:
                given = cut(logits, p)
            except Exception:
                return False
            if given.shape != right.shape or not torch.allclose(given, right):
                return False
    return True


def mend_bigram_loss(train, test, vocab_size):
    """The mean loss of a test text, in nats, by a table of pairs with add-one smoothing that was counted in another."""
    counts = torch.ones(vocab_size, vocab_size)  # each pair once before any is seen
    for left, right in zip(train[:-1].tolist(), train[1:].tolist(), strict=True):
        counts[left, right] += 1
    probabilities = counts / counts.sum(1, keepdim=True)  # (vocab, vocab): each row sums to 1
    return -probabilities[test[:-1], test[1:]].log().mean()


def predict_loss(losses):
    """The loss after 8n steps from those after n, 2n and 4n, where loss = floor + a · steps^-b.

    Each doubling then takes off the same share of what the doubling before it took off: a · (2n)^-b is 2^-b times
    a · n^-b, and the floor falls out of the differences.
    """
    first, second = losses[0] - losses[1], losses[1] - losses[2]
    return losses[2] - second * second / first


def induction_by_hand(n_tokens, n_positions):
    """The matrices of a previous-token head and of an induction head: `(qk_0, ov_0, qk_1, ov_1)`.

    The first writes into each row which token came before. The second looks for the row whose previous token is the
    present one, and copies the token that stands there.
    """
    d_model = 3 * n_tokens + n_positions
    qk_0, ov_0, qk_1, ov_1 = torch.zeros(4, d_model, d_model)
    token, position, previous, following = torch.arange(d_model).split([n_tokens, n_positions, n_tokens, n_tokens])
    qk_0[position[1:], position[:-1]] = 50  # the query of position t, the key of position t - 1
    ov_0[token, previous] = 1
    qk_1[token, previous] = 50
    qk_1[token, position[0]] = -50  # nothing came before position 0: it has looked at itself
    ov_1[token, following] = 1
    return qk_0, ov_0, qk_1, ov_1


def head_matters(model, head):
    """Whether some probability changes by more than 0.001 when the head alone is taken away.

    Tried on random texts of several lengths, in which every token comes again sooner or later.
    """
    generator = torch.Generator().manual_seed(0)
    for length in (2, 40):
        tokens = torch.randint(10, (50, length), generator=generator)
        with_it, without_it = (model(tokens, gone)[0].softmax(-1) for gone in ([], [head]))
        if (with_it - without_it).abs().max() > 0.001:
            return True
    return False


def mend_rotary_cache(query, key, value, cache, rotate):
    """One step of rotary attention with a cache: `(output, cache)`.

    Query and key are turned once, by the new position; what is in the cache was turned when it came in. Values are not.
    """
    position = cache.size(-2)
    query, key = rotate(query, position), rotate(key, position)
    cache = torch.cat([cache, torch.stack([key, value])], dim=-2)
    keys, values = cache
    weights = (query @ keys.mT / query.size(-1) ** 0.5).softmax(-1)
    return weights @ values, cache


def mend_loading(tokens, word, types, w_qkv, w_out, n_heads, eps, rotate):
    """The first layer of a published model, out of its tensors: (T,) tokens → (T, d_model).

    `rotate` turns the features 2i and 2i + 1 of a head together; in these tensors i and i + d_head / 2 belong together.
    """
    x = word[tokens] + types[0]  # (T, d_model)
    parts = (x @ w_qkv).unflatten(-1, (3, n_heads, -1))  # (T, 3, h, d_head): W_Q, W_K and W_V lie side by side
    query, key, value = parts.permute(1, 2, 0, 3)  # (h, T, d_head) each
    query, key = (part.unflatten(-1, (2, -1)).mT.flatten(-2) for part in (query, key))  # halves to neighbours
    weights = (rotate(query) @ rotate(key).mT / query.size(-1) ** 0.5).softmax(-1)  # (h, T, T)
    heads = (weights @ value).transpose(0, 1).flatten(-2)  # (T, d_model)
    return F.layer_norm(x + heads @ w_out.T, x.shape[-1:], eps=eps)


def loaded_right(ours, theirs):
    """Whether a model gives the tokens of every text the vectors of the original: short and long, padded and not.

    Random texts of both types. What stands at padding means nothing, and is not compared.
    """
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 10, (60, 40), generator=generator)
    types = torch.randint(2, (60, 40), generator=generator)
    lengths = torch.randint(1, 41, (60, 1), generator=generator)
    lengths[0] = 40  # one text without padding, that all positions are tried
    tokens[torch.arange(40) >= lengths] = 0
    difference = (ours(tokens, types) - theirs(tokens, types)).abs()  # (60, 40, 4)
    return bool(difference[tokens != 0].max() <= 1e-4)


def mend_tiles(query, key, value, tile):
    """Attention of (T, d_k) queries to (S, d_k) keys and (S, d_v) values, `tile` keys at a time."""
    maximum = query.new_full(query.shape[:1], float("-inf"))  # (T,)
    total = torch.zeros_like(maximum)  # (T,)
    output = query.new_zeros(query.size(0), value.size(1))  # (T, d_v)
    for start in range(0, key.size(0), tile):
        scores = query @ key[start : start + tile].T / query.size(1) ** 0.5  # (T, s)
        larger = torch.maximum(maximum, scores.amax(1))
        weights = torch.exp(scores - larger[:, None])
        rescale = torch.exp(maximum - larger)
        total = total * rescale + weights.sum(1)
        output = output * rescale[:, None] + weights @ value[start : start + tile]
        maximum = larger
    return output / total[:, None]
