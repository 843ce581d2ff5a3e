"""A reward that fails on an episode makes that episode's verdict invalid and says why."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Verdict, make
from palaestra.rewards.attempt import attempt, read_list, to_finite_number
from palaestra.rewards.episode import Episode, Step
from palaestra.rewards.reward import BatchReward, GroupReward, PooledReward, Reward, StepReward


def episode(number: int) -> Episode:
    return Episode(f"task {number}", {}, (Step("?", str(number), 0.0, {}, 1),) * 2, True, 1.0, True, False, 8)


FOUR = [episode(number) for number in range(4)]
BAD = {
    "nan": math.nan,
    "inf": math.inf,
    "list": [1.0],
    "array": np.array([1.0]),
    "dict": {"a": 1},
    "complex": 1j,
    "huge": 10**400,
    "text": "the judge said nothing",
    "none": None,
    "raise": ConnectionError("no route"),
    "key": KeyError("answer"),
}
bad_values = pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))


def give(value):
    if isinstance(value, Exception):
        raise value
    return value


def number_of(one: Episode) -> int:
    return int(one.task_id.split()[1])


def check(verdicts, wrong=(1,)):
    assert [v.valid for v in verdicts] == [i not in wrong for i in range(len(verdicts))]
    assert all(v.reward == 0.5 for v in verdicts if v.valid)


@bad_values
@pytest.mark.filterwarnings("error")
def test_the_value_of_an_episode(bad):
    class Mine(Reward):
        def value(self, one):
            return give(bad) if number_of(one) == 1 else 0.5

    for reward in (Mine(), make("sum", mine=Mine()), make("clip", child=Mine(), low=0, high=1)):
        check(reward.batch([FOUR])[0])
    if bad is not None:
        assert Mine().batch([FOUR])[0][1].feedback


@bad_values
def test_one_of_the_rewards_of_turns(bad):
    class Mine(StepReward):
        def values(self, one):
            return [0.25, give(bad)] if number_of(one) == 1 else [0.25, 0.25]

    check(Mine().batch([FOUR])[0])


def test_rewards_of_turns_are_one_a_turn():
    class Mine(StepReward):
        def values(self, one):
            return [0.25] * (3 if number_of(one) == 1 else 2)

    check(Mine().batch([FOUR])[0])


@bad_values
def test_values_of_many_episodes_at_once(bad):
    class Mine(PooledReward):
        def values(self, episodes):
            return [give(bad) if number_of(one) == 1 else 0.5 for one in episodes]

    # Without a connection, no episode is asked for again.
    check(Mine().batch([FOUR])[0], (0, 1, 2, 3) if isinstance(bad, OSError) else (1,))


@bad_values
def test_values_of_a_group_and_of_a_batch(bad):
    class Siblings(GroupReward):
        def values(self, episodes):
            return [give(bad) if number_of(one) == 1 else 0.5 for one in episodes]

    class Whole(BatchReward):
        def values(self, groups):
            return [[give(bad) if number_of(one) == 1 else 0.5 for one in group] for group in groups]

    raised = isinstance(bad, Exception)
    check(Siblings().batch([FOUR, FOUR[2:]])[0], (0, 1, 2, 3) if raised else (1,))
    check(Siblings().batch([FOUR, FOUR[2:]])[1], ())
    check(Whole().batch([FOUR])[0], (0, 1, 2, 3) if raised else (1,))


def test_too_few_values_of_a_group():
    class Mine(GroupReward):
        def values(self, episodes):
            return [0.5]

    check(Mine().group(FOUR), (0, 1, 2, 3))
    assert Mine().group(FOUR)[0].feedback == "it gave 1 numbers instead of 4"


def test_a_verdict_of_several_terms():
    class Mine(Reward):
        def __call__(self, one):
            return Verdict(0.5, False, terms={"a": math.nan if number_of(one) == 1 else 0.5})

    check(Mine().group(FOUR))


def test_what_the_user_set_up_wrongly_is_still_an_error():
    def refuse():
        raise InputError("a key is missing.")

    with pytest.raises(InputError):
        attempt(refuse)
    with pytest.raises(NotImplementedError):
        Reward().group(FOUR)


def test_numbers_and_lists_are_read():
    assert [to_finite_number(value) for value in (1, True, 0.5, np.float32(2), np.array(3.0))] == [1, 1, 0.5, 2, 3]
    assert to_finite_number(math.nan) == "it gave nan, which is no finite number"
    assert to_finite_number([1]) == "it gave [1], which is no number"
    assert read_list(np.ones(2), 2) == [1, 1]
    assert read_list(0.5, 2) == "it gave 0.5 instead of 2 numbers"
