"""``palaestra bench processes``: an update that several processes share, beside the same one by one process.

Both take the same optimiser steps on the same ready-made episodes, by turns, in reversed order every other round. Each
process has the same number of threads. "Training" is all of the update: weighting, forward and backward passes, the sum
of gradients, the optimiser step, and the new weights on their way to the others. The processor time is the leader's: on
cores that nothing else uses it is what the others' share leaves of the time.

examples:
  palaestra bench processes
  palaestra bench processes --rounds 20 --json processes.json
  palaestra bench processes --processes 4 --threads 2 --prompts 32
"""

from __future__ import annotations

import copy
import dataclasses
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tyro

from ...agents.atomic import check_output, write_atomically
from ...checks import check_count
from ..train_ranks import run_in_processes


@dataclass(frozen=True)
class ProcessesBenchOptions:
    processes: int = 2
    """Processes that share the update."""
    threads: int = 1
    """CPU threads of each process."""
    prompts: int = 16
    """Prompts of a step."""
    samples: int = 8
    """Completions of each prompt."""
    prompt_tokens: int = 32
    """Tokens of a prompt."""
    new_tokens: int = 64
    """Tokens of a completion."""
    rounds: int = 10
    """Timed updates of either side."""
    warmup: int = 2
    """Rounds before them that are dropped."""
    json: Path | None = None
    """Write all times here."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            if item.name != "json":
                least = {"processes": 2, "samples": 2, "warmup": 0}.get(item.name, 1)
                check_count(item.name, getattr(self, item.name), least)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and return the exit code."""
    from rich.console import Console

    options = tyro.cli(ProcessesBenchOptions, args=argv, prog="palaestra bench processes", description=__doc__)
    check_output(options.json, "--json")
    rows = run_in_processes(take_turns, options, options.processes)
    Console().print(format_table(options, rows), highlight=False, soft_wrap=True)
    if options.json is not None:
        write_atomically(options.json, [json.dumps(rows, indent=2) + "\n"])
    return 0


def take_turns(options: ProcessesBenchOptions) -> list[dict[str, Any]]:
    """One process of the comparison; that of rank 0 returns the times of each update, s."""
    import torch

    from ...agents.grpo.config import TrainConfig
    from ...agents.grpo.objective.objective import Objective
    from ...agents.grpo.ranks.channel import RankChannel
    from ...agents.grpo.ranks.follower import Follower
    from ...agents.grpo.ranks.leader import Ranks
    from ...agents.grpo.recipes import RECIPES
    from ...agents.grpo.update import Update
    from ...agents.language.tiny import tiny_model

    channel = RankChannel(minutes=10.0)
    if channel.rank:
        Follower(channel).serve()
        channel.leave()
        return []
    torch.set_num_threads(options.threads)
    ranks = Ranks(channel)
    config = TrainConfig(recipe="grpo", kl=0.0, token_budget=2048, threads=options.threads)
    model, _ = tiny_model(0)
    updates = {}
    for name, shared in (("one process", None), (f"{options.processes} processes", ranks)):
        objective = Objective(RECIPES["grpo"])
        objective.advance(1, options.rounds)
        updates[name] = Update(config, objective, copy.deepcopy(model), copy.deepcopy(model), None, ranks=shared)
    groups = make_groups(options)
    rows = []
    for turn in range(options.warmup + options.rounds):
        for name in list(updates) if turn % 2 == 0 else list(updates)[::-1]:
            begun, used = time.perf_counter(), time.process_time()
            updates[name].run(groups, [], rate=1e-5)
            took = {"seconds": time.perf_counter() - begun, "leader_cpu_s": time.process_time() - used}
            if turn >= options.warmup:
                rows.append({"side": name, "round": turn - options.warmup, **took})
    ranks.stop()
    channel.leave()
    return rows


def make_groups(options: ProcessesBenchOptions) -> list[Any]:
    """Groups of random tokens whose rewards differ within each group."""
    from ...agents.grpo.batch.trajectory import Group, Trajectory, Turn

    rng = np.random.default_rng(0)
    groups = []
    for number in range(options.prompts):
        prompt = tuple(rng.integers(5, 100, options.prompt_tokens).tolist())
        members = []
        for reward in rng.permutation(options.samples) / options.samples:
            ids = tuple(rng.integers(5, 100, options.new_tokens).tolist())
            turn = Turn(prompt, ids, (-4.6,) * len(ids), "length", float(reward))
            outcome = {"success": reward > 0.5, "progress": float(reward), "truncated": True, "valid": True}
            members.append(Trajectory("ready-made", {}, 0.0, (turn,), max_tokens=options.new_tokens, **outcome))
        groups.append(Group(number, tuple(members)))
    return groups


def format_table(options: ProcessesBenchOptions, rows: Sequence[dict[str, Any]]) -> str:
    """Medians of both sides and their ratios, with the quartiles of the ratios within a round."""
    one, several = "one process", f"{options.processes} processes"
    threads = f"{options.threads} thread{'s' * (options.threads > 1)} each"
    lines = [f"| {one} and {several}, {threads} | {one} | {several} | ratio |", "| --- | ---: | ---: | ---: |"]
    for key, title in (("seconds", "training, ms"), ("leader_cpu_s", "the leader's processor time, ms")):
        alone, shared = (np.array([row[key] for row in rows if row["side"] == name]) for name in (one, several))
        medians = statistics.median(alone), statistics.median(shared)
        low, high = np.quantile(alone / shared, (0.25, 0.75))
        cells = [f"{1e3 * median:,.0f}" for median in medians]
        lines.append(f"| {title} | {' | '.join(cells)} | **{medians[0] / medians[1]:.2f}** ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines)
