"""Rollout strategy without sampling: recorded replies to prompts, in pairs of a chosen and a rejected one, or labelled
one by one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ....checks import check_count, check_number
from ....envs.datasets.sources import read_source
from ....errors import InputError
from ....rewards.models.preference_rows import Messages, PreferenceRow, read_preference
from ..batch.trajectory import Group, Origin, Trajectory, Turn
from ..recipes.stages import ROLLOUTS
from .environments import Environments
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .independent import Strategy

_MEASURED = 100
"""Most held-out pairs that are measured."""


@ROLLOUTS.register("preferences")
@dataclass(eq=False)
class RecordedPreferences(Strategy):
    """Give each task of a step the replies of a row of preference data in place of samples: data for "dpo", "t_reg",
    "ipo_pairs", "kto", "rrhf" and other losses of pairs or of labelled replies, offline.

    Rows are drawn without replacement, in a new order in each pass over the data, which depends on ``seed`` and the
    step alone. A chosen reply is worth (1 + strength) / 2 and a rejected one (1 - strength) / 2, so that their outcomes
    differ by the pair's strength, 1 unless the row has a "margin" or "strength". The last turns, in which the replies
    differ, are trained; the turns before have the origin HINT. The environment has no part in this but in the
    evaluations, and the teacher receives no outcomes. Rows that do not fit into the context are left out.

    Metrics: ``preferences/passes``, passes over the data so far; ``preferences/left_out``, the step's rows that did not
    fit; with ``held_out``, of pairs whose prompts are not trained on, ``preferences/held_out_gain``, by how many nats
    log pi of the chosen reply has gained on that of the rejected one since the first step, and
    ``preferences/held_out_accuracy``, the share of pairs in which it has gained: that of DPO's implicit reward.

    Args:
        file: rows as `rewards.models.preference_rows` reads them: a file of JSON lines, JSON, CSV or Parquet, a folder,
            or a data set of the hub.
        part: part of a folder or a data set of the hub, such as "train_prefs".
        held_out: share of the prompts, chosen by their content, that is not trained on.
        every: steps between measurements of the held-out pairs.
        seed: seed of the orders.
    """

    file: str
    part: str | None = None
    held_out: float = 0.0
    every: int = 20
    seed: int = 0

    abilities: ClassVar[frozenset[str]] = frozenset({"forced"})

    def __post_init__(self) -> None:
        check_number("held_out", self.held_out, 0.0, 0.5)
        check_count("every", self.every, 1, "steps")
        self._first: list[float] = []  # lead of each held-out pair at the first measurement, nats
        self._metrics: dict[str, float] = {}
        self._order = -1, np.zeros(0, int)  # number of a pass over the data, and its order

    @cached_property
    def _rows(self) -> tuple[list[PreferenceRow], list[PreferenceRow]]:
        """The rows to learn from, and the held-out ones."""
        sides: tuple[list[PreferenceRow], list[PreferenceRow]] = [], []
        for place, record in read_source(self.file, self.part):
            try:
                row = read_preference(record)
                if row.strength is not None and row.strength <= 0:
                    raise InputError(f"the margin of a pair must be above 0, not {row.strength}; leave it out for 1.")
            except InputError as error:
                raise InputError(f"{place}: {error}") from None
            if row.chosen != row.rejected:
                sides[zlib.crc32(repr(row.prompt).encode()) % 1000 < 1000 * self.held_out].append(row)
        if not sides[0] or (self.held_out and not any(row.chosen and row.rejected for row in sides[1])):
            raise InputError(
                f"{self.file} has {len(sides[0])} rows to learn from and {len(sides[1])} held out, whose replies "
                "differ; take a file with more, or held_out=0."
            )
        return sides

    def check(self, environments: Environments) -> None:
        _ = self._rows  # raises InputError for rows that cannot be read

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        rows, held_out = self._rows
        first = player.step * len(tasks)
        groups = [
            Group(task.proposal, _replies(rows[self._place(first + n)], task, player)) for n, task in enumerate(tasks)
        ]
        left_out = sum(not group.trajectories for group in groups)
        self._metrics = {"preferences/passes": (first + len(tasks)) / len(rows), "preferences/left_out": left_out}
        if held_out and (player.step % self.every == 0 or player.step + 1 == player.steps):
            pairs = (_replies(row, tasks[0], player) for row in held_out if row.chosen and row.rejected)
            leads = _leads([pair for pair, _ in zip(filter(None, pairs), range(_MEASURED))], player)
            self._first = self._first or leads
            gains = [now - then for now, then in zip(leads, self._first, strict=True)]
            if player.step:
                self._metrics["preferences/held_out_gain"] = float(np.mean(gains))
                self._metrics["preferences/held_out_accuracy"] = float(np.mean([gain > 0 for gain in gains]))
        return groups

    def _place(self, number: int) -> int:
        """Return which row is drawn as the ``number``-th of the run."""
        count = len(self._rows[0])
        passed, place = divmod(number, count)
        if self._order[0] != passed:
            self._order = passed, np.random.default_rng([self.seed, passed]).permutation(count)
        return int(self._order[1][place])

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._digest, "first": self._first}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state["rows"] != self._digest:
            raise InputError(f"{self.file} has changed since the run began; restore it, or begin another run.")
        self._first = list(state["first"])

    @cached_property
    def _digest(self) -> int:
        return zlib.crc32(repr(self._rows).encode("utf-8", "replace"))


def _replies(row: PreferenceRow, task: RolloutTask, player: EpisodePlayer) -> tuple[Trajectory, ...]:
    """Return the replies of a row as episodes of a task, the chosen one first; () if one does not fit into the
    context."""
    strength = 1.0 if row.strength is None else row.strength
    sides = ((row.chosen, (1 + strength) / 2), (row.rejected, (1 - strength) / 2))
    found = [_make_episode(row.prompt, reply, value, task, player) for reply, value in sides if reply]
    whole = all(sum(len(t.obs_ids) + len(t.act_ids) for t in one.turns) <= player.limits.context for one in found)
    return tuple(found) if whole else ()


def _make_episode(
    prompt: Messages, reply: Messages, value: float, task: RolloutTask, player: EpisodePlayer
) -> Trajectory:
    """Return a conversation as an episode with the outcome ``value``, of which the turns of the reply are trained."""
    messages = [*prompt, *reply]
    system = messages.pop(0)[1] if messages[0][0] == "system" else ""
    renderer = player.renderer.with_system(system) if system else player.renderer
    given, turns = (len(messages) - len(reply)) // 2, list[Turn]()
    for number, ((_, asked), (_, said)) in enumerate(zip(messages[::2], messages[1::2])):
        seen, ids = renderer.observation(asked, first=number == 0), renderer.action_ids(said)
        last = 2 * number + 2 == len(messages)
        turn = Turn(seen, ids, (0.0,) * len(ids), "stop", value if last else 0.0, asked, said)
        turns.append(turn.attributed_to(Origin.HINT if number < given else Origin.TEACHER))
    return Trajectory(
        task_id=f"{zlib.crc32(repr(prompt).encode('utf-8', 'replace')):08x}",
        params=task.params,
        difficulty=0.0,
        turns=tuple(turns),
        success=value > 0.5,
        progress=float(value > 0.5),
        truncated=False,
        valid=True,
        max_tokens=player.limits.episode,
        system=system,
        version=-1,
    )


def _leads(pairs: Sequence[tuple[Trajectory, ...]], player: EpisodePlayer) -> list[float]:
    """Return log pi of the chosen reply minus that of the rejected one, for each pair, nats."""
    contexts, answers, signs = list[tuple[int, ...]](), list[tuple[int, ...]](), list[tuple[int, int]]()
    for place, pair in enumerate(pairs):
        for sign, episode in zip((1, -1), pair, strict=True):
            seen: tuple[int, ...] = ()
            for turn in episode.turns:
                seen += turn.obs_ids
                if Origin.HINT not in turn.token_origins:
                    contexts.append(seen)
                    answers.append(turn.act_ids)
                    signs.append((place, sign))
                seen += turn.act_ids
    leads = [0.0] * len(pairs)
    for (place, sign), logps in zip(signs, player.log_likelihoods(contexts, answers), strict=True):
        leads[place] += sign * sum(logps)
    return leads
