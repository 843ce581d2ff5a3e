from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import palaestra
import pytest
from palaestra.envs.games.bandit import (
    PAYS,
    Bandit,
    BanditArms,
    BanditState,
    expected_regret,
    greedy_arm,
    thompson_arm,
    ucb_arm,
)
from palaestra.errors import InputError


def bandit(pay: str = "regret", kind: str = "bernoulli", chance: Any = None) -> Bandit:
    """Three arms of means 0.8, 0.2, 0.4: worth 1, 0 and a third; four pulls, of which success may lose 0.5."""
    env = Bandit(pay=pay)
    env.reset(seed=0)
    chance = chance or ((0.5, 0.9, 0.3, 0.1), (0.1, 0.9, 0.3, 0.5), (0.9, 0.1, 0.3, 0.5))
    arms = BanditArms(kind, (0.8, 0.2, 0.4), (1.0, 0.0, 1 / 3), tuple(chance), allowed=0.5)
    env.set_state({**env.get_state(), "state": BanditState(arms, (0, 0, 0), (0.0, 0.0, 0.0)), "limit": 8})
    return env


def test_ucb_weighs_mean_and_rarity_as_worked_by_hand():
    # t = 10: 1.0 + 0.5 sqrt(ln 10 / 4) = 1.379 against 0.9 + 0.5 sqrt(ln 10) = 1.659. Greedy would take the first.
    assert ucb_arm((4, 1), (4.0, 0.9), t=10) == 1
    assert ucb_arm((4, 4), (4.0, 3.6), t=10) == 0
    assert ucb_arm((1, 1), (0.5, 0.5)) == 0
    assert ucb_arm((3, 0, 0), (3.0, 0.0, 0.0)) == 1


def test_each_arm_pays_in_turn_what_was_drawn_for_it():
    env = bandit()
    env.step("1")
    assert env.here().sums == (1.0, 0.0, 0.0)  # 0.5 < 0.8
    env.step("arm 2")
    assert env.here().sums == (1.0, 1.0, 0.0)  # 0.1 < 0.2
    observation, *_ = env.step("1")  # 0.9 is not below 0.8
    assert observation == "Pull 4 of 4.\narm 1: 2 pulls, mean 0.50\narm 2: 1 pulls, mean 1.00\narm 3: 0 pulls"


def test_a_gaussian_pull_pays_its_mean_and_half_the_noise():
    env = bandit("sampled", "gaussian", ((0.5, 0.0, 0.0, 0.0), (-1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)))
    assert env.step("1")[1] == pytest.approx((0.8 + 0.25) / 4)
    assert env.step("2")[1] == pytest.approx((0.2 - 0.5) / 4)


def test_three_ways_to_pay():
    # UCB tries arms 1, 2, 3 in turn.
    actions = ("1", "1", "3", "2")
    rewards = {pay: [bandit_step[1] for bandit_step in map(bandit(pay).step, actions)] for pay in PAYS}
    assert rewards["regret"] == pytest.approx([1 / 4, 1 / 4, 1 / 12, 0.0])
    assert rewards["sampled"] == pytest.approx([1 / 4, 0.0, 0.0, 1 / 4])
    assert rewards["imitation"] == pytest.approx([1 / 4, 0.0, 0.0, 1 / 4])


def test_info_tells_regret_and_whose_the_pull_was():
    env = bandit()
    told = []
    for action in ("1", "3", "nothing", "1"):
        info = env.step(action)[4]
        told.append((round(info["regret"], 6), info["followed_ucb"], info["best_arm"], info["greedy"]))
    assert told == [
        (0.0, True, True, False),
        (0.4, False, False, False),
        (0.4, None, None, None),
        (0.4, False, True, True),
    ]


