"""A serial chain: the computed levels are the best ones, and the computed cost is that of a long run."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.games.supply_chain import SupplyProblem

PROBLEM = SupplyProblem(5, 15, 19, to_shop=1, to_warehouse=2, margin=0.1, demands=())


def simulate(shop_level: int, chain_level: int, weeks: int = 6000) -> float:
    """Mean weekly cost of two levels, written anew from the rules."""
    demands = np.random.default_rng(0).integers(5, 16, weeks).tolist()
    shop, on_way, warehouse, first, second, cost = shop_level, 0, chain_level - shop_level, 0, 0, 0
    for demand in demands:
        warehouse, here = warehouse + first, shop + on_way
        order = max(0, chain_level - (here + warehouse + second))
        shipment = min(warehouse, max(0, shop_level - here))
        shop, on_way, warehouse = shop + on_way - demand, shipment, warehouse - shipment
        first, second = second, order
        cost += warehouse + on_way + (2 * shop if shop > 0 else -19 * shop)
    return cost / weeks


def test_the_levels_minimise_the_cost_and_the_cost_is_that_of_a_long_run():
    levels = PROBLEM.shop_level, PROBLEM.chain_level
    best = simulate(*levels)
    assert PROBLEM.chain_cost(levels[1]) == pytest.approx(best, rel=0.03)
    for change in ((-3, 0), (3, 0), (0, -4), (0, 4)):
        assert simulate(levels[0] + change[0], levels[1] + change[1]) > best
    costs = [PROBLEM.chain_cost(position) for position in range(levels[1] - 15, levels[1] + 16)]
    assert int(np.argmin(costs)) == 15


def test_without_a_shortage_at_the_warehouse_the_shop_is_a_newsvendor():
    # b = 19, h = 1 in the shop's own cost of 2 - 1: fractile 20 / 21 of the demand of two weeks.
    totals = sorted(a + b for a in range(5, 16) for b in range(5, 16))
    assert PROBLEM.shop_level == totals[int(np.ceil(20 / 21 * 121)) - 1]


def test_more_than_the_warehouse_has_cannot_be_shipped_and_units_move_on():
    env = gym.make("palaestra/SupplyChain-v0", to_shop=1, to_warehouse=2).unwrapped
    env.reset(seed=0)
    start = env.here()
    info = env.step(f"{start.available + 1}, 0")[4]
    assert f"at most {start.available}" in info["action_error"]
    assert env.here() == start
    info = env.step(f"ship {start.available} and order 5")[4]
    after, demand = env.here(), start.problem.demands[0]
    assert (after.warehouse, after.shipped, after.ordered) == (0, (start.available,), (start.ordered[1], 5))
    assert after.shop == start.shop + start.shipped[0] - demand
    held = 2 * after.shop if after.shop > 0 else -start.problem.backlog * after.shop
    assert info["cost"] == after.cost == held + start.available
