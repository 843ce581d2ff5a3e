"""Strategies that go back to the turn where an episode went wrong: a teacher rewrites it, or the policy, after it has
thought about what went wrong.
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
    """The first turn whose action was an error or was paid less than ``least``; None where there is none."""
    for number, turn in enumerate(trajectory.turns):
        if turn.action_error is not None or turn.reward < least:
            return number
    return None


@ROLLOUTS.register("first_error_repair")
@dataclass(eq=False)
class FirstErrorRepair(Strategy):
    """A failed episode is played again from its first error: the oracle rewrites that turn, the policy goes on, and the
    result joins the group if it succeeds (SCOPE, arXiv 2602.24110, section 3).

    An episode without an error is never touched. What the environment pays and reports stands for the paper's process
    reward model.

    Args:
        least: a turn that is paid less is an error.
        copies: whether the turns before the error, which the failed episode shares, are trained "once" or in "each".
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
        places = [self._places(tree) for tree in trees]
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

    def _places(self, tree: Sequence[Member]) -> list[tuple[int, int]]:
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
    """Half of the samples first; the policy then reflects on each that failed, names the turn where it went wrong, and
    starts there again with its reflection as a hint (R3L, arXiv 2601.03715, section 3.1).

    The hint is taken out of the context that is trained, and the turns before it are shared nodes, to be masked in
    both. The first turn stands where the reflection names none, or one that there is not. What has no failure to
    reflect on begins anew.

    Args:
        question: what the policy is asked; ``{episode}`` stands for the failed episode.
        template: the hint; ``{hint}`` stands for the reflection.
        reflections: whether reflections that turned a failure into a success come as groups of their own, role
            "reflection", with advantage 1 (`Trajectory.advantage`).
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
        return [*groups, *self._reflections(trees, asked, answers, player)]

    def _reflections(self, trees, asked, answers, player: Player) -> list[Group]:
        helpful = []
        for (i, n), answer in zip(asked, answers, strict=True):
            retry = next(m.trajectory for m in trees[i] if m.parent == n)
            if retry.valid and retry.success:
                told = replace(retry, turns=(replace(answer, reward=1.0),), nodes=(), rescore=False, guided=0.0)
                helpful.append(Group(-1, (replace(told, role="reflection", advantage=1.0, truncated=False),)))
        return helpful


def transcript(trajectory: Trajectory) -> str:
    """The episode as text, its turns numbered from 1."""
    lines = []
    for number, turn in enumerate(trajectory.turns, 1):
        lines += [turn.observation, f"Turn {number}: {turn.action}"]
    return "\n".join(lines)


def find_named_turn(reflection: str, turns: int) -> int:
    """The turn (from 0) that a reflection names ("turn 1" is the first); 0 where it names none of the ``turns``."""
    match = _TURN.search(reflection)
    number = int(match.group(1)) - 1 if match else 0
    return number if 0 <= number < turns else 0
