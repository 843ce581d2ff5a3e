"""A bonus for states whose description in words resembles the goal's description."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import check_share
from ....envs.grids.descriptions import describe_words
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.grid_planner import find_action
from ....envs.grids.grid_world import World
from ....envs.grids.vocabulary import Vocabulary, make_vocabulary
from ....errors import InputError
from ....rewards import StepReward
from ....rewards.embedding import Embedder, HashedNgrams
from ....rewards.terms.goals import COLUMNS, GoalText
from .bonus import BONUSES
from .slot_bonus import LEAVES, PLAIN, POTENTIAL, StateBonus

_LEAST = 1e-3
"""Of the difference between first state and goal, which may read alike."""


class GoalTextBonus(StateBonus):
    """Similarity of a state's description to the goal's description (`palaestra.rewards.terms.goals.GoalText`). A
    gridworld is described by its agent's view in sentences, as in its text twin.

    With form "plain" the similarity itself is added, as in the paper. With form "potential" it is scaled to 0 in the
    first state of an episode and 1 at the goal.

    Args:
        weight, discount, form: see `StateBonus`.
        goal: description of the goal; by default of the last state on the planner's shortest path in each level.
        baseline: description of an ordinary state; by default of the first state of each level.
        alpha: weight of the direction from baseline to goal, in [0, 1].
        embedder: see `GoalText`.
    """

    name = "goal-text"
    paper = "VLM-RM, arXiv 2310.12921"

    def __init__(
        self,
        weight: float,
        discount: float,
        form: str = POTENTIAL,
        goal: str | None = None,
        baseline: str | None = None,
        alpha: float = 0.5,
        embedder: Embedder = HashedNgrams(columns=COLUMNS),  # noqa: B008 frozen
    ):
        super().__init__(weight, discount, form)
        self.goal, self.baseline, self.embedder = goal, baseline, embedder
        self.alpha = check_share("alpha", alpha)
        if goal is not None or baseline is not None:
            GoalText("goal" if goal is None else goal, "state" if baseline is None else baseline, alpha, embedder)
        self._envs: Sequence[Any] = ()
        # By slot: the descriptions of the episode's goal and baseline, their reward, and its values by state so far.
        self._levels: dict[int, tuple[Any, GoalText, dict[World, float]]] = {}

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if not isinstance(envs[0], GridEnv):
            raise InputError(
                f"the bonus {self.name!r} describes gridworlds only, not {envs[0]}; the reward 'goal-text' reads the "
                "texts of a text environment."
            )
        self._envs = envs

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        if not self._envs:
            raise InputError(f"the bonus {self.name!r} has no environments yet; call attach(environments) first.")
        env = self._envs[slot]
        first = describe(env, env.here())
        goal = self.goal or describe(env, find_end(env))
        baseline = self.baseline or first
        likeness = GoalText(goal, baseline, self.alpha, self.embedder)
        return {"texts": [goal, baseline], "first": likeness(first)}

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float:
        episode, env = self.episode_memory(slot), self._envs[slot]
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
    return describe_words(world, env.viewer, _plain_words())


@functools.cache
def _plain_words() -> Vocabulary:
    return make_vocabulary("plain", 0, True)


def find_end(env: Any) -> World:
    """Return the last state on the planner's shortest path from the present state."""
    rules, world = env.rules, env.here()
    for _ in range(rules.limit(world)):
        if rules.flags(world)[-1]:
            break
        world = rules.advance(world, find_action(rules, world))
    return world


@BONUSES.register("goal-text")
def goal_text(
    discount: float,
    weight: float = 0.3,
    form: str = POTENTIAL,
    goal: str | None = None,
    baseline: str | None = None,
    alpha: float = 0.5,
) -> tuple[StepReward, str]:
    """Similarity of the agent's view, in words, to a goal in words, along the direction from a baseline to the goal; by
    default the end and the start of the planner's path (VLM-RM, arXiv 2310.12921). form="plain" adds it unshaped, as
    the paper does."""
    reward = GoalTextBonus(weight, discount, form, goal, baseline, alpha)
    return reward, LEAVES if form == POTENTIAL else "changes the optimal policies for good, to those that stay near"
