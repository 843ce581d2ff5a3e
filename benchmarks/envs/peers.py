"""Tasks of other projects, made and checked: a file for `peer_server` that imports nothing of this package.

{"peer": "reasoning-gym", "name": "sudoku", "config": {...}, "seconds": 1.0, "first": 0}
{"generated": 53, "generating": 1.0, "checked": 106, "checking": 0.2}
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import time
from collections.abc import Callable, Iterator
from typing import Any

# The work of one request: an endless stream of tasks, and a function that checks a right and a wrong answer to a task.
TaskSource = tuple[Iterator[Any], Callable[[Any], int]]

# The action in every game: a legal move in some, a refused text in others.
MOVE = "\\boxed{up}"


def reasoning_gym(name: str, config: dict[str, Any], first: int) -> TaskSource:
    """Return a stream of a data set's entries, and a check: ``score_answer`` of the right answer and of a wrong one."""
    package = importlib.import_module("reasoning_gym")
    data = package.create_dataset(name, size=10**7, seed=7, **config)

    def stream() -> Iterator[Any]:
        index = first
        while True:
            yield data[index]
            index += 1

    def check(entry: Any) -> int:
        for answer in (str(entry["answer"]), "0"):
            with contextlib.suppress(Exception):
                data.score_answer(answer, entry=entry)
        return 2

    return stream(), check


def gem(name: str, config: dict[str, Any], first: int) -> TaskSource:
    """Return a stream of games of GEM, one reset each, and a check, which is a step."""
    package = importlib.import_module("gem")
    env = package.make(name, **config)

    def stream() -> Iterator[Any]:
        seed = first
        while True:
            yield env.reset(seed=seed)
            seed += 1

    def check(_: Any) -> int:
        env.step(MOVE)
        return 1

    return stream(), check


PEERS: dict[str, tuple[str, Callable[..., TaskSource]]] = {
    "reasoning-gym": ("reasoning-gym", reasoning_gym),
    "gem": ("gem-llm", gem),
}


def find_installed() -> dict[str, str]:
    """Return the peers that can be imported here, with their versions."""
    found = {}
    for name, (distribution, _) in PEERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(distribution)
    return found


def measure_rates(
    source: TaskSource, seconds: float, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Count tasks made in about ``seconds`` of processor time, and answers checked in about half of that."""
    stream, check = source
    tasks = []
    begun = clock()
    while not tasks or clock() - begun < seconds:
        tasks.append(next(stream))
    generating = clock() - begun
    checked, begun = 0, clock()
    while not checked or clock() - begun < seconds / 2:
        checked += check(tasks[checked % len(tasks)])
    checking = clock() - begun
    return {"generated": len(tasks), "generating": generating, "checked": checked, "checking": checking}


def answer(peer: str, name: str, config: dict[str, Any], first: int, seconds: float) -> dict[str, float]:
    source = PEERS[peer][1](name, config, first)
    measure_rates(source, 0.0)  # so that late imports do not count as time of the first task
    return measure_rates(source, seconds)
