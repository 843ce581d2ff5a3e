"""Rows of the GPU benchmark that compare single computations with a plain reference in single precision: attention over
the cache, log-probabilities of the output head, drawing of tokens, and the optimiser's step."""

from __future__ import annotations

from typing import Any

from .setup import KERNEL_HALF, KERNEL_SINGLE, Figure, Setup


def compare_kernels(setup: Setup) -> list[Figure]:
    """Compare all kernels with their references. A kernel that fails gives a figure with the error as its note."""
    lines = []
    for name, compare in (
        ("attention over the cache", _compare_cache),
        ("log-probabilities of the head", _compare_head),
        ("drawn tokens", _compare_draws),
        ("optimiser step", _compare_optimizer),
    ):
        try:
            lines += compare(setup)
        except Exception as error:
            lines.append(Figure(name, note=f"missing: {type(error).__name__}: {error}".partition("\n")[0][:300]))
    return lines


def _measure(setup: Setup, name: str, found: Any, wanted: Any, note: str = "") -> Figure:
    """Return the largest difference between a result and its reference, as a share of the reference's largest value."""
    gap = float((found.float() - wanted.float()).abs().max() / wanted.float().abs().max())
    most = KERNEL_HALF if setup.half else KERNEL_SINGLE
    return Figure(name, gap, "of the largest value", most, most=True, note=note)


def _compare_cache(setup: Setup) -> list[Figure]:
    """Compare attention of new conversations, of a second turn and of a decoding step, as added to the engine's
    cache."""
    import torch

    from ...agents.engines.cache import KeyValueCache
    from ...agents.language.attention import AttentionShape, attend_causally

    sizes = setup.sizes.model
    heads, kv_heads = sizes["num_attention_heads"], sizes["num_key_value_heads"]
    shape = AttentionShape(1, heads, kv_heads, sizes["hidden_size"] // heads)
    rows, width = 8, setup.sizes.prompt
    like = torch.empty(0, device=setup.device, dtype=torch.bfloat16 if setup.half else torch.float32)
    cache = KeyValueCache(shape, rows, 2 * width + 1, like, fixed=True)
    first = [width - 3 * (row % 2) for row in range(rows)]
    second = [width - 2 * (row % 3) for row in range(rows)]
    lengths = [a + b + 1 for a, b in zip(first, second, strict=True)]
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(sum(lengths), n, shape.head_dim, generator=generator).to(like) for n in (heads, kv_heads, kv_heads)
    )
    wanted = attend_causally(lengths)(0, q.float(), k.float(), v.float()).split(lengths)

    def add(filled: list[int], added: list[int], attend: Any) -> list[Any]:
        parts = []
        for each in (q, k, v):
            whole = like.new_zeros((rows, max(added), *each.shape[1:]))
            for row, (tokens, low, count) in enumerate(zip(each.split(lengths), filled, added, strict=True)):
                whole[row, :count] = tokens[low : low + count]
            parts.append(whole.flatten(0, 1))
        mixed = attend(0, *parts).unflatten(0, (rows, max(added)))
        return [mixed[row, :count] for row, count in enumerate(added)]

    lines, filled = [], [0] * rows
    with torch.inference_mode():
        for name, added in (("new conversations", first), ("a second turn", second), ("a decoding step", [1] * rows)):
            if max(added) == 1:
                attend = cache.prepare_step(torch.tensor(filled, device=setup.device), max(filled) + 1)
            else:
                attend = cache.prepare_extension(range(rows), filled, added)[1]
            found = torch.cat(add(filled, added, attend))
            right = torch.cat([each[a : a + b] for each, a, b in zip(wanted, filled, added, strict=True)])
            lines.append(_measure(setup, f"attention over the cache, {name}", found, right))
            filled = [a + b for a, b in zip(filled, added, strict=True)]
    return lines


