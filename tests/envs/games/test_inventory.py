"""Ordering stock: the optimum is the newsvendor's quantile, and judged without luck."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.games.inventory import base_stock_level, demand_distribution, expected_cost, weekly_cost


def test_best_position_is_the_quantile_of_the_critical_fractile():
    # b = 9, h = 1: the 0.9 quantile of a demand of 1 to 10 is 9, where E = (0.1 * (8 + 7 + ... + 1) + 9 * 0.1).
    assert base_stock_level(1, 10, 1, backlog=9) == 9
    assert expected_cost(9, 1, 10, 1, 9) == pytest.approx(3.6 + 0.9)
    for weeks, backlog in ((1, 4), (2, 9), (4, 19)):
        best = base_stock_level(3, 17, weeks, backlog)
        costs = [expected_cost(position, 3, 17, weeks, backlog) for position in range(weeks * 20)]
        assert best == int(np.argmin(costs))


def test_demand_of_two_weeks_is_the_convolution_of_one():
    assert demand_distribution(1, 2, 2).tolist() == [0.25, 0.5, 0.25]
    assert demand_distribution(5, 9, 3).sum() == pytest.approx(1.0)


def test_a_unit_left_over_costs_one_and_a_unit_short_the_backlog_cost():
    assert [weekly_cost(stock, 9) for stock in (3, 0, -2)] == [3, 0, 18]


def test_an_order_arrives_after_the_lead_time_and_unmet_demand_waits():
    env = gym.make("palaestra/Inventory-v0", lead_time=2).unwrapped
    env.reset(seed=1)
    start = env.here()
    demands, cost = start.shop.demands, 0
    stock = start.stock + start.coming[0] - demands[0]
    for order, arriving in ((7, start.coming[1]), (0, 7)):
        info = env.step(str(order))[4]
        assert env.here().stock == stock
        assert info["cost"] == weekly_cost(stock, start.shop.backlog)
        cost += info["cost"]
        stock += arriving - demands[env.here().week]
    assert env.here().cost == cost
    env.step("0")
    assert env.here().stock == stock


def test_luck_does_not_decide_and_shares_sum_to_one_for_the_optimum():
    env = gym.make("palaestra/Inventory-v0", pay="share", difficulty=1.0).unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        total, done = 0.0, False
        while not done:
            _, reward, done, _, info = env.step(env.oracle())
            total += reward
        assert info["is_success"]
        assert total == pytest.approx(1.0)
    env.reset(seed=0)
    best = env.here().shop.base_stock
    worst = env.step(str(best * 3))[1]
    assert 0 < worst < 0.5 / len(env.here().shop.demands)
