"""``palaestra bench processes``: an update shared by several processes, compared with the same update by one process.

Each side has separate processes and takes the same optimiser steps on the same ready-made episodes; the sides take
turns, in reversed order every other round. Each process has the same number of threads. "Training" is the whole update:
weighting, forward and backward passes, the sum of gradients, the optimiser step, and sending the new weights to the
other processes. Processor time is that of the leader (rank 0), which excludes the work of the other processes. Memory
is the largest resident memory beyond that of the libraries.

With --shard there is a third side, whose processes each hold a part of the weights, gradients and optimiser state.

examples:
  palaestra bench processes
  palaestra bench processes --shard --hidden 512 --layers 8 --prompts 4 --rounds 2
  palaestra bench processes --rounds 20 --json processes.json
  palaestra bench processes --processes 4 --threads 2 --prompts 32
"""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_count
from ..errors import InputError
from ..scripts.train_ranks import run_in_processes
from .harness import Side, Spread, compare, format_markdown, progress, read_options, write_json
from .ready_made import make_groups

HEAD_DIM = 32
"""Width of an attention head of the model."""


@dataclass(frozen=True)
class ProcessesBenchOptions:
    processes: int = 2
    """Number of processes that share the update."""
    shard: bool = False
    """Also measure processes that split the model (palaestra train --shard)."""
    threads: int = 1
    """CPU threads of each process."""
    hidden: int = 128
    """Width of the model, a multiple of 64."""
    layers: int = 4
    """Number of layers of the model."""
    prompts: int = 16
    """Number of prompts of a step."""
    samples: int = 8
    """Number of completions of each prompt."""
    prompt_tokens: int = 32
    """Number of tokens of a prompt."""
    new_tokens: int = 64
    """Number of tokens of a completion."""
    rounds: int = 5
    """Number of turns of each side."""
    updates: int = 3
    """Number of timed updates in a turn."""
    warmup: int = 1
    """Number of untimed updates before them."""
    json: Path | None = None
    """Write all times here."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            if item.name not in ("json", "shard"):
                least = {"processes": 2, "samples": 2, "warmup": 0}.get(item.name, 1)
                check_count(item.name, getattr(self, item.name), least)
        if self.hidden % (2 * HEAD_DIM):
            raise InputError(f"hidden must be a multiple of {2 * HEAD_DIM}, not {self.hidden}.")

    @property
    def sides(self) -> dict[str, tuple[int, bool]]:
        """Name of a side -> (number of processes, True if they split the model)."""
        several = f"{self.processes} processes"
        split = {f"{several}, --shard": (self.processes, True)} if self.shard else {}
        return {"one process": (1, False), several: (self.processes, False), **split}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    from rich.console import Console

    options = read_options(ProcessesBenchOptions, "processes", argv, __doc__)

    def measure(side: str, number: int) -> list[dict[str, Any]]:
        found = run_in_processes(take_turn, (options, side), options.sides[side][0])
        return [{"side": side, "round": number * options.updates + i, **row} for i, row in enumerate(found)]

    sides = [Side(name, functools.partial(measure, name)) for name in options.sides]
    with progress(options.rounds * len(sides), "turns") as advance:
        measured = compare(sides, options.rounds, watch=lambda side, found: advance(side))
    rows = [row for turns in measured.values() for found in turns for row in found]
    Console().print(format_table(options, rows), highlight=False, soft_wrap=True)
    write_json(options.json, rows)
    return 0


def take_turn(given: tuple[ProcessesBenchOptions, str]) -> list[dict[str, Any]]:
    """Run one process of a side. Rank 0 returns the times of each update (s) and the memory of each process (MiB)."""
    import torch
    import transformers.modeling_utils  # noqa: F401 - its memory is not the model's

    from ..agents.grpo.ranks.channel import RankChannel
    from ..agents.grpo.ranks.follower import Follower
    from ..agents.grpo.ranks.leader import Ranks
    from ..agents.grpo.ranks.sharded import ShardedFollower, ShardedRanks

    options, side = given
    processes, split = options.sides[side]
    torch.set_num_threads(options.threads)
    before = largest_memory()
    if processes == 1:
        times = _time_updates(options, None)
        return [{**row, "memory_mib": [largest_memory() - before]} for row in times]
    channel, times = RankChannel(minutes=10.0), []
    if channel.rank:
        (ShardedFollower if split else Follower)(channel).serve()
    else:
        ranks = ShardedRanks(channel) if split else Ranks(channel)
        times = _time_updates(options, ranks)
        ranks.stop()
    memory = channel.gather(largest_memory() - before)
    channel.leave()
    return [{**row, "memory_mib": memory} for row in times]


def _time_updates(options: ProcessesBenchOptions, ranks: Any) -> list[dict[str, float]]:
    """Return the times of each timed update, in seconds."""
    from ..agents.grpo.config import TrainConfig
    from ..agents.grpo.objective.notices import apply_overrides
    from ..agents.grpo.objective.objective import Objective
    from ..agents.grpo.recipes import RECIPES
    from ..agents.grpo.update import Update
    from ..agents.language.tiny import TinyShape, tiny_model

    heads = options.hidden // HEAD_DIM
    sizes = {"heads": heads, "kv_heads": heads // 2, "head_dim": HEAD_DIM, "intermediate": 3 * options.hidden}
    shape = TinyShape(options.hidden, options.layers, **sizes)
    config = TrainConfig(recipe="grpo", token_budget=2048, threads=options.threads)
    objective = Objective(apply_overrides(RECIPES["grpo"], config))
    objective.advance(1, options.warmup + options.updates)
    policy, reference = (tiny_model(0, shape)[0] for _ in range(2))
    update = Update(config, objective, policy, reference, None, ranks=ranks)
    groups = draw_groups(options)
    rows = []
    for _ in range(options.warmup + options.updates):
        begun, used = time.perf_counter(), time.process_time()
        update.run(groups, [], rate=1e-5)
        rows.append({"seconds": time.perf_counter() - begun, "leader_cpu_s": time.process_time() - used})
    return rows[options.warmup :]


def largest_memory() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def draw_groups(options: ProcessesBenchOptions) -> list[Any]:
    """Make groups of random tokens whose rewards differ within each group."""
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(options.prompts):
        prompt = rng.integers(5, 100, options.prompt_tokens).tolist()
        for reward in (rng.permutation(options.samples) / options.samples).tolist():
            ids = rng.integers(5, 100, options.new_tokens).tolist()
            answers.append((prompt, ids, [-4.6] * len(ids), reward))
    return make_groups(answers, options.samples)


def format_table(options: ProcessesBenchOptions, rows: Sequence[dict[str, Any]]) -> str:
    """Format a table in Markdown: medians of each side's times, medians and quartiles of the ratios one process / side
    within the same update, and the largest memory of the first process and of the others."""
    one, *others = options.sides
    threads = f"{options.threads} thread{'s' * (options.threads > 1)} each"
    head = (
        f"one and {options.processes} processes, {threads}",
        one,
        *(cell for side in others for cell in (side, "ratio")),
    )
    by_side = {side: [row for row in rows if row["side"] == side] for side in options.sides}
    lines = []
    for key, title in (("seconds", "training, ms"), ("leader_cpu_s", "the leader's processor time, ms")):
        times = {side: [row[key] for row in found] for side, found in by_side.items()}
        cells = [title, f"{1e3 * statistics.median(times[one]):,.0f}"]
        for side in others:
            ratio, quartiles = Spread.of_ratios(times[one], times[side]).show(".2f")
            cells += [f"{1e3 * statistics.median(times[side]):,.0f}", f"**{ratio}** ({quartiles})"]
        lines.append(cells)
    memory = {side: np.max([row["memory_mib"] for row in found], axis=0) for side, found in by_side.items()}
    whole = memory[one][0]
    first, rest = ["memory of the first process, MiB", f"{whole:,.0f}"], ["the largest of the others, MiB", ""]
    for side in others:
        for cells, most in ((first, memory[side][0]), (rest, memory[side][1:].max())):
            cells += [f"{most:,.0f}", f"{whole / most:.2f}"]
    return format_markdown(head, [*lines, first, rest]).replace("|  |", "| |")