def test_success_is_to_lose_no_more_than_the_prompt_allows_whatever_was_paid():
    env = bandit()
    for action in ("1", "3", "1"):
        env.step(action)
    info = env.step("1")[4]
    assert info["is_success"]  # 0.4 <= 0.5
    env = bandit()
    for action in ("1", "2", "1"):
        env.step(action)
    *_, done, truncated, info = env.step("1")
    assert (done, truncated, info["is_success"]) == (True, False, False)  # 0.6 > 0.5
    assert info["progress"] == pytest.approx(3 / 4)


def ucb1(counts: Sequence[int], sums: Sequence[float]) -> int:
    """UCB1 as published: mean + sqrt(2 ln t / n)."""
    if 0 in counts:
        return counts.index(0)
    log_t = 2 * math.log(sum(counts) + 1)
    bounds = [total / count + math.sqrt(log_t / count) for count, total in zip(counts, sums)]
    return bounds.index(max(bounds))


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_those_who_explore_and_then_exploit_succeed_far_more_often_than_greedy_and_constant_players(difficulty: float):
    rng = np.random.default_rng(0)

    def thompson(counts: Sequence[int], sums: Sequence[float]) -> int:
        draws = [s / max(n, 1) + rng.standard_normal() * 0.5 / max(n, 0.25) ** 0.5 for n, s in zip(counts, sums)]
        return draws.index(max(draws))

    players = {"ucb1": ucb1, "thompson": thompson, "greedy": greedy_arm, "always 1": lambda counts, sums: 0}
    won = dict.fromkeys(players, 0)
    env = Bandit(difficulty=difficulty)
    for seed in range(80):
        env.reset(seed=seed)
        arms = env.here().arms
        for name, choose in players.items():
            won[name] += expected_regret(choose, arms) <= arms.allowed
    assert min(won["ucb1"], won["thompson"]) > 0.65 * 80
    assert max(won["greedy"], won["always 1"]) < min(won["ucb1"], won["thompson"]) - 0.15 * 80
    assert won["always 1"] < 0.45 * 80


def test_the_prompt_states_what_success_is_and_how_many_turns_there_are():
    env = Bandit(difficulty=0.0)
    prompt, info = env.reset(seed=0)
    horizon = info["params"]["horizon"]
    assert "You succeed if you lose at most 0.65 times what pulling all arms equally often loses." in prompt
    assert f"exactly {horizon} pulls" in prompt
    assert f"one of {2 * horizon} turns" in prompt
    arms = env.here().arms
    losses = [max(arms.means) - mean for mean in arms.means]
    assert arms.allowed == pytest.approx(0.65 * horizon * sum(losses) / len(losses))


def test_a_failure_never_outranks_a_success_in_the_same_game():
    rng = np.random.default_rng(0)
    for seed in range(10):
        env = Bandit(difficulty=0.5)
        results = {True: [], False: []}
        for policy in ("ucb", "best", "random", "random", "random", "first"):
            env.reset(seed=seed)
            total, done = 0.0, False
            while not done:
                arms = env.here().arms
                best = str(1 + arms.means.index(max(arms.means)))
                choice = {"ucb": env.oracle(), "best": best, "first": "1"}.get(policy)
                _, reward, done, _, info = env.step(choice or str(rng.integers(1, len(arms.means) + 1)))
                total += reward
            results[info["is_success"]].append(total)
        assert max(results[False], default=0.0) <= min(results[True]) <= max(results[True]) <= 1.0 + 1e-9


@pytest.mark.parametrize("difficulty", [0.0, 0.5, 1.0])
def test_games_are_as_the_parameters_say(difficulty: float):
    for seed in range(30):
        env = Bandit(difficulty=difficulty)
        _, info = env.reset(seed=seed)
        arms, params = env.here().arms, info["params"]
        first, second = sorted(arms.means)[:-3:-1]
        assert first - second == pytest.approx(params["gap"], abs=2e-4)
        assert 0.0499 <= min(arms.means) <= max(arms.means) <= 0.9501
        assert (len(arms.means), arms.horizon) == (params["arms"], params["horizon"])
        assert {len(chance) for chance in arms.chance} == {arms.horizon}
        assert expected_regret(ucb_arm, arms) <= arms.allowed < params["gap"] * arms.horizon
        assert (min(arms.scaled_means), max(arms.scaled_means)) == (0.0, 1.0)
        assert arms.kind == params["payout"]
        assert env.turn_limit(env.here()) == 2 * params["horizon"]


