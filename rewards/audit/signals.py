"""Signals of bad trajectories, read off recorded episodes without a model, and the scan of a whole file.

`trouble` and `cheats` find the signals; a new signal is a function there and a row of `SIGNALS` here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from .cheats import (
    find_empty_wins,
    find_false_working,
    find_hard_coding,
    find_hedges,
    find_intrusions,
    find_pleas,
    find_unearned,
)
from .traces import Row, Signal, Trace, read_trace
from .trouble import (
    find_dragging,
    find_drift,
    find_giving_up,
    find_machinery,
    find_oscillation,
    find_repetition,
    find_retries,
    find_unknown_tools,
    find_unusable,
)

SEVEREST = 3
FEWEST = 5
"""Fewest successful episodes of an environment from which its usual reward is taken."""
FEWEST_OF_TASK = 2
"""Fewest successful episodes of a task from which its usual number of turns is taken."""

SIGNALS: Mapping[str, tuple[str, Callable[[Trace], Iterator[Signal]]]] = {
    "retry": ("loop", find_retries),
    "drift": ("loop", find_drift),
    "oscillation": ("loop", find_oscillation),
    "dragging": ("loop", find_dragging),
    "repetition": ("loop", find_repetition),
    "unusable actions": ("failure", find_unusable),
    "unknown tool": ("failure", find_unknown_tools),
    "machinery": ("machinery", find_machinery),
    "giving up": ("giving up", find_giving_up),
    "speaks to the judge": ("cheat", find_pleas),
    "reaches for the grader": ("cheat", find_intrusions),
    "stored results": ("cheat", find_hard_coding),
    "several answers": ("cheat", find_hedges),
    "reward for nothing": ("cheat", find_empty_wins),
    "false working": ("cheat", find_false_working),
    "reward without success": ("cheat", find_unearned),
}
"""Signal -> (kind, function that finds it in an episode)."""


def scan_trace(trace: Trace) -> list[Signal]:
    """Return all signals of an episode, in the order of `SIGNALS`."""
    found = [signal for _, find in SIGNALS.values() for signal in find(trace)]
    return [Signal(signal.name, signal.turn, " ".join(signal.detail.split())[:120]) for signal in found]


def severity(signals: Sequence[Signal]) -> int:
    """Return 0 to 3: the number of signals, at most 3 (Signals, arXiv 2604.00356)."""
    return min(SEVEREST, len(signals))


@dataclass(frozen=True)
class Scanned:
    """Signals of one episode.

    Args:
        row: the episode.
        signals: its signals; none for a sound episode.
    """

    row: Row
    signals: tuple[Signal, ...]

    @property
    def severity(self) -> int:
        return severity(self.signals)


@dataclass(frozen=True)
class Usual:
    """Medians of the successful episodes of a file.

    Args:
        turns: (environment, task) -> number of turns, of tasks with at least `FEWEST_OF_TASK` successes.
        reward: environment -> sum of rewards, of environments with at least `FEWEST` successes.
    """

    turns: Mapping[tuple[str, str], float]
    reward: Mapping[str, float]

    @classmethod
    def of(cls, rows: Sequence[Row], default_env: str = "") -> Usual:
        """Compute the medians of a file; arguments as for `scan_rows`."""
        lengths: dict[tuple[str, str], list[int]] = {}
        rewards: dict[str, list[float]] = {}
        for row in rows:
            if row.get("is_success") and row.get("reward_valid") is not False:
                name = _environment(row, default_env)
                if row.get("task_id"):
                    lengths.setdefault((name, str(row["task_id"])), []).append(len(row.get("turns") or ()))
                if isinstance(row.get("return"), (int, float)):
                    rewards.setdefault(name, []).append(float(row["return"]))
        return cls(
            {task: float(statistics.median(of)) for task, of in lengths.items() if len(of) >= FEWEST_OF_TASK},
            {name: statistics.median(of) for name, of in rewards.items() if len(of) >= FEWEST},
        )


def scan_rows(rows: Sequence[Row], default_env: str = "", usual: Usual | None = None) -> list[Scanned]:
    """Scan the episodes of a file.

    Args:
        rows: the episodes.
        default_env: environment of rows that do not name theirs.
        usual: usual turns and rewards; None: those of ``rows``.
    """
    usual = Usual.of(rows, default_env) if usual is None else usual
    scanned = []
    for row in rows:
        name = _environment(row, default_env)
        trace = read_trace(row, usual.turns.get((name, str(row.get("task_id")))), usual.reward.get(name))
        scanned.append(Scanned(row, tuple(scan_trace(trace))))
    return scanned


def _environment(row: Row, default: str) -> str:
    return str(row.get("env") or (row.get("params") or {}).get("env") or default)
