"""Empowerment: information of the next actions about the following state, as the capacity of a channel in nats.

In: an environment in a state. Its successors are found by taking every action from a snapshot, which is restored after
each action. Gridworlds are stepped as values, which gives the same result faster.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from ....envs.grids.grid_env import RulesEnv
from ....envs.grids.grid_rules import GridRules
from ....envs.grids.grid_world import World
from ....errors import InputError
from ....teachers.students.tabular import observation_key

_END = "end"


def channel_capacity(p_ys: np.ndarray, tolerance: float = 1e-9, rounds: int = 10_000) -> float:
    """Return ``max over p(a) of I(a; s')`` in nats by Blahut and Arimoto (both IEEE Trans. Inf. Theory 18, 1972).

    Each round multiplies p(a) by exp(D(p(s'|a) || p(s'))). The capacity lies between the logarithms of the mean and of
    the maximum of this factor, and the rounds end when these are within ``tolerance``.

    Args:
        p_ys: [actions, successors], the probability of each successor after each action; rows sum to 1.
        tolerance: tolerance in nats.
        rounds: most rounds.

    Raises:
        InputError: a row is not a distribution.
    """
    p_ys = np.asarray(p_ys, dtype=np.float64)
    if p_ys.ndim != 2 or not p_ys.size or (p_ys < 0).any() or not np.allclose(p_ys.sum(1), 1.0):
        raise InputError(f"the rows of a channel must be distributions over successors, not {p_ys.tolist()}.")
    p_a = np.full(len(p_ys), 1.0 / len(p_ys))
    low = 0.0
    for _ in range(rounds):
        p_s = p_a @ p_ys
        ratios = np.divide(p_ys, p_s, out=np.ones_like(p_ys), where=p_ys > 0)
        factors = np.exp((p_ys * np.log(ratios)).sum(1))
        low, high = math.log(float(p_a @ factors)), math.log(float(factors.max()))
        if high - low <= tolerance:
            break
        p_a = p_a * factors / (p_a @ factors)
    return max(low, 0.0)


@functools.lru_cache(maxsize=16_384)
def count_worlds(rules: GridRules, world: World, horizon: int) -> int:
    """Count the different states in which ``horizon`` actions from a gridworld can end; an end of the mission or a
    failure counts as a separate, absorbing state."""
    reached: dict[Hashable, World | None] = {_identify(world): world}
    for _ in range(horizon):
        following: dict[Hashable, World | None] = {}
        for key, here in reached.items():
            if here is None:
                following[key] = None
                continue
            for action in range(rules.actions):
                after = rules.advance(here, action)
                over = rules.flags(after)[-1] or rules.fails(here, action, after)
                identity = (_END, *_identify(after)) if over else _identify(after)
                following.setdefault(identity, None if over else after)
        reached = following
    return len(reached)


def _identify(world: World) -> tuple[Any, ...]:
    """Identify a world by what can be seen of it, without the randomness that was drawn for it."""
    return world.cells, world.agent, world.facing, world.carried


def successors(env: Any, horizon: int, draws: int = 1) -> np.ndarray:
    """Return p(s'|a) [action sequences, successors] of an environment that can be restored, from its present state.

    A successor is the observation after the last action plus whether the episode has ended; an episode that ends
    earlier stays in that successor. The environment's state is restored afterwards.

    Args:
        env: environment with Discrete actions, ``get_state`` and ``set_state``.
        horizon: actions of a sequence.
        draws: repetitions of each sequence with other random numbers; 1 for deterministic environments.
    """
    first, count = int(env.action_space.start), int(env.action_space.n)
    before, generator = env.get_state(), env.np_random.bit_generator.state
    columns: dict[Hashable, int] = {}
    ends: list[list[int]] = []
    for sequence in itertools.product(range(first, first + count), repeat=horizon):
        ends.append([])
        for draw in range(draws):
            env.set_state(before)
            if draws > 1:
                env.np_random.bit_generator.state = np.random.default_rng(draw).bit_generator.state
            key: Hashable = None
            for action in sequence:
                observation, _, terminated, truncated, _ = env.step(action)
                key = observation_key(observation), bool(terminated)
                if terminated or truncated:
                    break
            ends[-1].append(columns.setdefault(key, len(columns)))
    env.set_state(before)
    env.np_random.bit_generator.state = generator
    found = np.zeros((len(ends), len(columns)))
    for row, reached in zip(found, ends, strict=True):
        np.add.at(row, reached, 1.0)
    return found / draws


def empowerment(env: Any, horizon: int = 1, draws: int = 1) -> float:
    """Return the capacity in nats of the channel from the next ``horizon`` actions to the state after them.

    Args:
        env: an environment in a state that has not ended.
        horizon, draws: as in `successors`; a gridworld is not random, as all of its randomness was drawn at the reset.
    """
    if isinstance(env, RulesEnv):
        return math.log(count_worlds(env.rules, env.here(), horizon))
    found = successors(env, horizon, draws)
    if ((found == 0) | (found == 1)).all():
        return math.log(found.shape[1])
    return channel_capacity(found)
