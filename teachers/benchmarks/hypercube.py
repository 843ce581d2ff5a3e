"""Teachers compared on the hypercube student: ``python -m palaestra.teachers.benchmarks.hypercube``.

An experiment is data (`SWEEP`: settings by name), a run that gives a record, and `summarise`, which turns records into
one score in [0, 1] per teacher: the share of cubes mastered at the end. Times cover the teacher only (propose and
observe), one task at a time, and are meaningful as ratios within one run.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..protocol import Outcome
from ..registry import make
from ..students import HypercubeStudent


@dataclass(frozen=True)
class Setting:
    """One student and how long it is taught."""

    student: Mapping[str, Any]
    episodes: int = 20_000


SWEEP: Mapping[str, Setting] = {
    "2d": Setting({"dimensions": 2, "cubes": 10}),
    "2d-irrelevant": Setting({"dimensions": 2, "cubes": 10, "irrelevant": 4}),
    "3d": Setting({"dimensions": 3, "cubes": 5}),
    "2d-fine": Setting({"dimensions": 2, "cubes": 20}, episodes=40_000),
    "2d-gaussian": Setting({"dimensions": 2, "cubes": 10, "noise": "gaussian"}),
    "2d-bernoulli": Setting({"dimensions": 2, "cubes": 10, "noise": "bernoulli"}),
}

TEACHERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "random": ("random", {}),
    "alp-gmm": ("alp-gmm", {}),
    "alp-gmm history=250": ("alp-gmm", {"history": 250}),
}


@dataclass(frozen=True)
class Record:
    """One run: ``mastered[i]`` is the share of cubes after (i + 1) / len(mastered) of the episodes."""

    setting: str
    teacher: str
    seed: int
    mastered: tuple[float, ...]
    seconds: float
    episodes: int


@dataclass(frozen=True)
class Summary:
    """One teacher in one setting: mean and standard error over seeds (NaN for a single one)."""

    setting: str
    teacher: str
    seeds: int
    curve: tuple[float, ...]
    score: float
    standard_error: float
    lowest: float
    highest: float
    milliseconds: float


def run(setting: str, teacher: str, seed: int, episodes: int | None = None, checkpoints: int = 4) -> Record:
    """Teach one student. The seed is the student's and the teacher's, so that runs are paired across teachers."""
    student = HypercubeStudent(**SWEEP[setting].student, seed=seed)
    name, options = TEACHERS[teacher]
    built = make(name, student.space, seed=seed, **options)
    total = SWEEP[setting].episodes if episodes is None else episodes
    seconds, mastered = 0.0, []
    for episode in range(1, total + 1):
        start = time.perf_counter()
        proposal = built.propose(1)[0]
        seconds += time.perf_counter() - start
        outcome = Outcome(proposal.id, proposal.task, [student.episode(proposal.task)])
        start = time.perf_counter()
        built.observe([outcome])
        seconds += time.perf_counter() - start
        if episode * checkpoints // total > len(mastered):
            mastered.append(student.mastered())
    return Record(setting, teacher, seed, tuple(mastered), seconds, total)


def sweep(
    settings: Sequence[str], teachers: Sequence[str], seeds: Iterable[int], episodes: int | None = None
) -> Iterator[Record]:
    """All runs, lazily; teachers alternate within a seed, so that a busy machine slows them alike."""
    for setting in settings:
        for seed in seeds:
            for teacher in teachers:
                yield run(setting, teacher, seed, episodes)


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Mean final mastery with its standard error, and teacher time per episode, for each setting and teacher."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.setting, record.teacher), []).append(record)
    return [_summary(setting, teacher, group) for (setting, teacher), group in groups.items()]


def _summary(setting: str, teacher: str, group: list[Record]) -> Summary:
    final = [record.mastered[-1] for record in group]
    count, mean = len(final), sum(final) / len(final)
    variance = sum((x - mean) ** 2 for x in final) / (count - 1) if count > 1 else math.nan
    curve = tuple(sum(column) / count for column in zip(*(record.mastered for record in group)))
    milliseconds = 1e3 * sum(r.seconds for r in group) / sum(r.episodes for r in group)
    return Summary(
        setting, teacher, count, curve, mean, math.sqrt(variance / count), min(final), max(final), milliseconds
    )


def table(summaries: Sequence[Summary]) -> str:
    """Plain text, one line per teacher and setting; mastery in percent."""
    head = f"{'setting':<14} {'teacher':<20} {'seeds':>5} {'mastered at each quarter':<26} {'final ± SE':>12}"
    lines = [f"{head} {'range':>9} {'ms/episode':>11}"]
    for s in summaries:
        curve = " ".join(f"{100 * x:6.1f}" for x in s.curve)
        final = f"{100 * s.score:.1f} ± {100 * s.standard_error:.1f}"
        spread = f"{100 * s.lowest:.0f}-{100 * s.highest:.0f}"
        lines.append(
            f"{s.setting:<14} {s.teacher:<20} {s.seeds:>5} {curve:<26} {final:>12} {spread:>9} {s.milliseconds:>11.4f}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Command line: run the sweep and write the table to standard output."""
    parser = argparse.ArgumentParser(
        prog="python -m palaestra.teachers.benchmarks.hypercube", description="Teachers compared on a student."
    )
    parser.add_argument("--settings", nargs="+", choices=list(SWEEP), default=["2d"], help="students (default: 2d)")
    parser.add_argument("--teachers", nargs="+", choices=list(TEACHERS), default=list(TEACHERS), help="default: all")
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="seeds 0 to N-1 (default: 10)")
    parser.add_argument("--episodes", type=int, default=None, metavar="N", help="default: the setting's own")
    options = parser.parse_args(arguments)
    if options.seeds < 1 or (options.episodes is not None and options.episodes < 4):
        parser.error("--seeds must be at least 1 and --episodes at least 4")
    records = sweep(options.settings, options.teachers, range(options.seeds), options.episodes)
    print(table(summarise(records)))


if __name__ == "__main__":
    main()