def _compare_head(setup: Setup) -> list[Figure]:
    """Compare log-probabilities computed in chunks, and their gradients."""
    import torch

    from ...agents.grpo.batch.logprobs import token_logps

    sizes, generator = setup.sizes, torch.Generator().manual_seed(0)
    vocabulary, width = sizes.model["vocab_size"], sizes.model["hidden_size"]
    dtype = torch.bfloat16 if setup.half else torch.float32
    hidden = torch.randn(sizes.row, width, generator=generator).to(setup.device, dtype)
    weight = (torch.randn(vocabulary, width, generator=generator) / width**0.5).to(setup.device, dtype)
    targets = torch.randint(0, vocabulary, (sizes.row,), generator=generator).to(setup.device)
    slope = torch.randn(sizes.row, generator=generator).to(setup.device)
    found = []
    for exact in (False, True):
        h, w = (x.float() if exact else x for x in (hidden, weight))
        h, w = h.clone().requires_grad_(), w.clone().requires_grad_()
        logps = (h @ w.T).log_softmax(-1) if exact else None
        logp = token_logps(h, w, targets)[0] if logps is None else logps.gather(-1, targets[:, None])[:, 0]
        found.append([logp.detach(), *torch.autograd.grad((logp * slope).sum(), (h, w))])
    names = ("log-probabilities of the head", "gradient of hidden states", "gradient of the output matrix")
    return [_measure(setup, name, a, b) for name, a, b in zip(names, *found, strict=True)]


def _compare_draws(setup: Setup) -> list[Figure]:
    """Compare tokens and noise drawn on the device and on a CPU from the same logits."""
    import torch

    from ...agents.engines.drawing import draw_tokens
    from ...agents.engines.noise import uniforms

    generator = torch.Generator().manual_seed(0)
    rows = 64
    logits = torch.randn(rows, setup.sizes.model["vocab_size"], generator=generator) * 2
    keys = torch.randint(0, 1 << 32, (2, rows), generator=generator)
    at = torch.arange(rows)[None]
    noise = [uniforms(keys.to(place), at.to(place))[0].cpu() for place in ("cpu", setup.device)]
    tokens = [draw_tokens(logits.to(place), noise[0].to(place))[0].cpu() for place in ("cpu", setup.device)]
    noises, draws = (float((a != b).double().mean()) for a, b in (noise, tokens))
    return [
        Figure("noise on the device and on a CPU differs in", noises, "of the numbers", 0.0, most=True),
        # Cumulative sums in another order may round differently, and reach the noise one id earlier or later.
        Figure("tokens drawn on the device and on a CPU differ in", draws, "of the tokens", 0.05, most=True),
    ]


def _compare_optimizer(setup: Setup) -> list[Figure]:
    """Compare two steps of AdamW from the same weights and gradients with torch's on a CPU in single precision."""
    import torch

    from ...agents.grpo.optimizers import make_optimizer

    generator = torch.Generator().manual_seed(0)
    dtype = torch.bfloat16 if setup.half else torch.float32
    start = torch.randn(256, 256, generator=generator).to(dtype)
    gradients = [torch.randn(256, 256, generator=generator) for _ in range(2)]
    ours = start.clone().to(setup.device).requires_grad_()
    theirs = start.clone().float().requires_grad_()
    sides = [(ours, make_optimizer([ours], lr=1e-2)), (theirs, torch.optim.AdamW([theirs], lr=1e-2, weight_decay=0.0))]
    for gradient in gradients:
        for weight, optimizer in sides:
            weight.grad = gradient.to(weight)
            optimizer.step()
    moved = theirs.detach() - start.float()
    found = ours.detach().cpu().float() - start.float()
    # In half precision a weight near 4 can only move in steps of its last bit, hence the large bound.
    gap = float((found - moved).abs().mean() / moved.abs().mean())
    most = 0.5 if setup.half else KERNEL_SINGLE
    return [Figure("change of weights in two optimiser steps, difference", gap, "of the change", most, most=True)]
