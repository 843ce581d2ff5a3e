"""Tasks of other projects, made and checked: a file for `peer_server`, which imports nothing of this package.

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

# The action in every game: a legal move in some, a text to be refused in others.
MOVE = "\\boxed{up}"


def reasoning_gym(name: str, config: dict[str, Any], first: int) -> TaskSource:
    """Entries of a data set; a check is ``score_answer`` of the entry's own answer, and of one that is wrong."""
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
    """Games of GEM; a task is a reset, and a check is a step."""
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
    """Peers that can be imported here, with their versions."""
    found = {}
    for name, (distribution, _) in PEERS.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(distribution)
    return found


def measure_rates(
    source: TaskSource, seconds: float, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Tasks made, and answers checked, for about ``seconds`` of processor time each."""
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
    measure_rates(source, 0.0)  # late imports do not count as the first task's time
    return measure_rates(source, seconds)
