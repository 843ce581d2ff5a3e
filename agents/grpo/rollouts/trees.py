"""Rollout strategies whose episodes share beginnings: trees that branch at fixed or random positions, at uncertain
tokens, or after observations that raised the policy's entropy.

Every strategy plays exactly ``RolloutTask.samples`` episodes per task: samples left after branching are fresh episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....checks import check_choice, check_number
from ....errors import InputError
from ..batch.trajectory import Group, Origin, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .episode_tree import Member, PlannedEpisode, grow, place_of, tree_group, turn_starts
from .independent import Strategy

_COPIES = ("once", "each")


def _fill(
    player: EpisodePlayer, tasks: Sequence[RolloutTask], trees: Sequence[list[Member]], entropies: bool = False
) -> None:
    fresh = [[PlannedEpisode()] * (task.samples - len(tree)) for task, tree in zip(tasks, trees, strict=True)]
    grow(player, tasks, trees, fresh, entropies=entropies)


def _groups(tasks: Sequence[RolloutTask], trees: Sequence[Sequence[Member]]) -> list[Group]:
    return [tree_group(task, tree) for task, tree in zip(tasks, trees, strict=True)]


def _cut(token: int, parent: int, trajectory: Trajectory) -> PlannedEpisode:
    turn, inside = place_of(trajectory, token)
    return PlannedEpisode(parent, turn, inside)


@ROLLOUTS.register("split_tree")
@dataclass(eq=False)
class SplitTree(Strategy):
    """Continue every episode that reaches a split ``width`` times from there (BranchGRPO, arXiv 2509.06040, section
    3.2; TreeRPO, arXiv 2506.05183, section 3.1).

    Args:
        roots: number of episodes that begin the tree.
        width: number of branches that leave a split, including the episode that reached it.
        splits: number of splits along an episode.
        at: the k-th split is after k turns ("turn") or after k x ``spacing`` action tokens ("token").
        spacing: number of tokens between splits.
        copies: shared tokens are trained "once", in the episode that sampled them, or in "each" episode that has them.
    """

    roots: int = 1
    width: int = 2
    splits: int = 4
    at: str = "token"
    spacing: int = 16
    copies: str = "once"

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        check_number("roots", self.roots, 1)
        check_number("width", self.width, 1)
        check_number("splits", self.splits, 1)
        check_number("spacing", self.spacing, 1)
        check_choice("at", self.at, ("token", "turn"))
        check_choice("copies", self.copies, _COPIES)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        grow(player, tasks, trees, [[PlannedEpisode()] * min(self.roots, task.samples) for task in tasks])
        for split in range(1, self.splits + 1):
            planned = [self._plan(split, tree)[: task.samples - len(tree)] for task, tree in zip(tasks, trees)]
            grow(player, tasks, trees, planned, trained=self.copies == "each")
        _fill(player, tasks, trees)
        return _groups(tasks, trees)

    def _plan(self, split: int, tree: Sequence[Member]) -> list[PlannedEpisode]:
        places = [self._place(split, number, member.trajectory) for number, member in enumerate(tree)]
        # All members get a branch before any gets the next, so that the limit on samples affects all alike.
        return [place for _ in range(self.width - 1) for place in places if place is not None]

    def _place(self, split: int, number: int, trajectory: Trajectory) -> PlannedEpisode | None:
        if not trajectory.valid:
            return None
        if self.at == "turn":
            return PlannedEpisode(number, split) if split < len(trajectory.turns) else None
        token = split * self.spacing
        return _cut(token, number, trajectory) if token < trajectory.action_tokens else None


@ROLLOUTS.register("random_tree")
@dataclass(eq=False)
class RandomTree(Strategy):
    """Play a few independent episodes, then in each round ``expand`` new ones from random positions of each tree
    (Tree-GRPO, arXiv 2509.21240, section 3.2: positions are turns, copies are trained in each episode).

    The number of trees is samples / (1 + rounds x expand), at least 1.

    Args:
        expand: number of new episodes per round and tree.
        rounds: number of rounds of expansion.
        at: positions are the beginnings of later turns ("turn") or all action tokens except the first ("token").
        copies: see `SplitTree`.
    """

    expand: int = 2
    rounds: int = 1
    at: str = "turn"
    copies: str = "each"

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        check_number("expand", self.expand, 1)
        check_number("rounds", self.rounds, 1)
        check_choice("at", self.at, ("token", "turn"))
        check_choice("copies", self.copies, _COPIES)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        counts = [max(1, task.samples // (1 + self.rounds * self.expand)) for task in tasks]
        grow(player, tasks, trees, [[PlannedEpisode()] * min(n, task.samples) for n, task in zip(counts, tasks)])
        for _ in range(self.rounds):
            planned = [self._plan(tree, player)[: task.samples - len(tree)] for task, tree in zip(tasks, trees)]
            grow(player, tasks, trees, planned, trained=self.copies == "each")
        _fill(player, tasks, trees)
        return _groups(tasks, trees)

    def _plan(self, tree: Sequence[Member], player: EpisodePlayer) -> list[PlannedEpisode]:
        places: dict[int, list[PlannedEpisode]] = {}
        for number, member in enumerate(tree):
            trajectory = member.trajectory
            if not trajectory.valid:
                continue
            tokens = turn_starts(trajectory)[1:] if self.at == "turn" else range(1, trajectory.action_tokens)
            own = [_cut(token, number, trajectory) for token in tokens if token > member.shared]
            root = number
            while tree[root].parent >= 0:
                root = tree[root].parent
            places.setdefault(root, []).extend(own)
        return [
            choices[int(player.rng.integers(len(choices)))]
            for choices in places.values()
            if choices
            for _ in range(self.expand)
        ]


@ROLLOUTS.register("entropy_branch")
@dataclass(eq=False)
class EntropyBranch(Strategy):
    """Sample again from one uncertain token of each first answer (CURE, arXiv 2508.11016, section 3.1).

    One of the ``top`` positions of highest entropy is drawn uniformly; ``children`` answers share the tokens before it.
    The first token and tokens with fewer than ``visible`` visible characters are excluded. If no token has that many
    (with a character tokenizer), only tokens without any are excluded, such as special tokens.

    Args:
        children: number of branches of each first answer; samples / (1 + children) first answers are played. The
            paper's 16 samples are 4 first answers with 3 branches each.
        top: number of positions to choose from.
        visible: least number of visible characters of a token.
    """

    children: int = 3
    top: int = 20
    visible: int = 2

    provides = frozenset({"nodes"})
    abilities = frozenset({"entropies"})

    def __post_init__(self) -> None:
        check_number("children", self.children, 1)
        check_number("top", self.top, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        first = [max(1, task.samples // (1 + self.children)) for task in tasks]
        grow(
            player, tasks, trees, [[PlannedEpisode()] * min(n, t.samples) for n, t in zip(first, tasks)], entropies=True
        )
        planned = [self._plan(tree, player)[: task.samples - len(tree)] for task, tree in zip(tasks, trees)]
        grow(player, tasks, trees, planned)
        _fill(player, tasks, trees)
        return _groups(tasks, trees)

    def _plan(self, tree: Sequence[Member], player: EpisodePlayer) -> list[PlannedEpisode]:
        planned = []
        for number, member in enumerate(tree):
            places = self.positions(member.trajectory, player.renderer.action) if member.trajectory.valid else []
            if places:
                token = places[int(player.rng.integers(len(places)))]
                planned += [_cut(token, number, member.trajectory)] * self.children
        return planned

    def positions(self, trajectory: Trajectory, text_of: Callable[[Sequence[int]], str]) -> list[int]:
        """Return the indices of action tokens to branch before, the most uncertain first."""
        ids = [i for turn in trajectory.turns for i in turn.act_ids]
        entropy = [h for turn in trajectory.turns for h in turn.entropies]
        visible = [len(text_of([i]).strip()) for i in ids]
        for least in (self.visible, 1):
            eligible = [at for at in range(1, len(ids)) if visible[at] >= least]
            if eligible:
                return sorted(eligible, key=lambda at: (-entropy[at], at))[: self.top]
        return []


@ROLLOUTS.register("tool_branch")
@dataclass(eq=False)
class ToolBranch(Strategy):
    """Branch after observations that raised the policy's entropy (ARPO, arXiv 2507.19849, section 3.2).

    Before each turn except the first, an episode branches if u - weight x (H - H0) <= base, u uniform in [0, 1). H is
    the mean entropy of the turn's first ``window`` tokens, H0 the same mean in the first turn; both are divided by the
    logarithm of the vocabulary's size, so that they lie in [0, 1]. (The released code sums over the ten likeliest
    tokens instead.)

    Args:
        initial: share of the samples played from the beginning before any branching, in (0, 1].
        beam: number of branches that continue from a branch point, including the episode that reached it.
        base: probability of branching at unchanged entropy.
        weight: increase of the probability per unit of entropy.
        window: number of tokens over which entropy is averaged.
        vocabulary: size of the vocabulary; 0: the tokenizer's.
    """

    initial: float = 0.5
    beam: int = 2
    base: float = 0.5
    weight: float = 0.2
    window: int = 20
    vocabulary: int = 0

    provides = frozenset({"nodes"})
    abilities = frozenset({"entropies"})

    def __post_init__(self) -> None:
        check_number("beam", self.beam, 1)
        check_number("window", self.window, 1)
        if not 0 < self.initial <= 1:
            raise InputError(f"initial must be above 0 and at most 1, not {self.initial}.")

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        trees: list[list[Member]] = [[] for _ in tasks]
        planned = [[PlannedEpisode()] * math.ceil(self.initial * task.samples) for task in tasks]
        seen = [0] * len(tasks)
        while any(planned):
            grow(player, tasks, trees, planned, entropies=True)
            planned = [
                self._plan(tree, done, player)[: task.samples - len(tree)]
                for task, tree, done in zip(tasks, trees, seen, strict=True)
            ]
            seen = [len(tree) for tree in trees]
        _fill(player, tasks, trees, entropies=True)
        return _groups(tasks, trees)

    def _plan(self, tree: Sequence[Member], done: int, player: EpisodePlayer) -> list[PlannedEpisode]:
        """Return branches of the members from index ``done`` on, at turns that they did not copy, early turns first."""
        cuts: list[tuple[int, int]] = []
        for number in range(done, len(tree)):
            member = tree[number]
            if not member.trajectory.valid or not member.trajectory.turns:
                continue
            before = self._entropy(member.trajectory, 0, player)
            for turn, first in enumerate(turn_starts(member.trajectory)):
                own = turn > 0 and (member.parent < 0 or first > member.shared)
                if own and self.branches(
                    float(player.rng.random()), self._entropy(member.trajectory, turn, player) - before
                ):
                    cuts += [(turn, number)] * (self.beam - 1)
        return [PlannedEpisode(number, turn) for turn, number in sorted(cuts)]

    def branches(self, u: float, change: float) -> bool:
        """Return True if an episode branches, for a uniform draw ``u`` in [0, 1) and a change of normalised entropy."""
        return u - self.weight * change <= self.base

    def _entropy(self, trajectory: Trajectory, turn: int, player: EpisodePlayer) -> float:
        played = trajectory.turns[turn]
        sampled = [
            h
            for h, origin in zip(played.entropies, played.token_origins, strict=True)
            if origin in (Origin.POLICY, Origin.COPY)
        ][: self.window]
        size = self.vocabulary or len(getattr(player.renderer, "tokenizer", ()))
        if size < 2:
            raise InputError("tool_branch must know the vocabulary's size to measure entropy; give it vocabulary=N.")
        return sum(sampled) / max(1, len(sampled)) / math.log(size)
