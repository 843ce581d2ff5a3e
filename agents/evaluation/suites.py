"""Suites: fixed lists of held-out tasks over many environments, on which the scores of agents are comparable.

A suite is a JSON file in ``suites_data``: version, seed and split, and for each environment the number of episodes and
the restrictions of its tasks. The file also holds a hash of the ids of all tasks. A test recomputes the hash, so that a
changed generator cannot change a suite unnoticed; a changed suite gets a new version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import gymnasium as gym

from ...errors import InputError, unknown_name
from .environment_spec import environment_spec
from .episodes import EpisodePlan

_FOLDER = files(__package__ or __name__) / "suites_data"


@dataclass(frozen=True)
class SuiteEntry:
    """Environment of a suite, with arguments of `palaestra.evaluate`."""

    env: str
    episodes: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Any] | None = None
    difficulties: tuple[float, ...] | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Keyword arguments for `palaestra.evaluate`, without the environment."""
        names = ("episodes", "env_kwargs", "axes", "difficulties")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Suite:
    """Named, fixed list of tasks.

    Attributes:
        name: full name, such as "palaestra/core".
        version: number of the version, from 1; raised whenever the tasks change.
        content_hash: stored result of the function `content_hash`.
        baselines: agent -> environment -> mean success, measured with this version; None if the agent could play no
            episode.
    """

    name: str
    version: int
    summary: str
    seed: int
    split: str
    entries: tuple[SuiteEntry, ...]
    content_hash: str
    baselines: Mapping[str, Mapping[str, float | None]]

    @property
    def episodes(self) -> int:
        return sum(entry.episodes for entry in self.entries)

    def tasks(self) -> list[tuple[str, dict[str, Any]]]:
        """Return each environment with its arguments of `palaestra.evaluate`."""
        return [(entry.env, entry.settings | {"seed": self.seed, "split": self.split}) for entry in self.entries]


def suite_names() -> list[str]:
    """Return the names of all suites, sorted."""
    names = (path.name for path in _FOLDER.iterdir())
    return sorted(f"palaestra/{name.removesuffix('.json')}" for name in names if name.endswith(".json"))


def find_suite(name: str) -> Suite:
    """Find a suite by its name, with or without "palaestra/".

    Raises:
        InputError: the suite is unknown; the message lists similar names.
    """
    full = name if "/" in name else f"palaestra/{name}"
    if full not in suite_names():
        raise unknown_name("suite", name, suite_names(), "suites")
    data = json.loads((_FOLDER / f"{full.partition('/')[2]}.json").read_text("utf-8"))
    entries = tuple(_entry(row, data["episodes"]) for row in data["environments"])
    return Suite(
        name=full,
        version=data["version"],
        summary=data["summary"],
        seed=data["seed"],
        split=data["split"],
        entries=entries,
        content_hash=data["content_hash"],
        baselines=data.get("baselines", {}),
    )


def _entry(row: str | Mapping[str, Any], episodes: int) -> SuiteEntry:
    if isinstance(row, str):
        return SuiteEntry(f"palaestra/{row}", episodes)
    difficulties = row.get("difficulties")
    return SuiteEntry(
        env=f"palaestra/{row['env']}",
        episodes=row.get("episodes", episodes),
        env_kwargs=row.get("env_kwargs", {}),
        axes=row.get("axes"),
        difficulties=None if difficulties is None else tuple(difficulties),
    )


def content_hash(suite: Suite) -> str:
    """Return the first 16 hexadecimal digits of a SHA-256 hash of the ids of all tasks, in order. All tasks are
    generated, by resetting each environment once per episode."""
    digest = hashlib.sha256()
    for task in _task_ids(suite):
        digest.update(task.encode() + b"\n")
    return digest.hexdigest()[:16]


def _task_ids(suite: Suite) -> Iterator[str]:
    for entry in suite.entries:
        env = gym.make(environment_spec(entry.env), disable_env_checker=True, split=suite.split, **entry.env_kwargs)
        plan = EpisodePlan(env, entry.env, entry.episodes, suite.seed, entry.difficulties, entry.axes)
        for index in range(entry.episodes):
            record, options = plan.begin(index)
            _, info = env.reset(seed=record.seed, options=options)
            if "task_id" not in info:
                raise InputError(f"{entry.env} gives its tasks no id, so that no suite can hold it.")
            yield f"{entry.env} {info['task_id']}"
        env.close()
