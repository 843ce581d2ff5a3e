"""``palaestra bench rollouts``: wall time of rollouts whose environments wait, beside decoding and waiting alone.

A tiny model with random weights plays games of four turns, and every turn of the environment waits for a uniformly
drawn time, as one does that asks a network. The bound is the larger of two times: decoding alone (the same episodes
without any wait) and waiting alone (the episode that waits longest, as all of them wait at once). Measured in one
process, in turns: decoding alone, with ``--env-workers``, and one environment after another, as without.

examples:
  palaestra bench rollouts
  palaestra bench rollouts --episodes 32 --tokens 32 --rounds 1 --json rollouts.json
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tyro

from ...agents.atomic import write_atomically
from ...checks import check_count
from ...envs import register
from ...envs.games.guess_number import GuessNumber
from ...errors import InputError, MissingExtra

ENV = "palaestra-bench/WaitingGuessNumber-v0"
TURNS = {"bits": 3, "slack": 0}
"""Parameters of a game of four turns."""


@dataclass(frozen=True)
class RolloutBenchOptions:
    episodes: int = 64
    """Episodes played at once."""
    tokens: int = 32
    """Most tokens of an action."""
    waits: tuple[float, float] = (0.02, 0.2)
    """Shortest and longest wait of a turn, seconds."""
    workers: int = 64
    """Threads of the side with workers."""
    rounds: int = 3
    """How often each side is timed; medians are shown."""
    threads: int = 2
    """CPU threads of the model."""
    seed: int = 0
    """Root of weights, tasks, waits and samples."""
    inline: bool = True
    """Also time one environment after another, which takes the sum of all waits."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class RolloutTimes:
    """Medians in seconds for all episodes; ``inline`` is None where it was not timed.

    Attributes:
        decoding: no environment waits.
        waiting: the longest sum of an episode's waits.
        workers: environments wait beside decoding.
        ratio: ``workers`` to the larger of ``decoding`` and ``waiting``; median over rounds, of one round's times.
    """

    decoding: float
    waiting: float
    workers: float
    inline: float | None
    ratio: float


class WaitingGuessNumber(GuessNumber):
    """The game with steps that wait; see `GuessNumber` for the rest.

    Description: d. Parameters: p.
    """

    waits: ClassVar[tuple[float, float]] = (0.0, 0.0)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._waits = np.random.default_rng(seed)
        return super().reset(seed=seed, options=options)

    def step(self, action: str) -> Any:
        if self.waits[1]:
            time.sleep(self._waits.uniform(*self.waits))
        return super().step(action)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    from rich.console import Console
    from rich.table import Table

    options = tyro.cli(RolloutBenchOptions, args=argv, prog="palaestra bench rollouts", description=__doc__)
    for name in ("episodes", "tokens", "workers", "rounds", "threads"):
        check_count(name, getattr(options, name), 1)
    if not 0 <= options.waits[0] <= options.waits[1] < float("inf"):
        raise InputError(f"waits must be two rising numbers of seconds, such as 0.02 0.2, not {options.waits}.")
    console = Console()
    with console.status(f"{options.episodes} episodes, {options.rounds} rounds of each side"):
        times = measure_rollouts(options)
    bound = max(times.decoding, times.waiting)
    table = Table(title=f"{options.episodes} episodes of up to four turns, {options.tokens} tokens a turn")
    for heading in ("", "seconds", "ms an episode", "to the bound"):
        table.add_column(heading, justify="right" if heading else "left")
    rows = (
        ("decoding alone", times.decoding, None),
        ("the episode that waits longest", times.waiting, None),
        (f"{options.workers} workers beside decoding", times.workers, times.ratio),
        ("one environment after another", times.inline, None if times.inline is None else times.inline / bound),
    )
    for label, seconds, ratio in rows:
        if seconds is not None:
            each = f"{1000 * seconds / options.episodes:.1f}"
            table.add_row(label, f"{seconds:.2f}", each, "" if ratio is None else f"{ratio:.2f}")
    console.print(table)
    if options.json is not None:
        write_atomically(options.json, json.dumps(asdict(times), indent=2) + "\n")
    return 0


def measure_rollouts(options: RolloutBenchOptions) -> RolloutTimes:
    """Time all sides, in turns after one untimed round."""
    try:
        import torch

        from ...agents.grpo.rollouts.environment_workers import EnvironmentWorkers
        from ...agents.grpo.rollouts.environments import Environments
        from ...agents.grpo.rollouts.player import Player
        from ...agents.grpo.rollouts.starts import RolloutTask, Start, TokenLimits
        from ...agents.language.model import LanguageModel
    except ImportError:
        raise MissingExtra("rollouts", "train") from None
    torch.set_num_threads(options.threads)
    register(ENV, WaitingGuessNumber)
    language = LanguageModel.tiny(options.seed)
    limits = TokenLimits(options.tokens, 4 * options.tokens, 512)
    environments = Environments(ENV)
    engine = language.engine(options.episodes, limits.context)
    workers = EnvironmentWorkers(options.workers)

    def play(waits: tuple[float, float], threads: EnvironmentWorkers | None) -> float:
        WaitingGuessNumber.waits, environments.workers = waits, threads
        engine.seed(options.seed)
        rng = np.random.default_rng(options.seed)
        player = Player(environments, engine, language.renderer, limits, 1.0, rng, noise=options.seed)
        starts = [Start(RolloutTask(TURNS, options.seed + i, 1)) for i in range(options.episodes)]
        begun = time.perf_counter()
        played = player.play(starts)
        took = time.perf_counter() - begun
        turns.extend(len(one.trajectory.turns) for one in played)
        return took

    turns: list[int] = []
    play((0.0, 0.0), workers)
    turns.clear()
    rounds = []
    for _ in range(options.rounds):
        overlapped = play(options.waits, workers)
        rounds.append((overlapped, play((0.0, 0.0), workers)))
    # The same episodes each time, so that their waits are known from their turns.
    waiting = max(
        np.random.default_rng(options.seed + i).uniform(*options.waits, size=count).sum()
        for i, count in enumerate(turns[: options.episodes])
    )
    inline = [play(options.waits, None) for _ in range(options.rounds)] if options.inline else []
    return RolloutTimes(
        decoding=statistics.median(decoding for _, decoding in rounds),
        waiting=float(waiting),
        workers=statistics.median(overlapped for overlapped, _ in rounds),
        inline=statistics.median(inline) if inline else None,
        ratio=statistics.median(overlapped / max(decoding, waiting) for overlapped, decoding in rounds),
    )
