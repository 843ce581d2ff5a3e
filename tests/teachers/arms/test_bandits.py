"""DUMP (2504.09710), EXP3 and EXP3.S (1704.03003), ODM (2312.02406), Thompson sampling (2510.26374, 2305.10718)."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.arms.exp3 import RewardRescaler
from palaestra.teachers.arms.payoff import Payoff

HALF = [1.0, 0.0] * 4


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def resumed(teacher, other):
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    return other


def test_pay_is_what_its_name_says():
    returns = [np.array([0.0, 1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0])]
    paid = {kind: [Payoff(kind, 8).of(0, r) for r in returns[:1]] for kind in ("advantage", "return")}
    assert paid["advantage"] == pytest.approx([2 * math.sqrt(0.25 * 0.75)], abs=1e-5)
    assert paid["return"] == [0.25]
    change, gain = Payoff("change", 8), Payoff("gain", 8)
    assert [change.of(0, r) for r in returns] == [None, 0.25, 0.5]
    assert [gain.of(0, r) for r in returns] == [None, 0.25, -0.5]
    assert change.of(1, returns[0]) is None  # another arm has no last return yet


def test_advantages_of_single_returns_wait_for_their_group():
    payoff = Payoff("advantage", 4)
    assert [payoff.of(0, np.array([r])) for r in (1.0, 0.0, 1.0)] == [None] * 3
    assert payoff.of(1, np.array([0.0])) is None
    assert payoff.of(0, np.array([0.0])) == pytest.approx(1.0, abs=1e-5)


def test_bonuses_of_99_and_0_rollouts_are_0_3035_and_3_0349():
    teacher = arms("dump")
    teacher.counts[:] = [99, 0]
    assert teacher.bonuses() == pytest.approx([0.3035, 3.0349], abs=5e-5)
    assert teacher.distribution() == pytest.approx([0.0, 1.0], abs=1e-9)


def test_equal_counts_and_levels_are_uniform_and_levels_count_by_a_tenth():
    teacher = arms("dump", n=4)
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))
    teacher.counts[:], teacher.levels[:] = 50, [0.2, 0.1, 0.1, 0.1]
    p = teacher.distribution()
    assert p[0] / p[1] == pytest.approx(math.e)


def test_of_400_advantages_the_last_300_remain():
    teacher = arms("dump")
    for _ in range(25):
        teacher.update(0, [0.5] * 8)  # 200 advantages of 0
    for _ in range(25):
        teacher.update(0, HALF)  # and 200 of 1
    assert teacher.levels[0] == pytest.approx(200 / 300, abs=1e-5)
    assert teacher.counts.tolist() == [400, 0]
    assert resumed(teacher, arms("dump")).levels[0] == teacher.levels[0]


def test_groups_may_be_counted_instead_of_rollouts():
    teacher = arms("dump", counts="groups", group=2)
    teacher.update(0, HALF)
    for ret in (1.0, 0.0, 1.0):
        teacher.update(1, ret)
    assert teacher.counts.tolist() == [1, 1]


def exp3s(**options):
    given = {"payoff": "return", "rescale": False, "eta": 0.1, "floor": 0.2}
    return arms("exp3.s", **{**given, **options})


def test_two_steps_of_exp3s_on_two_arms():
    teacher = exp3s()
    teacher.update(0, 1.0)  # alpha_1 = 1: each arm takes the other's weight; 1 / p = 2
    assert teacher.w[1] - teacher.w[0] == pytest.approx(0.2)
    teacher.update(0, 1.0)  # alpha_2 = 1/2: both arms get the mean of both weights
    assert teacher.w[1] - teacher.w[0] == pytest.approx(0.0)
    teacher.update(0, 1.0)  # alpha_3 = 1/3; from equal weights, p = 1/2
    mixed = math.log((2 / 3 * math.exp(0.2) + 1 / 3) / (2 / 3 + math.exp(0.2) / 3))
    assert teacher.w[0] - teacher.w[1] == pytest.approx(mixed)


def test_one_step_of_exp3s_from_unequal_weights():
    teacher = exp3s(sharing=0.25)
    teacher.w[:] = [0.3, -0.1]
    p0 = 0.8 / (1 + math.exp(-0.4)) + 0.1
    v0, v1 = math.exp(0.3 + 0.1 * 0.5 / p0), math.exp(-0.1)
    teacher.update(0, 0.5)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(math.log((0.75 * v0 + 0.25 * v1) / (0.75 * v1 + 0.25 * v0)))


def test_exp3_adds_the_importance_weighted_pay_and_shares_nothing():
    teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.2)
    teacher.update(0, 1.0)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(0.2)
    p0 = 0.8 / (1 + math.exp(-0.2)) + 0.1
    teacher.update(0, 0.5)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(0.2 + 0.05 / p0)


def test_pay_is_divided_by_the_probability_at_the_draw_however_late_it_comes():
    teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.0)
    late = next(p for p in teacher.propose(50) if p.task == 0)
    teacher.w[:] = [0.0, -5.0]
    teacher.observe([Outcome(late.id, late.task, [1.0])])
    assert teacher.w[0] - teacher.w[1] == pytest.approx(5.0 + 0.1 / 0.5)


@pytest.mark.parametrize(("importance", "p"), [("mixed", 0.1), ("unmixed", None)])
def test_the_mixed_probability_bounds_the_weight_and_the_unmixed_does_not(importance, p):
    teacher = arms("exp3", payoff="return", rescale=False, eta=1e-3, floor=0.2, importance=importance)
    teacher.w[:] = [-8.0, 0.0]
    unmixed = 1 / (1 + math.exp(8.0))
    teacher.update(0, 1.0)
    expected = 1e-3 / (p + 0.8 * unmixed if p else unmixed)
    assert teacher.w[0] - teacher.w[1] + 8.0 == pytest.approx(expected)


def test_a_floor_of_1_is_uniform():
    teacher = exp3s(floor=1.0)
    teacher.w[:] = [3.0, -3.0]
    assert teacher.distribution().tolist() == [0.5, 0.5]


def test_constant_pay_leaves_exp3s_uniform():
    teacher = arms("exp3.s", n=4, payoff="return", eta=0.5)
    for _ in range(200):
        teacher.update(teacher.sample(), 0.7)
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))


def test_sharing_finds_the_arm_that_becomes_the_best_and_none_does_not():
    shares = {}
    for name, sharing in (("exp3.s", 0.01), ("exp3", 0.0)):
        teacher = arms(name, n=4, payoff="return", rescale=False, eta=0.2, floor=0.1, sharing=sharing)
        for t in range(1200):
            best = 0 if t < 900 else 3
            task = teacher.sample()
            teacher.update(task, float(task == best))
        shares[name] = teacher.distribution()[3]
    assert shares["exp3.s"] > 0.85
    assert shares["exp3"] < 0.1


def test_percentiles_of_the_reservoir_become_minus_1_and_1():
    rescaling, rng = RewardRescaler(1000), np.random.default_rng(0)
    assert rescaling(0.3, rng) == 0.0
    for value in range(101):
        rescaling(float(value), rng)
    rescaling.restore({"seen": 101, "sorted": list(range(101))})
    assert rescaling(50.0, rng) == pytest.approx(0.0, abs=0.02)
    assert [rescaling(x, rng) for x in (0.0, 10.0, 90.0)] == [-1.0, -1.0, 1.0]
    assert rescaling(65.0, rng) == pytest.approx(0.5, abs=0.05)


def test_the_reservoir_is_a_uniform_sample_of_all_pay():
    kept = []
    for seed in range(40):
        rescaling, rng = RewardRescaler(50), np.random.default_rng(seed)
        for value in range(1000):
            rescaling(float(value), rng)
        assert len(rescaling.save()["sorted"]) == 50
        kept += rescaling.save()["sorted"]
    assert np.mean(kept) == pytest.approx(500, abs=25)
    assert np.mean(np.array(kept) < 200) == pytest.approx(0.2, abs=0.04)


def test_pay_may_be_divided_by_what_the_arm_costs():
    for cost, gain in ((None, 0.2), (4.0, 0.05)):
        teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.0, per_cost=True)
        proposal = next(p for p in teacher.propose(50) if p.task == 0)
        teacher.observe([Outcome(proposal.id, 0, [1.0], cost=cost)])
        assert teacher.w[0] - teacher.w[1] == pytest.approx(gain)


def test_an_arm_whose_return_changes_is_preferred():
    teacher = arms("exp3.s", n=3, eta=0.1)
    for t in range(600):
        task = teacher.sample()
        teacher.update(task, [0.0, (t % 40) / 40, 1.0][task])
    assert teacher.distribution().argmax() == 1


def test_the_exploration_rate_of_odm():
    teacher = arms("odm", n=4)
    assert teacher.exploration(0) == 0.25
    assert teacher.exploration(100) == pytest.approx(math.sqrt(math.log(4) / 400))
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))


def test_one_batch_of_odm_averages_the_importance_weighted_pay_of_each_arm():
    teacher = arms("odm", n=2, payoff="return", alpha=0.9)
    proposals = teacher.propose(60)
    first = [p for p in proposals if p.task == 0][:2]
    teacher.observe([Outcome(p.id, 0, [r]) for p, r in zip(first, (1.0, 0.5))])
    assert teacher.estimates == pytest.approx([0.1 * 0.75 / 0.5, 0.0])
    assert teacher.t == 1
    teacher.t = 100
    now, before = teacher.exploration(100), teacher.exploration(99)
    weights = np.exp(before * teacher.estimates)
    assert teacher.distribution() == pytest.approx((1 - 2 * now) * weights / weights.sum() + now)


def test_thompson_aims_at_the_arm_solved_half_of_the_time():
    teacher, rng = arms("thompson", n=3), np.random.default_rng(0)
    for _ in range(30):
        proposals = teacher.propose(8)
        chance = [0.02, 0.5, 0.98]
        teacher.observe([Outcome(p.id, p.task, (rng.random(8) < chance[p.task]).astype(float)) for p in proposals])
    assert np.mean([p.task == 1 for p in teacher.propose(300)]) > 0.9


def test_thompson_draws_each_arm_as_often_as_its_posterior_wins():
    teacher, rng = arms("thompson", n=2, seed=1), np.random.default_rng(0)
    teacher.rates.alpha[:], teacher.rates.beta[:] = [5.0, 2.0], [5.0, 8.0]
    draws = np.abs(rng.beta([5.0, 2.0], [5.0, 8.0], size=(100_000, 2)) - 0.5)
    wins = np.mean(draws[:, 0] < draws[:, 1])
    assert np.mean([p.task == 0 for p in teacher.propose(4000)]) == pytest.approx(wins, abs=0.03)


def test_decay_bounds_the_evidence_a_posterior_holds():
    teacher = arms("thompson", decay=0.75)
    for _ in range(200):
        teacher.update(0, HALF)
    assert teacher.rates.alpha[0] + teacher.rates.beta[0] == pytest.approx(2 + 8 / 0.25)


def test_many_arms_share_posterior_draws_and_a_batch_repeats_none_within_one():
    teacher = arms("thompson-progress", n=5000)
    assert len({p.task for p in teacher.propose(64)}) == 64
    assert len(arms("thompson-progress", n=2).propose(9)) == 9


def test_progress_posterior_in_numbers_and_the_return_of_uncertainty():
    teacher = arms("thompson-progress", payoff="return", gamma=0.5, scale=0.2)
    teacher.update(0, 1.0)
    teacher.update(0, 0.5)
    assert teacher.counts.tolist() == [1.5, 0.0]
    assert teacher.sums.tolist() == [1.0, 0.0]
    for _ in range(20):
        teacher.update(1, 0.5)
    assert teacher.counts[0] < 1e-5
    draws = teacher._scores(20_000)
    assert draws.std(0) == pytest.approx([0.2, 0.2 / math.sqrt(teacher.counts[1] + 1)], rel=0.03)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dump", {"window": 0}),
        ("dump", {"tau": 0.0}),
        ("dump", {"counts": "tokens"}),
        ("exp3.s", {"eta": -1.0}),
        ("exp3.s", {"sharing": 1.5}),
        ("exp3.s", {"importance": "none"}),
        ("exp3.s", {"payoff": "loss"}),
        ("exp3", {"reservoir": 1}),
        ("odm", {"alpha": 1.1}),
        ("odm", {"group": 1}),
        ("thompson", {"target": 1.2}),
        ("thompson", {"prior": (0.0, 1.0)}),
        ("thompson", {"decay": 0.0}),
        ("thompson-progress", {"gamma": 0.0}),
        ("thompson-progress", {"scale": 0.0}),
    ],
)
def test_options_out_of_range_are_refused(name, options):
    with pytest.raises(InputError, match=next(iter(options))):
        arms(name, **options)
