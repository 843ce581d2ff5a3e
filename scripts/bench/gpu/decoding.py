"""Rows of the GPU benchmark on sampling: tokens a second beside ``generate``, whether captured steps agree, and what it
saves to hold the prompts of groups once."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from .setup import SHARE_OF_ESTIMATE, TIMES_GENERATE, Figure, Setup

_LONG = 4
"""Prompts of groups are so many times as long as the shape's."""


def sample(setup: Setup, engine: Any, prompts: list[list[int]], new: int, temperature: float = 1.0) -> list[Any]:
    """Sample ``new`` tokens after each prompt; completions in order of the prompts."""
    from ....agents.engines.sampler import Request

    for session, ids in enumerate(prompts):
        engine.submit(Request(session, ids, new, temperature))
    found: dict[int, Any] = {}
    while len(found) < len(prompts):
        found |= {completion.session: completion for completion in engine.step()}
    for session in found:
        engine.close(session)
    return [found[session] for session in range(len(prompts))]


def measure_decoding(setup: Setup, batch: int) -> list[Figure]:
    """Tokens a second of the engine, without the prompts, and of all of a wave against ``generate``."""
    import torch

    sizes = setup.sizes
    model, prompts = setup.make_model(), setup.make_prompts(batch)
    engine = setup.make_engine(model, batch)
    sample(setup, engine, prompts, sizes.new)  # allocates, and captures where the engine does
    setup.begin_peak()
    whole = min(setup.seconds(lambda: sample(setup, engine, prompts, sizes.new)) for _ in range(2))
    first = min(setup.seconds(lambda: sample(setup, engine, prompts, 1)) for _ in range(2))
    rate, floor, note = batch * (sizes.new - 1) / max(whole - first, 1e-9), None, ""
    if setup.floors_count:
        factor, note = setup.scale()
        floor = SHARE_OF_ESTIMATE * sizes.batches[batch] * factor
    peak = setup.peak_gb()
    lines = [Figure(f"decoding, batch {batch}", rate, "tokens/s", floor, note=note)]
    lines.append(Figure(f"prompts, batch {batch}", batch * sizes.prompt / first, "tokens/s"))
    if peak is not None:
        lines.append(Figure(f"peak memory of decoding, batch {batch}", peak, "GB"))
    engine = None  # its cache goes before generate takes one
    ids = torch.tensor(prompts, device=setup.device)
    options = {"do_sample": True, "top_k": 0, "min_new_tokens": sizes.new, "max_new_tokens": sizes.new}
    with torch.inference_mode():
        slow = setup.seconds(
            lambda: model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **options)
        )
    ratio_floor = TIMES_GENERATE if setup.floors_count else None
    note = f"a wave in {whole:.2f} s, generate in {slow:.2f} s"
    return [
        *lines,
        Figure(f"generate's time against ours, batch {batch}", slow / whole, "times", ratio_floor, note=note),
    ]


def compare_captured(setup: Setup) -> list[Figure]:
    """Whether captured decoding steps sample what eager ones do, from the same noise; on a CPU, whether steps of static
    shapes, as they would be captured, sample what others do."""
    from ....agents.engines.graphs import CudaCapture, NoCapture

    sides = (NoCapture, CudaCapture) if setup.cuda else (None, NoCapture)
    name = f"{'captured and eager' if setup.cuda else 'static and other'} decoding differ in"
    model, prompts = setup.make_model(), setup.make_prompts(32)
    ids, logps = [], []
    for capture in sides:
        engine = setup.make_engine(model, 32, capture=capture)
        engine.seed(0)
        found = sample(setup, engine, prompts, setup.sizes.new)
        ids.append([token for completion in found for token in completion.ids])
        logps.append([logp for completion in found for logp in completion.logps])
    differ = sum(a != b for a, b in zip(*ids, strict=True))
    gap = max(abs(a - b) for a, b in zip(*logps, strict=True))
    note = f"largest difference of a log-probability {gap:.2g} nats"
    return [Figure(name, differ / len(ids[0]), "of the tokens", 0.0, most=True, note=note)]


def compare_shared(setup: Setup) -> list[Figure]:
    """Time of decoding where each row has a copy of its group's prompt, against that where the group shares one."""
    sizes = setup.sizes
    model, batch = setup.make_model(), next(iter(sizes.batches))
    prompts = setup.make_prompts(batch // sizes.samples, times=_LONG)
    rows = [prompt for prompt in prompts for _ in range(sizes.samples)]
    took, ids = [], []
    for share_above in (math.inf, 0.0):
        engine = setup.make_engine(model, len(rows), len(rows[0]), share_above=share_above)
        engine.seed(0)
        found = sample(setup, engine, rows, sizes.new)  # allocates, and captures where the engine does
        ids.append([token for completion in found for token in completion.ids])
        whole, first = (
            min(setup.seconds(partial(sample, setup, engine, rows, n)) for _ in range(3)) for n in (sizes.new, 1)
        )
        took.append(max(whole - first, 1e-9))
        engine = None  # its cache goes before the next one takes one
    same = sum(a == b for a, b in zip(*ids, strict=True)) / len(ids[0])
    name = f"decoding time with copied prompts against shared ones, {len(prompts)} groups of {sizes.samples}"
    note = (
        f"prompts of {len(rows[0])} tokens; {took[0]:.3g} s and {took[1]:.3g} s; {same:.1%} of the tokens are the same"
    )
    return [Figure(name, took[0] / took[1], "times", note=note)]
