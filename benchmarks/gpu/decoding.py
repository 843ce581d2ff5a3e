"""Rows of the GPU benchmark on sampling: tokens per second compared with ``generate``, agreement of captured and eager
steps, and the saving from sharing a group's prompt."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..harness import Spread
from .setup import GAP_HALF, GAP_SINGLE, SHARE_OF_ESTIMATE, TIMES_GENERATE, Figure, Setup

_LONG = 4
"""Length of the prompts of groups, in multiples of the shape's prompt length."""
_WAVES = 3
"""Number of requests per row in the measurement with refilled rows."""
_TURNS = 3


def sample(setup: Setup, engine: Any, prompts: list[list[int]], new: int, temperature: float = 1.0) -> list[Any]:
    """Sample ``new`` tokens after each prompt; return completions in the order of the prompts."""
    from ...agents.engines.sampler import Request

    for session, ids in enumerate(prompts):
        engine.submit(Request(session, ids, new, temperature))
    found: dict[int, Any] = {}
    while len(found) < len(prompts):
        found |= {completion.session: completion for completion in engine.step()}
    for session in found:
        engine.close(session)
    return [found[session] for session in range(len(prompts))]


def measure_decoding(setup: Setup, batch: int) -> list[Figure]:
    """Measure the engine's tokens per second without encoding prompts, and its whole time compared with
    ``generate``."""
    import torch

    sizes = setup.sizes
    model, prompts = setup.make_model(), setup.make_prompts(batch)
    engine = setup.make_engine(model, batch)
    sample(setup, engine, prompts, sizes.new)  # allocates, and captures where the engine does
    setup.begin_peak()
    whole = min(setup.seconds(lambda: sample(setup, engine, prompts, sizes.new)) for _ in range(2))
    first = min(setup.seconds(lambda: sample(setup, engine, prompts, 1)) for _ in range(2))
    rate, floor, note = batch * (sizes.new - 1) / max(whole - first, 1e-9), None, ""
    if setup.floors_count and sizes.batches[batch]:
        factor, note = setup.scale()
        floor = SHARE_OF_ESTIMATE * sizes.batches[batch] * factor
    peak = setup.peak_gb()
    lines = [Figure(f"decoding, batch {batch}", rate, "tokens/s", floor, note=note)]
    lines.append(Figure(f"prompts, batch {batch}", batch * sizes.prompt / first, "tokens/s"))
    if peak is not None:
        lines.append(Figure(f"peak memory of decoding, batch {batch}", peak, "GB"))
    engine = None  # frees its cache before generate allocates one
    ids = torch.tensor(prompts, device=setup.device)
    options = {"do_sample": True, "top_k": 0, "min_new_tokens": sizes.new, "max_new_tokens": sizes.new}
    with torch.inference_mode():
        slow = setup.seconds(
            lambda: model.generate(ids, attention_mask=torch.ones_like(ids), pad_token_id=0, **options)
        )
    ratio_floor = TIMES_GENERATE if setup.floors_count else None
    note = f"a wave in {whole:.2f} s, generate in {slow:.2f} s"
    name = f"generate's time against ours, batch {batch}"
    return [*lines, Figure(name, slow / whole, "times", ratio_floor, note=note)]


def compare_captured(setup: Setup) -> list[Figure]:
    """Compare log-probabilities of captured and eager decoding steps from the same noise; on a CPU, of static and other
    shapes.

    Matrix products may round differently, and one different token changes all that follow in its conversation. So
    log-probabilities are compared up to the first different token, and the number of different tokens is only reported.
    """
    from ...agents.engines.graphs import CudaCapture, NoCapture

    sides = (NoCapture, partial(CudaCapture, torch_device(setup))) if setup.cuda else (None, NoCapture)
    kinds = "captured and eager" if setup.cuda else "static and other"
    model, prompts = setup.make_model(), setup.make_prompts(min(32, max(setup.sizes.batches)))
    found = []
    for capture in sides:
        engine = setup.make_engine(model, len(prompts), capture=capture)
        engine.seed(0)
        found.append(sample(setup, engine, prompts, setup.sizes.new))
    return compare_completions(kinds, *found, most=GAP_HALF if setup.half else GAP_SINGLE)


def compare_completions(kinds: str, some: Sequence[Any], others: Sequence[Any], most: float) -> list[Figure]:
    """Compare two sides' completions of the same requests: count the tokens that differ, and measure the difference of
    log-probabilities before the first different token.

    Args:
        kinds: names of the two sides.
        most: largest accepted mean difference of log-probabilities, nats per token.
    """
    gaps: list[float] = []
    differ = tokens = 0
    for one, other in zip(some, others, strict=True):
        same = [a == b for a, b in zip(one.ids, other.ids, strict=True)]
        differ += same.count(False)
        tokens += len(same)
        until = same.index(False) if False in same else len(same)
        gaps += [abs(a - b) for a, b in zip(one.logps[:until], other.logps[:until], strict=True)]
    parted = sum(one.ids != other.ids for one, other in zip(some, others, strict=True))
    note = f"{differ:,} of {tokens:,} tokens, in {parted} of {len(some)} conversations"
    lines = [Figure(f"{kinds} decoding differ in", differ / tokens, "of the tokens", note=note)]
    name = f"log-probabilities of {kinds} decoding, difference"
    if not gaps:
        return [*lines, Figure(name, note="missing: every conversation differs from its first token on")]
    note = f"up to where tokens differ, {len(gaps):,} tokens; largest {max(gaps):.2g}"
    return [*lines, Figure(name, sum(gaps) / len(gaps), "nats a token", most, most=True, note=note)]


