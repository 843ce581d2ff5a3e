"""Empowerment of a state: the capacity, in nats, of the channel from the next actions to the state after them.

The successors of an environment's state are found by taking every action from a snapshot of the environment. Gridworlds
are stepped by their pure transition function, which gives the same result faster.
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
    """Return ``max over p(a) of I(a; s')`` in nats, by the Blahut-Arimoto algorithm (Blahut; Arimoto; both IEEE Trans.
    Inf. Theory 18, 1972).

    Each iteration multiplies p(a) by exp(D(p(s'|a) || p(s'))). The capacity lies between the logarithms of the mean and
    of the maximum of this factor; the iterations end when the two differ by at most ``tolerance``.

    Args:
        p_ys: [actions, successors], the probability of each successor after each action; rows must sum to 1.
        tolerance: tolerance in nats.
        rounds: most iterations.

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
    """Return the number of different states that ``horizon`` actions from a gridworld's state can lead to. States in
    which the mission is accomplished or has failed are absorbing."""
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
    """Return the visible state of a world as a key, without the random numbers that were drawn for it."""
    return world.cells, world.agent, world.facing, world.carried


def successors(env: Any, horizon: int, draws: int = 1) -> np.ndarray:
    """Return p(s'|a) [action sequences, successors], from the environment's current state.

    A successor is the observation after the last action together with the termination flag; an episode that ends
    earlier stays in the successor reached. The environment's state is restored afterwards.

    Args:
        env: environment with Discrete actions, ``get_state`` and ``set_state``.
        horizon: number of actions in a sequence.
        draws: number of times that each sequence is taken, with different random numbers; 1 for deterministic
            environments.
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
        env: an environment whose episode has not ended.
        horizon, draws: as in `successors`; ``draws`` is ignored for gridworlds, which are deterministic after a reset.
    """
    if isinstance(env, RulesEnv):
        return math.log(count_worlds(env.rules, env.here(), horizon))
    found = successors(env, horizon, draws)
    if ((found == 0) | (found == 1)).all():
        return math.log(found.shape[1])
    return channel_capacity(found)
