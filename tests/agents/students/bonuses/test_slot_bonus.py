"""Bonuses that remember an episode by slot: what their two forms do to the optimal policies, and what is saved."""

from __future__ import annotations

import json
from collections.abc import Iterator

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses import BONUSES, make_bonuses
from palaestra.agents.students.bonuses.slot_bonus import SlotBonus, StateBonus
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper, Step

DISCOUNT = 0.9
SLOTS = {name for name in BONUSES if isinstance(make_bonuses([name], DISCOUNT)[0].reward, SlotBonus)}
HEAD = "progress-head(settle=8, batch=4{})"
LEAVING = ["empowerment(form='potential')", "goal-text", "graph-subgoals", "potential", "stages", "waypoints"]
LEAVING.append(HEAD.format(""))
ELSEWHERE = {"beacons", "designed", "lare", "oni"}
"""Bonuses whose effect on the optimal policies has tests of its own."""
PLAIN = [f"{name}(form='plain')" for name in ("empowerment", "goal-text", "graph-subgoals", "stages")]
PLAIN.append(HEAD.format(", form='plain'"))


class Hills(StateBonus):
    """Heights of the cells of a line."""

    name = "hills"

    def value_of(self, slot, observation, extras):
        return (0.0, 5.0, -3.0, 1.0)[observation]


def step(bonus: SlotBonus, slot: int, cell: int, terminated: bool = False) -> float | None:
    return bonus.of_slot(slot).step_reward_now(Step(0, 0, 0.0, {"env": 0.0}, 1), cell, terminated)


def test_a_potential_is_the_difference_and_a_plain_bonus_the_number_itself():
    bonus = Hills(2.0, DISCOUNT, "potential")
    bonus.begin(1, {})
    assert step(bonus, 0, 2) == pytest.approx(2 * (0.9 * -3 - 5))
    assert step(bonus, 0, 3, terminated=True) == pytest.approx(2 * 3)
    plain = Hills(2.0, DISCOUNT, "plain")
    plain.begin(1, {})
    assert [step(plain, 0, 2), step(plain, 0, 3, terminated=True)] == [-6.0, 2.0]


def test_episodes_side_by_side_do_not_mix():
    bonus = Hills(1.0, 1.0, "potential")
    bonus.of_slot(0).begin(0, {})
    bonus.of_slot(1).begin(1, {})
    assert [step(bonus, 0, 2), step(bonus, 1, 2)] == [-3, -8]
    saved = json.loads(json.dumps(bonus.state_dict()))
    other = Hills(1.0, 1.0, "potential")
    other.load_state_dict(saved)
    assert [step(other, slot, 3) for slot in (0, 1)] == [step(bonus, slot, 3) for slot in (0, 1)] == [4, 4]
    with pytest.raises(InputError, match="holds 'memory' and 'shared'"):
        other.load_state_dict({"visits": {}})


def detours(name: str, count: int, **options) -> Iterator[tuple[float, float]]:
    """Discounted sums of reward and bonus over ways to the end of one level, each after other actions at the start."""
    for number in range(count):
        (bonus,) = make_bonuses([name], DISCOUNT)
        inner = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0, **options)
        env = RewardWrapper(inner, bonus.reward, by_step=True)
        if isinstance(bonus.reward, SlotBonus):
            bonus.reward.attach([env.unwrapped])
        env.reset(seed=4)
        rng, total, t, over = np.random.default_rng(number), 0.0, 0, False
        while not over:
            action = int(rng.integers(4)) if t < 6 * number else env.unwrapped.oracle()
            _, _, over, truncated, info = env.step(action)
            assert not truncated
            assert info["reward_valid"]
            total += DISCOUNT**t * info["reward_terms"][bonus.reward.name]
            t += 1
        yield total, t


@pytest.mark.parametrize("name", LEAVING)
def test_every_way_to_the_end_gets_the_same_discounted_sum_of_differences(name):
    sums, lengths = zip(*detours(name, 3), strict=True)
    assert len(set(lengths)) > 1
    assert sums == pytest.approx([sums[0]] * 3, abs=1e-9)
    assert make_bonuses([name], DISCOUNT)[0].optimum == "leaves the optimal policies as they are"


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_bonus_depends_on_the_way(name):
    sums, _ = zip(*detours(name, 3), strict=True)
    assert max(sums) - min(sums) > 1e-4
    assert "changes the optimal policies for good" in make_bonuses([name], DISCOUNT)[0].optimum


def test_all_bonuses_with_a_memory_are_in_these_tests():
    assert {name.split("(")[0] for name in LEAVING} - {"potential"} | {"landmarks"} | ELSEWHERE == SLOTS


@pytest.mark.parametrize("name", sorted(SLOTS - {"landmarks", "graph-subgoals", "lare", "waypoints"}))
def test_a_bonus_without_its_environments_says_so(name):
    (bonus,) = make_bonuses([name], DISCOUNT)
    with pytest.raises(InputError, match="call attach"):
        bonus.reward.begin(0, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((f"{name}(weight=-1)", "weight must be") for name in sorted(SLOTS - {"designed", "landmarks", "lare"})),
        *((f"{name}(wieght=1)", "wieght") for name in sorted(SLOTS)),
        ("landmarks(new=-1)", "new must be"),
        ("landmarks(spacing=0)", "spacing must be"),
        ("graph-subgoals(form='round')", "form"),
        ("stages(stages=1)", "stages must be"),
        ("stages(discount=0.5)", "discount of the student; set --discount"),
        ("empowerment(horizon=0)", "horizon must be"),
        ("goal-text(alpha=2)", "alpha must be"),
        ("goal-text(goal='')", "goal must be text that is not blank"),
    ],
)
def test_bad_arguments_are_refused(text, words):
    with pytest.raises(InputError, match=words):
        make_bonuses([text], DISCOUNT)
