"""AdaRFT: the target difficulty and the choice around it."""

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, Outcome, make


def pool(n=101):
    return FiniteTasks(list(range(n)), difficulty=np.linspace(0, 1, n))


def observe(teacher, rate, episodes=64, successes=None):
    proposal = teacher.propose(1)[0]
    wins = round(rate * episodes)
    returns = [1.0] * wins + [0.0] * (episodes - wins)
    teacher.observe([Outcome(proposal.id, proposal.task, returns, successes=successes)])


def test_the_steps_of_the_target():
    teacher = make("adarft", pool())
    observe(teacher, 1.0)
    assert teacher.target == pytest.approx(38.08, abs=0.005)  # 50 tanh(1)
    observe(teacher, 0.5)
    assert teacher.target == pytest.approx(38.08, abs=0.005)  # rests at beta
    observe(teacher, 0.0)
    assert teacher.target == pytest.approx(0, abs=1e-9)
    observe(teacher, 0.0)
    assert teacher.target == 0
    for _ in range(4):
        observe(teacher, 1.0)
    assert teacher.target == 100


def test_the_nearest_prompts_are_chosen():
    teacher = make("adarft", pool(), start=50.0, reach=1)
    assert sorted(p.task for p in teacher.propose(5)) == [48, 49, 50, 51, 52]


def test_a_target_that_rests_does_not_repeat_prompts_before_its_neighbours_had_their_turn():
    teacher = make("adarft", pool(), start=50.3)
    tasks = [p.task for _ in range(8) for p in teacher.propose(5)]
    assert sorted(tasks[:20]) == sorted(tasks[20:]) == list(range(41, 61))


def test_the_released_choice_repeats_the_same_prompts_for_ever():
    teacher = make("adarft", pool(), start=50.0, repeat=True)
    assert len({tuple(p.task for p in teacher.propose(5)) for _ in range(8)}) == 1


def test_success_counts_and_not_a_reward_for_format():
    teacher = make("adarft", pool())
    observe(teacher, 1.0, successes=[False] * 64)
    assert teacher.target == 0


def test_single_returns_are_collected_into_batches():
    teacher = make("adarft", pool(), batch=4)
    for ret in (1.0, 1.0, 1.0):
        teacher.update(3, ret)
    assert teacher.target == 0
    teacher.update(3, 0.0)
    assert teacher.target == pytest.approx(50 * np.tanh(2 * 0.25))


@pytest.mark.parametrize("bad", [{"start": 101}, {"eta": 0}, {"beta": 2}, {"batch": 0}, {"reach": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError):
        make("adarft", pool(), **bad)
