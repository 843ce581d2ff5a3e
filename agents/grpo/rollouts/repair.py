"""Strategies that play a failed episode again from the turn with its error, after an oracle's correction or after the
policy's own reflection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....errors import InputError
from ..batch.trajectory import Group, Origin, Trajectory
from ..recipes.stages import ROLLOUTS
from .independent import Strategy, play_by_task
from .lineage import Member, Shoot, grow, tree_group
from .player import Player
from .starts import RolloutTask, branch


def first_error(trajectory: Trajectory, least: float = 0.0) -> int | None:
    """Index of the first turn with an action error or a reward below ``least``; None if there is none."""
    for number, turn in enumerate(trajectory.turns):
        if turn.action_error is not None or turn.reward < least:
            return number
    return None


@ROLLOUTS.register("first_error_repair")
@dataclass(eq=False)
class FirstErrorRepair(Strategy):
    """Play a failed episode again from its first error: the oracle writes that turn, the policy continues, and the new
    episode joins the group if it succeeds (SCOPE, arXiv 2602.24110, section 3).

    An episode without an error is not played again. The environment's rewards and error messages take the place of the
    paper's process reward model.

    Args:
        least: a turn with a smaller reward is an error.
        copies: the turns before the error, shared with the failed episode, are trained "once" or in "each" of both.
    """

    least: float = 0.0
    copies: str = "once"

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        if self.copies not in ("once", "each"):
            raise InputError(f"copies must be 'once' or 'each', not {self.copies!r}.")

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        grow(player, tasks, trees, [[Shoot()] * task.samples for task in tasks])
        places = [self._find_errors(tree) for tree in trees]
        trained = self.copies == "each"
        starts = [
            [
                branch(task, tree[n].played, turn, 0, trained, oracle_turns=1, oracle_origin=Origin.TEACHER)
                for n, turn in several
            ]
            for task, tree, several in zip(tasks, trees, places, strict=True)
        ]
        for tree, several, wave in zip(trees, places, play_by_task(player, starts), strict=True):
            for (parent, turn), played in zip(several, wave, strict=True):
                if played.trajectory.valid and played.trajectory.success:
                    shared = sum(len(t.act_ids) for t in tree[parent].trajectory.turns[:turn])
                    tree.append(Member(played, parent, shared))
        return [tree_group(task, tree) for task, tree in zip(tasks, trees, strict=True)]

    def _find_errors(self, tree: Sequence[Member]) -> list[tuple[int, int]]:
        """Member and turn of the first error of each failed episode."""
        places = []
        for number, member in enumerate(tree):
            turn = first_error(member.trajectory, self.least)
            if member.trajectory.valid and not member.trajectory.success and turn is not None:
                places.append((number, turn))
        return places


_TURN = re.compile(r"turn\s+#?(\d{1,4})", re.IGNORECASE)


@ROLLOUTS.register("reflect_retry")
@dataclass(eq=False)
class ReflectRetry(Strategy):
    """Play half of the samples, let the policy reflect on each failure and name the turn with the error, and retry from
    that turn with the reflection as a hint (R3L, arXiv 2601.03715, section 3.1).

    The hint is left out of the trained context. The turns before it are shared nodes, to be masked in both episodes. If
    the reflection names no turn of the episode, the retry starts at the first one. Samples of the second half without a
    failure to reflect on begin anew.

    Args:
        question: the request for a reflection; ``{episode}`` stands for the failed episode.
        template: the hint; ``{hint}`` stands for the reflection.
        reflections: also return reflections that led to a success, as groups of one with role "reflection" and
            advantage 1 (`Trajectory.advantage`).
    """

    question: str = (
        "{episode}\nThis attempt failed. Name the first turn that went wrong (turn 1, turn 2, ...) and say what to do "
        "instead."
    )
    template: str = "Advice: {hint}"
    reflections: bool = False

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        if "{episode}" not in self.question or "{hint}" not in self.template:
            raise InputError("question must contain {episode} and template {hint}.")

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        grow(player, tasks, trees, [[Shoot()] * (task.samples - task.samples // 2) for task in tasks])
        failed = [
            [n for n, m in enumerate(tree) if m.trajectory.valid and not m.trajectory.success and m.trajectory.turns]
            for tree in trees
        ]
        failed = [several[: task.samples // 2] for several, task in zip(failed, tasks, strict=True)]
        asked = [(i, n) for i, several in enumerate(failed) for n in several]
        answers = player.ask([self.question.replace("{episode}", transcript(trees[i][n].trajectory)) for i, n in asked])
        shoots: list[list[Shoot]] = [[] for _ in tasks]
        for (i, n), answer in zip(asked, answers, strict=True):
            turn = find_named_turn(answer.action, len(trees[i][n].trajectory.turns))
            hint = self.template.replace("{hint}", answer.action) if answer.action.strip() else ""
            shoots[i].append(Shoot(n, turn, hint=hint, keep_hint=False))
        for task, several in zip(tasks, shoots, strict=True):
            several += [Shoot()] * (task.samples // 2 - len(several))
        grow(player, tasks, trees, shoots)
        groups = [tree_group(task, tree) for task, tree in zip(tasks, trees, strict=True)]
        if not self.reflections:
            return groups
        return [*groups, *self._collect_reflections(trees, asked, answers, player)]

    def _collect_reflections(self, trees, asked, answers, player: Player) -> list[Group]:
        helpful = []
        for (i, n), answer in zip(asked, answers, strict=True):
            retry = next(m.trajectory for m in trees[i] if m.parent == n)
            if retry.valid and retry.success:
                reflection = replace(retry, turns=(replace(answer, reward=1.0),), nodes=(), rescore=False, guided=0.0)
                helpful.append(Group(-1, (replace(reflection, role="reflection", advantage=1.0, truncated=False),)))
        return helpful


def transcript(trajectory: Trajectory) -> str:
    """The episode as text, its turns numbered from 1."""
    lines = []
    for number, turn in enumerate(trajectory.turns, 1):
        lines += [turn.observation, f"Turn {number}: {turn.action}"]
    return "\n".join(lines)


def find_named_turn(reflection: str, turns: int) -> int:
    """Read the turn that a reflection names, counted from 0 ("turn 1" is 0); 0 if it names none of the ``turns``."""
    match = _TURN.search(reflection)
    number = int(match.group(1)) - 1 if match else 0
    return number if 0 <= number < turns else 0
