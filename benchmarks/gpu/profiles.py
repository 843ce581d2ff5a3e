"""Rows of the GPU benchmark that record profiles: the kernels that take the time of decoding and of an update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .decoding import sample
from .setup import Figure, Setup
from .steps import LR, make_update, reward

STEPS = 8
"""Number of decoding steps in a profile, one block of the engine."""
_ROWS, _WIDTH = 25, 100


def profile_decoding(setup: Setup) -> list[Figure]:
    """Profile eight decoding steps; the 25 kernels that take longest are written to a file."""
    from ...agents.engines.sampler import Request

    batch, new = next(iter(setup.sizes.batches)), 3 * STEPS
    engine = setup.make_engine(setup.make_model(), batch, setup.sizes.prompt + new)
    prompts = setup.make_prompts(batch)
    sample(setup, engine, prompts, new)  # allocates, and captures where the engine does
    for session, ids in enumerate(prompts):
        engine.submit(Request(session, ids, new))
    engine.step(lambda: True)  # encodes

    def decode() -> None:
        for _ in range(-(-STEPS // engine.block)):
            engine.step(lambda: True)

    return _profile(setup, f"{STEPS} decoding steps of {batch} rows", "profile-decoding.txt", decode)


def profile_update(setup: Setup) -> list[Figure]:
    """Profile one update; the 25 kernels that take longest are written to a file."""
    sizes = setup.sizes
    model = setup.make_model()
    update = make_update(setup, model)
    prompts = [p for p in setup.make_prompts(sizes.prompts) for _ in range(sizes.samples)]
    engine = setup.make_engine(model, len(prompts))
    groups = reward(setup, prompts, sample(setup, engine, prompts, sizes.new), 0)
    engine.sleep()
    update.run(groups, [], rate=LR)
    note = f"one update of {len(prompts)} answers of {sizes.new} tokens"
    return _profile(setup, note, "profile-update.txt", lambda: update.run(groups, [], rate=LR))


def _profile(setup: Setup, what: str, file: str, work: Callable[[], Any]) -> list[Figure]:
    """Time a piece of work without the profiler, and return this time, the profiled time of all kernels, and the share
    of the longest kernel in it."""
    from torch.profiler import ProfilerActivity, profile

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if setup.cuda else [])]
    wall = setup.seconds(work)
    with profile(activities=activities) as recorded:
        took = setup.seconds(work)
    # Kernels on a GPU, or operations on a CPU. On a GPU, operations (events of the type CPU) are left out, because they
    # repeat the time of the kernels that they launch.
    events = [event for event in recorded.key_averages() if not setup.cuda or event.device_type.name == "CUDA"]
    own = "self_device_time_total" if setup.cuda else "self_cpu_time_total"
    kernels = sorted(((e.key, getattr(e, own), e.count) for e in events), key=lambda kernel: -kernel[1])
    if not kernels:
        return [Figure(f"profile of {what}", note="missing: the profiler recorded no kernel")]
    busy = sum(kernel[1] for kernel in kernels) / 1e6
    Path(setup.folder, file).write_text(format_kernels(what, took, kernels), encoding="utf-8")
    first, its, _ = kernels[0]
    note = f"{len(kernels)} kernels, {sum(kernel[2] for kernel in kernels):,} launches; table in {file}"
    return [
        Figure(f"profile of {what}", 1e3 * wall, "ms", note=note),
        Figure(f"kernels of {what}", 1e3 * busy, "ms"),
        Figure(f"share of the longest, {what}", its / 1e6 / busy, "", note=first[:_WIDTH]),
    ]


def format_kernels(what: str, seconds: float, kernels: list[tuple[str, float, int]]) -> str:
    """Format a table of the kernels that take longest, in the order given."""
    total = sum(kernel[1] for kernel in kernels)
    lines = [f"{what}: {1e3 * seconds:.3g} ms under the profiler, {total / 1e3:.3g} ms of kernels", ""]
    lines += [f"{'share':>6} {'ms':>10} {'launches':>9}  kernel"]
    for name, micros, count in kernels[:_ROWS]:
        lines.append(f"{micros / max(total, 1e-9):>6.1%} {micros / 1e3:>10.3f} {count:>9,}  {name[:_WIDTH]}")
    if len(kernels) > _ROWS:
        rest = kernels[_ROWS:]
        micros, count = sum(kernel[1] for kernel in rest), sum(kernel[2] for kernel in rest)
        lines.append(f"{micros / max(total, 1e-9):>6.1%} {micros / 1e3:>10.3f} {count:>9,}  {len(rest)} others")
    return "\n".join(lines) + "\n"