def test_an_unreadable_answer_pulls_nothing_and_the_turns_run_out():
    env = bandit()
    for turn in range(8):
        _, reward, _, truncated, info = env.step(("0", "4", "arm", "1.5", "1 2", "-1", "one", "\u0661")[turn])
        assert info["action_error"] == "Answer with the number of an arm, 1 to 3."
        assert reward == 0.0
    assert truncated
    assert env.here().counts == (0, 0, 0)


def test_an_unknown_pay_is_refused():
    with pytest.raises(InputError, match="regret"):
        Bandit(pay="regrets")


def figures_of(pulls: str, chance: Any = None) -> dict[str, float]:
    env = bandit(chance=chance)
    for arm in pulls:
        *_, info = env.step(arm)
        last = info["extras"]["figures"]
    return last


def test_one_arm_for_ever_leaves_the_others_unseen():
    assert figures_of("2222") == {
        "best_arm": 0.0,
        "greedy": 0.75,  # of the first pull no arm had a mean
        "followed_ucb": 0.0,
        "regret": pytest.approx(2.4),
        "suffix_fail": 1.0,
        "min_frac": 0.0,
    }
    best = figures_of("1111")
    assert (best["best_arm"], best["suffix_fail"], best["min_frac"]) == (1.0, 0.0, 0.0)
    assert best["followed_ucb"] == 0.25  # which tries the others first
    assert figures_of("1233")["suffix_fail"] == 1.0  # last pulled in the first half
    assert figures_of("2313")["min_frac"] == 0.75  # 3 arms x 1 pull / 4
    assert figures_of("222") is None


def test_an_evaluation_averages_figures_and_reads_them_back_from_its_episodes(tmp_path):
    options = {"axes": {"arms": 3, "horizon": 20}, "episodes": 6, "out": tmp_path / "episodes.jsonl"}
    report = palaestra.evaluate("oracle", "palaestra/Bandit-v0", **options)
    assert report.figures["followed_ucb"].mean == 1.0
    assert 0 < report.figures["min_frac"].mean < 1
    assert "suffix_fail 0.00" in str(report)
    assert palaestra.evaluate("oracle", "palaestra/Bandit-v0", **options).figures == report.figures
    assert report.to_json()["figures"]["followed_ucb"] == {"mean": 1.0, "ci": [1.0, 1.0]}


def test_thompson_sampling_draws_arms_as_often_as_they_are_likely_to_be_the_best():
    arms = BanditArms("bernoulli", (0.8, 0.2), (1.0, 0.0), ((0.5,) * 4, (0.5,) * 4), allowed=9.0)
    drawn = [thompson_arm(BanditState(arms, (n, n), (1.0, n - 1.0))) for n in range(3, 300)]
    assert drawn == [thompson_arm(BanditState(arms, (n, n), (1.0, n - 1.0))) for n in range(3, 300)]
    assert np.mean(drawn[20:]) == 1.0
    even = [thompson_arm(BanditState(arms, (n, n), (n / 2, n / 2))) for n in range(2, 402)]
    assert np.mean(even) == pytest.approx(0.5, abs=0.1)
    assert thompson_arm(BanditState(replace(arms, kind="gaussian"), (2, 0), (1.0, 0.0))) == 1
    env = Bandit(solver="thompson", arms=3, horizon=20)
    env.reset(seed=0)
    assert env.oracle() == str(thompson_arm(env.here()) + 1)
    with pytest.raises(InputError, match="thompson"):
        Bandit(solver="thomson")
