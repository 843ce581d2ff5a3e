"""``palaestra bench rollouts``: wall time of rollouts whose environments wait, and of training on them.

A tiny model with random weights, or a smaller one, plays games of four turns, and every step of the environment waits
for a uniformly drawn time, as an environment that calls a network service does. The bound is the larger of two times:
decoding alone (the same episodes without any wait) and waiting alone (the episode that waits longest, as all of them
wait in parallel). Three variants are measured in one process, in turns: decoding alone, with ``--env-workers``, and
without, where environments step one after another.

Then the model is trained on such games, alternately by runs that play and train one after the other (``--staleness 0``)
and by runs that play the next batch during an update (``--staleness 1``). Runs of both kinds have ``--env-workers``.
The time of a step is from the end of one update to the end of the next; the first two and the last two steps of a run,
in which the pipeline fills and empties, are not counted.

examples:
  palaestra bench rollouts
  palaestra bench rollouts --steps 0    # rollouts alone
  palaestra bench rollouts --episodes 16 --tokens 4 --width 32 --threads 1    # where waiting is the larger
  palaestra bench rollouts --episodes 32 --tokens 32 --rounds 1 --json rollouts.json
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..checks import check_count
from ..envs import register
from ..envs.games.guess_number import GuessNumber
from ..errors import InputError
from .harness import Side, Spread, compare, make_table, read_options, require, write_json

if TYPE_CHECKING:
    from rich.table import Table

ENV = "palaestra-bench/WaitingGuessNumber-v0"
TURNS = {"bits": 3, "slack": 0}
"""Parameters of a game of four turns."""


@dataclass(frozen=True)
class RolloutBenchOptions:
    episodes: int = 64
    """Number of episodes played at once."""
    tokens: int = 32
    """Largest number of tokens of an action."""
    waits: tuple[float, float] = (0.02, 0.2)
    """Shortest and longest wait of a turn, seconds."""
    workers: int = 64
    """Number of threads of the variant with workers."""
    rounds: int = 3
    """Number of timings of each variant; medians are shown."""
    width: int = 0
    """Width of a model with two layers, at least 8, which decodes faster than the tiny model; 0 takes the tiny
    model."""
    threads: int = 2
    """CPU threads of the model."""
    seed: int = 0
    """Seed of weights, tasks, waits and samples."""
    inline: bool = True
    """Also time one environment after another, which takes the sum of all waits."""
    steps: int = 12
    """Steps of each training run, at least 6; 0 leaves training out."""
    group: int = 8
    """Number of episodes per task in training."""
    recipe: str = "decoupled_ppo"
    """Recipe of the training runs; decoupled_ppo is made for samples of an older policy, with four updates per
    batch."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class TrainingTimes:
    """Medians over rounds, in seconds per step.

    Attributes:
        update: updates alone, in runs with a staleness of 0.
        in_turns, ahead: whole steps with a staleness of 0 and of 1.
        gain: ``in_turns / ahead`` within each round: lower quartile, median, upper quartile over rounds.
    """

    update: float
    in_turns: float
    ahead: float
    gain: tuple[float, float, float]


@dataclass(frozen=True)
class RolloutTimes:
    """Medians in seconds for all episodes; ``inline`` (no workers) is None if it was not timed.

    Attributes:
        decoding: no environment waits.
        waiting: the longest sum of waits of an episode.
        workers: environments wait in worker threads while others decode.
        ratio: ``workers`` divided by the larger of ``decoding`` and ``waiting`` within each round; median over rounds.
    """

    decoding: float
    waiting: float
    workers: float
    inline: float | None
    ratio: float


