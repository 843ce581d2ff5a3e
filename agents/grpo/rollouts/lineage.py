"""Episodes that branch off from one another, and the tree that a group of them makes.

A group grows in waves: each wave plays shoots, which begin anew or leave an earlier member somewhere in its action
tokens. At the end every trajectory is told its path through the tree, so that credit knows which stretches are shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ..batch.trajectory import Group, Node, Trajectory
from .independent import play_by_task
from .player import Player
from .starts import PlayedEpisode, RolloutTask, Start, branch


@dataclass(frozen=True)
class Shoot:
    """An episode to be played: a new one, or one that leaves member ``parent`` after ``tokens`` tokens of its action
    ``turn``. ``hint`` and ``keep_hint`` are those of `Start`.
    """

    parent: int = -1
    turn: int = 0
    tokens: int = 0
    hint: str = ""
    keep_hint: bool = True


@dataclass(frozen=True)
class Member:
    """An episode of the group; its first ``shared`` action tokens are those of member ``parent`` (-1: of none)."""

    played: PlayedEpisode
    parent: int = -1
    shared: int = 0

    @property
    def trajectory(self) -> Trajectory:
        return self.played.trajectory


def grow(
    player: Player,
    tasks: Sequence[RolloutTask],
    trees: Sequence[list[Member]],
    shoots: Sequence[Sequence[Shoot]],
    *,
    trained: bool = False,
    entropies: bool = False,
) -> None:
    """Play the shoots of all tasks in one wave and append them to their trees.

    Args:
        trained: copied tokens are trained in every copy, not only where they were sampled.
    """
    starts = [
        [_start(task, tree, shoot, trained) for shoot in several]
        for task, tree, several in zip(tasks, trees, shoots, strict=True)
    ]
    waves = play_by_task(player, starts, states=True, entropies=entropies)
    for tree, several, wave in zip(trees, shoots, waves, strict=True):
        tree += [
            Member(played, shoot.parent, _shared(tree, shoot)) for shoot, played in zip(several, wave, strict=True)
        ]


def _start(task: RolloutTask, tree: Sequence[Member], shoot: Shoot, trained: bool) -> Start:
    if shoot.parent < 0:
        return Start(task, hint=shoot.hint, keep_hint=shoot.keep_hint)
    parent = tree[shoot.parent].played
    return branch(task, parent, shoot.turn, shoot.tokens, trained, hint=shoot.hint, keep_hint=shoot.keep_hint)


def _shared(tree: Sequence[Member], shoot: Shoot) -> int:
    if shoot.parent < 0:
        return 0
    return sum(len(turn.act_ids) for turn in tree[shoot.parent].trajectory.turns[: shoot.turn]) + shoot.tokens


def place_of(trajectory: Trajectory, token: int) -> tuple[int, int]:
    """Turn and place within its action of an action token, counted over the episode."""
    for turn, played in enumerate(trajectory.turns):
        if token < len(played.act_ids):
            return turn, token
        token -= len(played.act_ids)
    raise IndexError(f"the trajectory ends {token + 1} tokens before.")


def turn_starts(trajectory: Trajectory) -> list[int]:
    """The first action token of each turn."""
    starts, at = [], 0
    for turn in trajectory.turns:
        starts.append(at)
        at += len(turn.act_ids)
    return starts


def tree_group(task: RolloutTask, tree: Sequence[Member]) -> Group:
    """The group of a task, with each trajectory's path through its tree."""
    paths = zip(tree, _paths(tree), strict=True)
    return Group(task.proposal, tuple(replace(member.trajectory, nodes=path) for member, path in paths))


def _paths(tree: Sequence[Member]) -> list[tuple[Node, ...]]:
    """Nodes of each member: stretches between places where somebody leaves, named by who sampled them first."""
    owned: list[list[tuple[int, int, int]]] = []  # (owner, begin, end) of each stretch of a member's tokens
    cuts: dict[int, set[int]] = {}
    for number, member in enumerate(tree):
        length = member.trajectory.action_tokens
        path = []
        shared = min(member.shared, length)  # An episode whose machinery failed may have less than it was to copy.
        if member.parent >= 0:
            for owner, begin, end in owned[member.parent]:
                if begin < shared:
                    path.append((owner, begin, min(end, shared)))
                    cuts.setdefault(owner, set()).add(min(end, shared))
        if length > shared:
            path.append((number, shared, length))
        owned.append(path)
    nodes = []
    for path in owned:
        stretches = []
        for owner, begin, end in path:
            edges = sorted({begin, end, *(cut for cut in cuts.get(owner, ()) if begin < cut < end)})
            stretches += [Node(f"{owner}:{a}", b - a) for a, b in pairwise(edges)]
        nodes.append(tuple(stretches))
    return nodes
