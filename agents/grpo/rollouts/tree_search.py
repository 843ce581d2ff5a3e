"""Rollout strategies that search over steps: the whole tree as a group, or pairs of its steps.

The searches, selection rules and values are those of ``palaestra eval --search`` (see `agents.search`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....checks import check_choice, check_count, check_number
from ...search.searches import Search, parse_search
from ...search.step_model import StepModel, first_error_pairs
from ...search.step_pairs import step_pairs
from ...search.waves import TaskSearch, play_out, tokenize_cues
from ..batch.trajectory import Group
from ..recipes.recipe import Component
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask, Start
from .episode_tree import tree_group
from .independent import Strategy


class _Searching(Strategy):
    """Base class: searches each task with as many episodes as it has samples."""

    by: str
    search: Search
    needs = frozenset[str]()

    def read_search(self) -> None:
        """Make the search from ``by``; without a budget, only the number of samples bounds it."""
        component = Component.parse(self.by)
        fixed: dict[str, Any] = {} if "budget" in component.params else {"budget": 1 << 40}
        fixed |= {} if "value" in component.params else {"value": "verdict"}
        self.search = parse_search(str(component), **fixed)
        self.needs = self.search.scorer.needs

    def grow_trees(self, tasks: Sequence[RolloutTask], player: EpisodePlayer, trained: bool) -> list[TaskSearch]:
        """Play the searches of all tasks to the end."""
        cues = tokenize_cues(self.search, player)
        seeds = player.rng.integers(1 << 62, size=len(tasks))
        searches = [
            TaskSearch(
                self.search,
                Start(task, temperature=self.search.temperature),
                np.random.default_rng(int(seed)),
                cues,
                trained=trained,
                episodes=task.samples,
            )
            for task, seed in zip(tasks, seeds, strict=True)
        ]
        play_out(searches, player)
        return searches


@ROLLOUTS.register("search")
@dataclass(eq=False)
class TreeSearch(_Searching):
    """Search over the steps of each task; all episodes of the tree form the group (AlphaLLM, arXiv 2404.12253; V-STAR,
    arXiv 2602.10699).

    Each task is searched with as many episodes as it has samples, fewer if a budget of tokens ends the search before.

    Args:
        by: the search with its options, see `agents.search.searches`; without the option ``value`` it is the verdict.
        copies: shared tokens are trained "once", in the episode that sampled them, or in "each" episode that has them.
        model: file for a process reward model that learns from the first wrong steps of the trees (OmegaPRM, arXiv
            2406.06592; best with the search "omega"), for the search value ``model``; "" for none. The metrics
            ``step_model/pairs`` and ``step_model/accuracy`` are of a batch's pairs before the model learns from them.
    """

    by: str = "mcts"
    copies: str = "once"
    model: str = ""

    provides = frozenset({"nodes"})

    def __post_init__(self) -> None:
        check_choice("copies", self.copies, ("once", "each"))
        self.read_search()
        self._model = StepModel(self.model) if self.model else None
        self._metrics: dict[str, float] = {}

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        searches = self.grow_trees(tasks, player, self.copies == "each")
        if self._model is not None:
            self._metrics = self._model.learn([pair for s in searches for pair in first_error_pairs(s.tree, player)])
        return [tree_group(task, each.tree.members) for task, each in zip(tasks, searches, strict=True)]

    def metrics(self) -> dict[str, float]:
        return self._metrics

    def state_dict(self) -> dict[str, Any]:
        return {} if self._model is None else self._model.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self._model is not None:
            self._model.load_state_dict(state)


@ROLLOUTS.register("search_pairs")
@dataclass(eq=False)
class SearchPairs(_Searching):
    """Search over the steps of each task, and return better and worse steps after the same prefix, for preference
    losses (rStar-Math, arXiv 2501.04519); see `agents.search.step_pairs`.

    Groups after the first of a task have no proposal of the teacher.

    Args:
        by: see `TreeSearch`.
        each: number of better and of worse steps of a prefix.
        most: largest number of prefixes of a task.
        least: difference of mean values that better and worse steps must exceed.
    """

    by: str = "mcts"
    each: int = 2
    most: int = 4
    least: float = 0.0

    def __post_init__(self) -> None:
        check_count("each", self.each, 1)
        check_count("most", self.most, 1)
        check_number("least", self.least, 0)
        self.read_search()

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        first, further = [], []
        for task, each in zip(tasks, self.grow_trees(tasks, player, trained=False), strict=True):
            pairs = step_pairs(each.tree, self.each, self.most, self.least)
            first.append(replace(pairs[0], proposal=task.proposal) if pairs else Group(task.proposal, ()))
            further += pairs[1:]
        return [*first, *further]