def compare_shared(setup: Setup) -> list[Figure]:
    """Compare the time of decoding with a copy of the group's prompt in each row and with one shared prompt."""
    sizes = setup.sizes
    model, batch = setup.make_model(), next(iter(sizes.batches))
    prompts = setup.make_prompts(batch // sizes.samples or 1, times=_LONG)
    rows = [prompt for prompt in prompts for _ in range(sizes.samples)]
    rounds, ids = [], []
    for share_above in (math.inf, 0.0):
        engine = setup.make_engine(model, len(rows), len(rows[0]), share_above=share_above)
        engine.seed(0)
        found = sample(setup, engine, rows, sizes.new)  # allocates, and captures where the engine does
        ids.append([token for completion in found for token in completion.ids])
        timed = [[setup.seconds(partial(sample, setup, engine, rows, n)) for n in (sizes.new, 1)] for _ in range(3)]
        rounds.append([max(whole - first, 1e-9) for whole, first in timed])
        engine = None  # frees its cache before the next engine allocates one
    same = sum(a == b for a, b in zip(*ids, strict=True)) / len(ids[0])
    name = f"decoding time with copied prompts against shared ones, {len(prompts)} groups of {sizes.samples}"
    copied, shared = map(statistics.median, rounds)
    note = f"prompts of {len(rows[0])} tokens; {copied:.3g} s and {shared:.3g} s; {same:.1%} of the tokens are the same"
    return [ratio_of(name, *rounds, note=note)]


def ratio_of(
    name: str, above: Sequence[float], below: Sequence[float], floor: float | None = None, note: str = ""
) -> Figure:
    """Return the ratio of two sides' times as a figure: median and quartiles of the ratios within each round."""
    ratios = [a / b for a, b in zip(above, below, strict=False)]
    spread = Spread.of(ratios)
    said = spread.show(".3g")[1] + (f"; {note}" if note else "")
    return Figure(name, spread.median, "times", floor, note=said, rounds=ratios)


def measure_ragged(setup: Setup) -> list[Figure]:
    """Compare decoding of answers of geometric lengths, with refilled rows, and of full length; time the captures."""
    from ..learner.our_side import stop_after

    sizes = setup.sizes
    slots = next(iter(sizes.batches))
    model, stop = setup.make_model(), 2
    prompts = setup.make_prompts(_WAVES * slots)
    rates, notes = [], []
    for stops in ((), (stop,)):
        if stops:
            stop_after(model, stop, max(2, sizes.new // 4))
        seconds: list[float] = []
        capture = partial(time_captures, setup, seconds) if setup.cuda else None  # on a CPU nothing is captured
        engine = setup.make_engine(model, slots, stops=stops, capture=capture)
        sample(setup, engine, prompts[:slots], sizes.new)
        found: list[Any] = []
        took = setup.seconds(lambda engine=engine, found=found: found.extend(sample(setup, engine, prompts, sizes.new)))
        tokens = sum(len(completion.ids) for completion in found)
        rates.append(tokens / took)
        captures = f"{len(seconds)} captures in {sum(seconds):.3g} s"
        notes.append(f"{tokens / len(found):.0f} tokens an answer, {captures}")
        engine = None
    full, ragged = rates
    name = f"tokens a second, {slots} rows refilled from {len(prompts)}"
    lines = [
        Figure(f"{name}, full length", full, "tokens/s", note=notes[0]),
        Figure(f"{name}, geometric lengths", ragged, "tokens/s", note=notes[1]),
    ]
    if seconds:
        lines.append(Figure("capture of a decoding step", 1e3 * statistics.median(seconds), "ms"))
    return lines


def time_captures(setup: Setup, seconds: list[float]) -> Any:
    """Return a capture function as the engine's own that appends the seconds of each capture to ``seconds``."""
    from ...agents.engines.graphs import CudaCapture

    inner = CudaCapture(torch_device(setup))

    def capture(step: Any) -> Any:
        replay: list[Any] = []
        seconds.append(setup.seconds(lambda: replay.append(inner(step))))
        return replay[0]

    return capture


def measure_turns(setup: Setup) -> list[Figure]:
    """Measure conversations of three turns: tokens per second, and the speed of reading a first and a second turn."""
    from ...agents.engines.sampler import Request

    sizes = setup.sizes
    rows, new = next(iter(sizes.batches)), max(1, sizes.new // 4)
    turns = [setup.make_prompts(rows, seed=turn) for turn in range(_TURNS)]
    engine = setup.make_engine(setup.make_model(), rows, _TURNS * (sizes.prompt + new))

    def play() -> int:
        played, tokens = dict.fromkeys(range(rows), 1), 0
        for session in played:
            engine.submit(Request(session, turns[0][session], new))
        while played:
            for completion in engine.step():
                session, tokens = completion.session, tokens + len(completion.ids)
                if played[session] == _TURNS:
                    engine.close(session)
                    del played[session]
                else:
                    engine.submit(Request(session, turns[played[session]][session], new))
                    played[session] += 1
        return tokens

    def read(turn: int) -> None:
        for session in range(rows):
            engine.submit(Request(session, turns[turn][session], 1))
        left = rows
        while left:
            left -= len(engine.step())

    play()  # allocates, and captures where the engine does
    took = setup.seconds(play)
    rates = [rows * sizes.prompt / setup.seconds(partial(read, turn)) for turn in range(2)]
    for session in range(rows):
        engine.close(session)
    note = f"{rows} conversations, {sizes.prompt} tokens read and {new} sampled a turn"
    return [
        Figure(f"conversations of {_TURNS} turns", rows * _TURNS * new / took, "tokens/s", note=note),
        Figure("a first turn is read at", rates[0], "tokens/s"),
        Figure("a second turn is read at", rates[1], "tokens/s"),
    ]


def torch_device(setup: Setup) -> Any:
    import torch

    return torch.device(setup.device)