class WaitingGuessNumber(GuessNumber):
    """`GuessNumber` with steps that wait.

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

    options = read_options(RolloutBenchOptions, "rollouts", argv, __doc__)
    for name in ("episodes", "tokens", "workers", "rounds", "threads", "group"):
        check_count(name, getattr(options, name), 1)
    if not 0 <= options.waits[0] <= options.waits[1] < float("inf"):
        raise InputError(f"waits must be two rising numbers of seconds, such as 0.02 0.2, not {options.waits}.")
    if options.width and (options.width < 8 or options.width % 4):
        raise InputError(f"width must be 0 or a multiple of 4 from 8 on, not {options.width}.")
    if options.steps and (options.steps < 6 or options.episodes % options.group):
        raise InputError(
            f"training needs at least 6 steps and whole groups, not {options.steps} steps and {options.episodes} "
            f"episodes in groups of {options.group}; --steps 0 leaves it out."
        )
    console = Console()
    with console.status(f"{options.episodes} episodes, {options.rounds} rounds of each side"):
        times = measure_rollouts(options)
    found, bound = asdict(times), max(times.decoding, times.waiting)
    rows = (
        ("decoding alone", times.decoding, None),
        ("the episode that waits longest", times.waiting, None),
        (f"{options.workers} workers beside decoding", times.workers, times.ratio),
        ("one environment after another", times.inline, None if times.inline is None else times.inline / bound),
    )
    title = f"{options.episodes} episodes of up to four turns, {options.tokens} tokens a turn"
    console.print(_tabulate(title, options.episodes, rows))
    if options.steps:
        with console.status(f"{options.rounds} runs of {options.steps} steps of either kind"):
            training = measure_training(options)
        rows = (
            ("the update alone", training.update, None),
            ("playing and training in turns", training.in_turns, training.in_turns / bound),
            ("playing one batch ahead", training.ahead, training.ahead / bound),
        )
        table = _tabulate(f"training on {options.episodes} such episodes a step", options.episodes, rows)
        low, gain, high = training.gain
        table.caption = f"one batch ahead: {gain:.2f} times as fast, quartiles {low:.2f} to {high:.2f}"
        console.print(table)
        found |= {"training": asdict(training)}
    write_json(options.json, found)
    return 0


def _tabulate(title: str, episodes: int, rows: Sequence[tuple[str, float | None, float | None]]) -> Table:
    """Make a table of rows (name, seconds, ratio to the bound); rows without seconds are left out."""
    cells = [
        (label, f"{seconds:.2f}", f"{1000 * seconds / episodes:.1f}", "" if ratio is None else f"{ratio:.2f}")
        for label, seconds, ratio in rows
        if seconds is not None
    ]
    return make_table(("", "seconds", "ms an episode", "to the bound"), cells, text=1, title=title)


def measure_rollouts(options: RolloutBenchOptions) -> RolloutTimes:
    """Time all variants, in turns after one untimed round."""
    require("rollouts", "train", "torch", "transformers")
    import torch

    from ..agents.grpo.rollouts.environment_workers import EnvironmentWorkers
    from ..agents.grpo.rollouts.environments import Environments
    from ..agents.grpo.rollouts.episode_player import EpisodePlayer
    from ..agents.grpo.rollouts.episode_starts import RolloutTask, Start, TokenLimits

    torch.set_num_threads(options.threads)
    register(ENV, WaitingGuessNumber)
    language = _make_model(options)
    limits = TokenLimits(options.tokens, 4 * options.tokens, 512)
    environments = Environments(ENV)
    engine = language.engine(options.episodes, limits.context)
    workers = EnvironmentWorkers(options.workers)

    turns: list[int] = []

    def play(waits: tuple[float, float], threads: EnvironmentWorkers | None, number: int = 0) -> float:
        WaitingGuessNumber.waits, environments.workers = waits, threads
        engine.seed(options.seed)
        rng = np.random.default_rng(options.seed)
        player = EpisodePlayer(environments, engine, language.renderer, limits, 1.0, rng, noise=options.seed)
        starts = [Start(RolloutTask(TURNS, options.seed + i, 1)) for i in range(options.episodes)]
        begun = time.perf_counter()
        played = player.play(starts)
        took = time.perf_counter() - begun
        turns[:] = [len(one.trajectory.turns) for one in played]
        return took

    play((0.0, 0.0), workers)
    overlapped = Side("workers", functools.partial(play, options.waits, workers))
    decoding = Side("decoding", functools.partial(play, (0.0, 0.0), workers))
    compare([overlapped, decoding], options.rounds)
    # Episodes are the same each time, so that their waits are known from their numbers of turns.
    waiting = max(
        float(np.random.default_rng(options.seed + i).uniform(*options.waits, size=count).sum())
        for i, count in enumerate(turns)
    )
    inline = [play(options.waits, None) for _ in range(options.rounds)] if options.inline else []
    bounds = [max(alone, waiting) for alone in decoding.rounds]
    return RolloutTimes(
        decoding=statistics.median(decoding.rounds),
        waiting=waiting,
        workers=statistics.median(overlapped.rounds),
        inline=statistics.median(inline) if inline else None,
        ratio=Spread.of_ratios(overlapped.rounds, bounds).median,
    )


def _make_model(options: RolloutBenchOptions) -> Any:
    from ..agents.language.model import LanguageModel
    from ..agents.language.tiny import TinyShape, tiny_model

    if not options.width:
        return LanguageModel.tiny(options.seed)
    width = options.width
    shape = TinyShape(hidden=width, layers=2, heads=2, kv_heads=1, head_dim=width // 2, intermediate=2 * width)
    return LanguageModel.of(*tiny_model(options.seed, shape))


def measure_training(options: RolloutBenchOptions) -> TrainingTimes:
    """Time training steps with both values of staleness, in turns after one untimed run."""
    import tempfile

    from ..agents.grpo.config import Patience, StageOverrides, TrainConfig, WarmUp
    from ..agents.grpo.learner import Learner
    from ..agents.grpo.run.observers import TrainingProgress

    WaitingGuessNumber.waits = options.waits
    config = TrainConfig(
        env=ENV,
        axes=dict(TURNS),
        teacher="random",
        recipe=options.recipe,
        # Makes rewards differ although no answer of random weights is right.
        stages=StageOverrides(shaping="cosine-length"),
        warmup=WarmUp(steps=0),
        patience=Patience(0, 0, 0, 0),
        seed=options.seed,
        steps=options.steps,
        prompts=options.episodes // options.group,
        samples=options.group,
        max_new_tokens=options.tokens,
        max_episode_tokens=4 * options.tokens,
        eval_every=0,
        final_episodes=1,
        checkpoint_every=options.steps,
        track=(),
        env_workers=options.workers,
        threads=options.threads,
    )

    def time_step(folder: Path, staleness: int, number: int) -> tuple[float, float]:
        """Return the seconds of a step, and the seconds of its update."""
        ends: list[float] = []

        def watch(progress: TrainingProgress) -> None:
            if progress.phase == "train":
                ends.append(time.perf_counter())

        learner = Learner.start(folder / f"{number}-{staleness}", replace(config, staleness=staleness))
        try:
            learner.run(watch, lambda sentence: None)
        finally:
            learner.close()
        timings = [row for row in learner.folder.read("timings", 3, options.steps - 2) if "train_s" in row]
        return (ends[-3] - ends[1]) / (options.steps - 4), statistics.median(row["train_s"] for row in timings)

    with tempfile.TemporaryDirectory() as folder:
        if options.width:
            _make_model(options).save(Path(folder) / "model")
            config = replace(config, model=str(Path(folder) / "model"))
        time_step(Path(folder), 1, -1)
        in_turns, ahead = (Side(str(lag), functools.partial(time_step, Path(folder), lag)) for lag in (0, 1))
        compare([in_turns, ahead], options.rounds)
    steps = [[step for step, _ in side.rounds] for side in (in_turns, ahead)]
    update = statistics.median(update for _, update in in_turns.rounds)
    gain = Spread.of_ratios(*steps)
    in_turns_s, ahead_s = map(statistics.median, steps)
    return TrainingTimes(update, in_turns_s, ahead_s, (gain.low, gain.median, gain.high))
