"""Bonus for states whose description in words resembles a description of the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import option
from ....envs.grids.descriptions import describe_words
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_planner import find_action
from ....envs.grids.grid_world import World
from ....envs.grids.vocabulary import make_vocabulary
from ....errors import InputError
from ....rewards.embedding import Embedder, HashedNgrams
from ....rewards.terms.goals import COLUMNS, GoalText
from .bonus import register
from .slot_bonus import PLAIN, StateBonus

_WORDS = make_vocabulary("plain", 0, True)
_LEAST = 1e-3
"""Smallest divisor for the difference between first state and goal, whose descriptions may be equal."""


@register("goal-text")
class GoalTextBonus(StateBonus):
    """Similarity of a description of the agent's view to that of a goal, along the direction from a baseline to the
    goal; by default the end and the start of the planner's path (VLM-RM, arXiv 2310.12921). form="plain" adds the
    similarity itself, as the paper does, instead of potential differences (see `StateBonus`).

    The similarity is computed by `palaestra.rewards.terms.goals.GoalText`. The descriptions are those of the
    gridworld's text version. With form "potential" the similarity is scaled to 0 in the first state of an episode and 1
    at the goal.
    """

    paper = "VLM-RM, arXiv 2310.12921"
    weight: float = 0.3
    goal: str | None = option(default=None, says="text of the goal; None: the planner's last state in each level.")
    baseline: str | None = option(default=None, says="text of an ordinary state; None: the first state of each level.")
    alpha: float = option(default=0.5, low=0, high=1, says="weight of the direction from baseline to goal.")
    embedder: Embedder = option(default=HashedNgrams(columns=COLUMNS), says="text embedding, see `GoalText`.")

    def setup(self) -> None:
        super().setup()
        goal, baseline = self.goal, self.baseline
        if goal is not None or baseline is not None:
            texts = "goal" if goal is None else goal, "state" if baseline is None else baseline
            GoalText(*texts, self.alpha, self.embedder)
        # Slot -> descriptions of the episode's goal and baseline, their similarity function, and its values by state.
        self._levels: dict[int, tuple[Any, GoalText, dict[World, float]]] = {}

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(
                f"the bonus {self.name!r} describes gridworlds only, not {envs[0]}; the reward 'goal-text' reads the "
                "texts of a text environment."
            )
        super().attach(envs)

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        env = self.env_of(slot)
        first = describe(env, env.here())
        goal = self.goal or describe(env, find_end(env))
        baseline = self.baseline or first
        likeness = GoalText(goal, baseline, self.alpha, self.embedder)
        return {"texts": [goal, baseline], "first": likeness(first)}

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        episode, env = self.episode_memory(slot), self.env_of(slot)
        level = self._levels.get(slot)
        if level is None or level[0] != episode["texts"]:
            goal, baseline = episode["texts"]
            likeness = GoalText(goal, baseline, self.alpha, self.embedder)
            level = self._levels[slot] = (episode["texts"], likeness, {})
        _, likeness, known = level
        world = env.here()
        if world not in known:
            known[world] = likeness(describe(env, world))
        if self.form == PLAIN:
            return known[world]
        return (known[world] - episode["first"]) / max(1.0 - episode["first"], _LEAST)


def describe(env: Any, world: World) -> str:
    """Return the view of a gridworld's agent in sentences."""
    return describe_words(world, env.viewer, _WORDS)


def find_end(env: Any) -> World:
    """Return the last state on the planner's shortest path from the current state."""
    rules, world = env.rules, env.here()
    for _ in range(rules.limit(world)):
        if rules.flags(world)[-1]:
            break
        world = rules.advance(world, find_action(rules, world))
    return world
