"""Durations of environment steps that a run has measured, so that a resumed run uses the same.

Time is no function of the seed. A run whose learning depends on it appends what it measured to ``durations.jsonl``,
which a resume does not cut back: steps that are played again take the recorded durations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..batch.trajectory import Group
from .folder import RunFolder

LOG = "durations"


class DurationLog:
    """Recorded durations of a run, by (step, round of collection)."""

    def __init__(self, folder: RunFolder):
        self._folder = folder
        rows = folder.read(LOG, 0, 1 << 62)
        self._recorded = {(row["step"], row["round"]): row["seconds"] for row in rows}

    def repeat(self, step: int, round_: int, groups: Sequence[Group]) -> list[Group]:
        """Return the groups with the durations recorded for this round of a step; record theirs if there are none, or
        if they are those of other episodes."""
        measured = [[turn.seconds for turn in t.turns] for group in groups for t in group.trajectories]
        recorded = self._recorded.get((step, round_), [])
        if list(map(len, recorded)) != list(map(len, measured)):
            self._recorded[step, round_] = measured
            self._folder.append(LOG, [{"step": step, "round": round_, "seconds": measured}])
            return list(groups)
        rows = iter(recorded)
        return [
            replace(
                group,
                trajectories=tuple(
                    replace(t, turns=tuple(replace(turn, seconds=s) for turn, s in zip(t.turns, next(rows))))
                    for t in group.trajectories
                ),
            )
            for group in groups
        ]
