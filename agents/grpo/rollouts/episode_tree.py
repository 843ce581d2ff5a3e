"""Groups whose episodes branch off from one another and form trees.

A group grows in several steps. Each plays a number of `PlannedEpisode`s: new episodes, or branches from an earlier
member after some of its action tokens. At the end every trajectory gets its path through the tree (`Trajectory.nodes`),
from which credit assignment reads the segments that episodes share.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from ....checks import check_choice, check_number
from ..batch.trajectory import Group, Node, Trajectory
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start, branch
from .independent import play_by_task

STEPS = ("step", "turn", "line", "sentence", "token")
"""Steps into which an episode can be cut, see `step_starts`."""
_SENTENCE = re.compile(r"[.!?\n]\s$")


@dataclass(frozen=True)
class PlannedEpisode:
    """Episode to play: a new one, or a branch from member ``parent`` after ``tokens`` tokens of its action ``turn``.

    See `Start` for ``hint`` and ``keep_hint``.
    """

    parent: int = -1
    turn: int = 0
    tokens: int = 0
    hint: str = ""
    keep_hint: bool = True


@dataclass(frozen=True)
class Member:
    """Episode of the group whose first ``shared`` action tokens are those of member ``parent`` (-1: none)."""

    played: FinishedEpisode
    parent: int = -1
    shared: int = 0

    @property
    def trajectory(self) -> Trajectory:
        return self.played.trajectory


def grow(
    player: EpisodePlayer,
    tasks: Sequence[RolloutTask],
    trees: Sequence[list[Member]],
    planned: Sequence[Sequence[PlannedEpisode]],
    *,
    trained: bool = False,
    entropies: bool = False,
) -> None:
    """Play the planned episodes of all tasks together and append them to the trees.

    Args:
        trees: the members of each task so far, extended in place.
        trained: train copied tokens in every copy, not only in the episode that sampled them.
    """
    starts: list[list[Start]] = []
    shared: list[list[int]] = []
    for task, tree, several in zip(tasks, trees, planned, strict=True):
        starts.append([])
        shared.append([])
        for plan in several:
            hint = {"hint": plan.hint, "keep_hint": plan.keep_hint}
            if plan.parent < 0:
                starts[-1].append(Start(task, **hint))
                shared[-1].append(0)
            else:
                parent = tree[plan.parent]
                starts[-1].append(branch(task, parent.played, plan.turn, plan.tokens, trained, **hint))
                copied = parent.trajectory.turns[: plan.turn]
                shared[-1].append(sum(len(turn.act_ids) for turn in copied) + plan.tokens)
    by_task = play_by_task(player, starts, states=True, entropies=entropies)
    for tree, several, lengths, episodes in zip(trees, planned, shared, by_task, strict=True):
        tree += [Member(p, plan.parent, length) for p, plan, length in zip(episodes, several, lengths, strict=True)]


def place_of(trajectory: Trajectory, token: int) -> tuple[int, int]:
    """Return (turn, index within its action) of the action token with index ``token`` in the episode."""
    for turn, played in enumerate(trajectory.turns):
        if token < len(played.act_ids):
            return turn, token
        token -= len(played.act_ids)
    raise IndexError(f"the trajectory ends {token + 1} tokens before.")


def turn_starts(trajectory: Trajectory) -> list[int]:
    """Return the index of each turn's first action token, counted over the episode's action tokens."""
    starts, at = [], 0
    for turn in trajectory.turns:
        starts.append(at)
        at += len(turn.act_ids)
    return starts


def check_steps(at: str, every: int) -> None:
    """Check the arguments ``at`` and ``every`` of `step_starts`."""
    check_choice("at", at, STEPS)
    check_number("every", every, 1)


def step_starts(
    trajectory: Trajectory, text_of: Callable[[Sequence[int]], str], at: str, every: int = 100
) -> list[int]:
    """Return the index of each step's first token, except the first step's, among the episode's action tokens.

    Args:
        text_of: converts action tokens to text.
        at: a step begins at every "turn", after a token with a newline ("line"), at both ("step"), after a full stop,
            question mark or exclamation mark and white space, or a blank line ("sentence"), or every ``every`` action
            tokens ("token").
    """
    total = trajectory.action_tokens
    turns = [at for at in turn_starts(trajectory)[1:] if at < total]
    if at == "turn":
        return turns
    if at == "token":
        return list(range(every, total, every))
    ids = [i for turn in trajectory.turns for i in turn.act_ids]
    if at == "sentence":
        # Three tokens are enough for the mark and the space after it, and cost little to convert.
        return [n for n in range(1, total) if _SENTENCE.search(text_of(ids[max(0, n - 3) : n]))]
    newlines = {i for i in set(ids) if "\n" in text_of([i])}
    lines = [n for n in range(1, total) if ids[n - 1] in newlines]
    return sorted({*lines, *turns}) if at == "step" else lines


def tree_group(task: RolloutTask, tree: Sequence[Member]) -> Group:
    """Make the group of a task, with each trajectory's path through the tree."""
    paths = zip(tree, _paths(tree), strict=True)
    return Group(task.proposal, tuple(replace(member.trajectory, nodes=path) for member, path in paths))


def _paths(tree: Sequence[Member]) -> list[tuple[Node, ...]]:
    """Return the nodes of each member: stretches between branching points, with keys "sampling member:first token"."""
    owned: list[list[tuple[int, int, int]]] = []  # (owner, begin, end) of each stretch of a member's tokens
    cuts: dict[int, set[int]] = {}
    for number, member in enumerate(tree):
        length = member.trajectory.action_tokens
        path = []
        shared = min(member.shared, length)  # An invalid episode may be shorter than its shared part.
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
