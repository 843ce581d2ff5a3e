"""``palaestra bench evaluation``: the overhead of `palaestra.evaluate` over the agent and the environment.

Four figures: wall time with replies of very different lengths, against the list schedule of the same replies; memory of
many concurrent replies; processor time against a bare loop of ``reset`` and ``step``; and the time to judge an answer
with 200 kB of thoughts.

examples:
  palaestra bench evaluation
  palaestra bench evaluation --episodes 256 --concurrency 64 --json evaluation.json
"""

from __future__ import annotations

import asyncio
import heapq
import math
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import gymnasium as gym
import numpy as np

from ..agents.evaluation import evaluate
from ..agents.evaluation.episodes import EpisodePlan
from .harness import Side, compare, make_table, processor_seconds, read_options, write_json

ENV = "palaestra/Arithmetic-v0"
SPREAD = 1.3
"""Standard deviation of the log of a reply's seconds, which makes one reply in 1000 take 20 times the mean."""


@dataclass(frozen=True)
class EvaluationBenchOptions:
    episodes: int = 64
    """Number of episodes with slow replies."""
    concurrency: int = 16
    """Number of concurrent replies."""
    mean: float = 0.05
    """Mean seconds of a reply, at most 1 second each."""
    many: int = 1000
    """Number of concurrent replies when memory is measured."""
    loops: int = 2000
    """Number of episodes when processor time is measured."""
    seed: int = 0
    """Seed of the replies' lengths and of the episodes."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    from rich.console import Console

    options = read_options(EvaluationBenchOptions, "evaluation", argv, __doc__)
    console = Console()
    with console.status("replies of very different lengths"):
        took, best = measure_schedule(options.episodes, options.concurrency, options.mean, options.seed)
    with console.status(f"{options.many} replies at once"):
        memory = measure_memory(options.many)
    with console.status("processor time"):
        ratio = measure_overhead(options.loops, options.seed)
    long_answer = measure_long_answer(200_000)
    schedule = f"wall time of {options.episodes} episodes, {options.concurrency} at once, to the best schedule's"
    rows = (
        (schedule, f"{took:.2f} s / {best:.2f} s = {took / best:.2f}", "1.3"),
        (f"memory of {options.many} replies waited for at once", f"{memory:.0f} MB", "300 MB"),
        ("processor time to that of a bare loop", f"{ratio:.2f}", "2"),
        ("judging an answer with 200 kB of thoughts", f"{1000 * long_answer:.1f} ms", "50 ms"),
    )
    console.print(make_table(("figure", "measured", "aim"), rows, text=1, title="palaestra.evaluate"))
    figures = {"took": took, "best": best, "memory_mb": memory, "overhead": ratio, "long_answer": long_answer}
    write_json(options.json, figures)
    return 0


def measure_schedule(episodes: int, concurrency: int, mean: float, seed: int) -> tuple[float, float]:
    """Return the seconds of an evaluation, and of the list schedule of the same replies without any overhead."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.lognormal(math.log(mean) - SPREAD**2 / 2, SPREAD, episodes), 1.0).tolist()
    free = [0.0] * concurrency
    for length in lengths:
        heapq.heapreplace(free, free[0] + length)
    left = iter(lengths)

    async def reply(observation: str) -> str:
        await asyncio.sleep(next(left))
        return "1"

    begun = time.perf_counter()
    evaluate(reply, ENV, episodes=episodes, concurrency=concurrency, seed=seed)
    return time.perf_counter() - begun, max(free)


_MEMORY = """
import asyncio, resource, palaestra
async def reply(observation):
    await asyncio.sleep(1.0)
    return "1"
palaestra.evaluate(reply, {env!r}, episodes=1)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
palaestra.evaluate(reply, {env!r}, episodes={many}, concurrency={many})
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def measure_memory(many: int) -> float:
    """Return the megabytes that ``many`` slow concurrent episodes use beyond one episode, in a separate process."""
    program = _MEMORY.format(env=ENV, many=many)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure_overhead(episodes: int, seed: int) -> float:
    """Return the ratio of an evaluation's processor time to a bare loop's over the same episodes, each the least of
    three."""

    def answer(observation: str) -> str:
        return str(sum(int(number) for number in re.findall(r"\d+", observation)))

    def loop() -> None:
        env = gym.make(ENV, split="test", disable_env_checker=True)
        plan = EpisodePlan(env, ENV, episodes, seed, None, None)
        for index in range(episodes):
            record, reset_options = plan.begin(index)
            observation, _ = env.reset(seed=record.seed, options=reset_options)
            over = False
            while not over:
                observation, _, terminated, truncated, _ = env.step(answer(observation))
                over = terminated or truncated

    sides = {"ours": lambda: evaluate(answer, ENV, episodes=episodes, seed=seed), "bare": loop}
    times = compare([Side(name, partial(processor_seconds, work)) for name, work in sides.items()], 3)
    return min(times["ours"]) / min(times["bare"])


def measure_long_answer(characters: int) -> float:
    """Return the least of five times (s) to judge a right answer after ``characters`` characters of thoughts."""
    env = gym.make(ENV, disable_env_checker=True)
    least = math.inf
    for seed in range(5):
        env.reset(seed=seed)
        thought = "Perhaps \\boxed{17}? No, it is 4 + 4 = 8. "
        answer = f"<think>{thought * (characters // len(thought))}</think>\n{env.unwrapped.oracle()}"  # type: ignore[attr-defined]
        begun = time.perf_counter()
        success = env.step(answer)[4]["is_success"]
        least = min(least, time.perf_counter() - begun)
        assert success
    return least
