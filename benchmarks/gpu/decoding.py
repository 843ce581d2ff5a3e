"""Rows of the GPU benchmark on sampling: tokens per second against ``generate``, agreement of captured steps, and the
saving from sharing a group's prompt."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from ..harness import Spread
from .setup import GAP_HALF, GAP_SINGLE, SHARE_OF_ESTIMATE, TIMES_GENERATE, Figure, Setup

_LONG = 4
"""Prompts of groups are so many times as long as the shape's."""
_WAVES = 3
"""Requests for each row where rows are refilled."""
_TURNS = 3


def sample(setup: Setup, engine: Any, prompts: list[list[int]], new: int, temperature: float = 1.0) -> list[Any]:
    """Sample ``new`` tokens after each prompt; completions in order of the prompts."""
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
    if setup.floors_count and sizes.batches[batch]:
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
    name = f"generate's time against ours, batch {batch}"
    return [*lines, Figure(name, slow / whole, "times", ratio_floor, note=note)]


def compare_captured(setup: Setup) -> list[Figure]:
    """Log-probabilities of captured decoding steps beside eager ones, from the same noise; on a CPU, of steps of static
    shapes, as they would be captured, beside others.

    Products of matrices may round differently, and one token that is drawn otherwise changes all that follow in its
    conversation. So log-probabilities are compared up to there, and the number of other tokens is only reported.
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
    """Time of decoding where each row has a copy of its group's prompt, against that where the group shares one."""
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
        engine = None  # its cache goes before the next one takes one
    same = sum(a == b for a, b in zip(*ids, strict=True)) / len(ids[0])
    name = f"decoding time with copied prompts against shared ones, {len(prompts)} groups of {sizes.samples}"
    copied, shared = map(statistics.median, rounds)
    note = f"prompts of {len(rows[0])} tokens; {copied:.3g} s and {shared:.3g} s; {same:.1%} of the tokens are the same"
    return [ratio_of(name, *rounds, note=note)]


def ratio_of(
    name: str, above: Sequence[float], below: Sequence[float], floor: float | None = None, note: str = ""
) -> Figure:
    """The ratio of two sides' times: median and quartiles of the ratios within a round."""
    ratios = [a / b for a, b in zip(above, below, strict=False)]
    spread = Spread.of(ratios)
    said = spread.show(".3g")[1] + (f"; {note}" if note else "")
    return Figure(name, spread.median, "times", floor, note=said, rounds=ratios)


def measure_ragged(setup: Setup) -> list[Figure]:
    """Decoding of answers of geometric lengths, whose rows are refilled, beside answers of full length; and the time
    that captures take."""
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
    """Capture decoding steps as the engine would by itself, and keep the time that each took."""
    from ...agents.engines.graphs import CudaCapture

    inner = CudaCapture(torch_device(setup))

    def capture(step: Any) -> Any:
        replay: list[Any] = []
        seconds.append(setup.seconds(lambda: replay.append(inner(step))))
        return replay[0]

    return capture


def measure_turns(setup: Setup) -> list[Figure]:
    """Conversations of three turns: tokens a second in all, and how fast a second turn is read beside a first one."""
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
