"""Waves of a search: each task selects some prefixes, all of them are completed together, and their values decide the
next wave."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..grpo.rollouts.episode_player import EpisodePlayer
from ..grpo.rollouts.episode_starts import Start
from ..grpo.rollouts.episode_tree import step_starts
from .searches import Search
from .step_tree import StepNode, StepTree
from .values import Grown, tree_answers


@dataclass(eq=False)
class TaskSearch:
    """Search of one task.

    Args:
        search: the options.
        root: start of an episode at the beginning of the task.
        rng: generator of the rule's choices.
        cues: the search's cues, as tokens.
        noise: keys of the sampling noise, so that samples do not depend on other tasks; (): they depend on the order in
            which episodes are played.
        trained: train copied tokens in every episode.
        episodes: most episodes, in place of the search's number; the search then goes on when the task is solved.
        tokens: expected tokens of an episode before any has ended.
    """

    search: Search
    root: Start
    rng: np.random.Generator
    cues: Sequence[tuple[int, ...]] = ()
    noise: tuple[int, ...] = ()
    trained: bool = False
    episodes: int | None = None
    tokens: float = 1.0
    tree: StepTree = field(init=False)
    over: bool = field(init=False, default=False)
    _begun: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        search = self.search
        self.tree = StepTree(
            *(self.root, search.children, search.depth or math.inf, self.cues, self.trained, search.merge)
        )

    def select(self) -> list[tuple[StepNode, Start]]:
        """Return the prefixes of the next wave with the starts of their continuations; [] once the search is over."""
        search, tree, chosen = self.search, self.tree, []
        left = search.budget - tree.tokens
        mean = tree.tokens / len(tree.members) if tree.members else self.tokens
        # A full wave could exceed the budget by much, so it has as many episodes as the rest is expected to pay for.
        affordable = math.ceil(left / max(1.0, mean))
        episodes = search.episodes if self.episodes is None else self.episodes
        most = min(search.leaves, episodes - len(tree.members), affordable)
        ends = search.ends_when_solved and search.scorer.conclusive and self.episodes is None
        solved = ends and any((reward or 0.0) >= 1 for reward in tree.rewards)
        while not solved and left > 0 and len(chosen) < most:
            node = search.select(tree, self.rng)
            if node is None and not tree.root.pending:
                tree.widen()  # all prefixes have their continuations, and some of the budget is left
                node = search.select(tree, self.rng)
            if node is None:
                break
            start = tree.begin(node)
            self._begun += 1
            chosen.append((node, replace(start, noise=(*self.noise, self._begun)) if self.noise else start))
        self.over = not chosen
        return chosen

    def best(self) -> int | None:
        """Return the number of the episode with the highest value; None without a valid episode.

        Of equal values, the most frequent answer wins, then the earliest episode.
        """
        tree, answers = self.tree, tree_answers(self.tree)
        counts = Counter(answers.values())
        valued = [n for n in answers if tree.rewards[n] is not None]
        return max(valued or answers, key=lambda n: (tree.rewards[n] or 0.0, counts[answers[n]], -n), default=None)


def tokenize_cues(search: Search, player: EpisodePlayer) -> list[tuple[int, ...]]:
    """Return the cues of a search as action tokens, without the stop token."""
    return [player.renderer.action_ids(cue)[:-1] if cue else () for cue in search.cues]


def play_wave(searches: Sequence[TaskSearch], player: EpisodePlayer, at_once: int | None = None) -> bool:
    """Play one wave of the searches that are not over; return False if all are over.

    Args:
        searches: searches with the same options.
        at_once: most episodes in progress; None: no limit.
    """
    chosen = [(each, node, start) for each in searches if not each.over for node, start in each.select()]
    if not chosen:
        return False
    played = player.play([start for _, _, start in chosen], states=True, at_once=at_once)
    search, grown = chosen[0][0].search, {}
    for (each, node, _), episode in zip(chosen, played, strict=True):
        text_of, number = player.renderer.action, len(each.tree.members)
        trajectory = episode.trajectory
        starts = step_starts(trajectory, text_of, search.at, search.every) if trajectory.valid else []
        nodes = each.tree.add(node, episode, starts)
        members, known = grown.setdefault(each, ([], []))
        members += [number] if trajectory.valid and trajectory.turns else []
        known += nodes
    search.scorer([Grown(each.tree, *new) for each, new in grown.items()], player)
    return True


def play_out(searches: Sequence[TaskSearch], player: EpisodePlayer, at_once: int | None = None) -> None:
    """Play waves until all searches are over."""
    while play_wave(searches, player, at_once):
        pass
