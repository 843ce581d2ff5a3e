"""A level of a gridworld as a tabular MDP: all worlds reachable from a start, and the transitions between them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from .grid_rules import GridRules
from .grid_world import World

if TYPE_CHECKING:
    from ...rewards.audit.mdp import TabularMDP

MOST = 2000
"""Maximum number of worlds in a model; the transition table has its square times the number of actions."""


@dataclass(frozen=True, eq=False)
class LevelModel:
    """A level with deterministic actions.

    Attributes:
        mdp: the MDP; its last state is the absorbing end of an episode.
        reward: [S, A], 1 for accomplishing the mission and the family's penalty for failing it.
        progress: [S, A], progress after the action, in [0, 1].
        index: identity of a world -> index of its state.
    """

    mdp: TabularMDP
    reward: np.ndarray
    progress: np.ndarray
    index: dict[Hashable, int]


def identify(world: World) -> Hashable:
    """Return the identity of a world: all fields that affect its future."""
    return world.cells, world.agent, world.facing, world.carried, world.task, world.memo


def model_level(rules: GridRules, world: World, discount: float, most: int = MOST) -> LevelModel:
    """Enumerate the worlds reachable from a world. Mutually reachable worlds give the same model.

    Raises:
        InputError: more than ``most`` worlds.
    """
    # Imported here, so that importing the gridworlds does not load the audit of rewards.
    from ...rewards.audit.mdp import TabularMDP

    worlds: dict[Hashable, World] = {identify(world): world}
    ways: dict[Hashable, list[tuple[Hashable | None, float, float]]] = {}
    waiting = [identify(world)]
    for key in waiting:
        here, found = worlds[key], []
        for action in range(rules.actions):
            after = rules.advance(here, action)
            flags = rules.flags(after)
            failed = not flags[-1] and rules.fails(here, action, after)
            over = flags[-1] or failed
            reward = 1.0 if flags[-1] else rules.penalty if failed else 0.0
            there = None if over else identify(after)
            if there is not None and there not in worlds:
                worlds[there] = after
                waiting.append(there)
                if len(worlds) > most:
                    raise InputError(
                        f"this level has more than {most} states, too many for a table; take a smaller one, such as "
                        "--axis size=5."
                    )
            found.append((there, reward, rules.progress(flags)))
        ways[key] = found
    index = {key: number for number, key in enumerate(sorted(worlds, key=repr))}
    end, actions = len(index), rules.actions
    chances = np.zeros((end + 1, actions, end + 1))
    rewards, progress = np.zeros((end + 1, actions)), np.zeros((end + 1, actions))
    chances[end, :, end] = 1.0
    for key, found in ways.items():
        for action, (there, reward, share) in enumerate(found):
            chances[index[key], action, end if there is None else index[there]] = 1.0
            rewards[index[key], action], progress[index[key], action] = reward, share
    return LevelModel(TabularMDP(chances, discount), rewards, progress, index)
