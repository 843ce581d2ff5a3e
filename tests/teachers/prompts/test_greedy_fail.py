"""Training only on what greedy decoding fails (arXiv 2510.02230)."""

from __future__ import annotations

import json

import gymnasium as gym
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make


def teacher_of(n=6, **options):
    return make("greedy-fail", gym.spaces.Discrete(n), **options)


def answer(teacher, proposals, solved):
    """Every episode of a prompt in `solved` succeeds, every other fails."""
    outcomes = [Outcome(p.id, p.task, [float(p.task in solved)] * p.n, [p.task in solved] * p.n) for p in proposals]
    teacher.observe(outcomes)


def test_a_student_who_solves_everything_is_only_ever_evaluated():
    teacher = teacher_of()
    for _ in range(6):
        proposals = teacher.propose(4)
        assert {(p.n, p.train, p.meta["greedy"]) for p in proposals} == {(1, False, True)}
        answer(teacher, proposals, solved=range(6))


def test_failed_prompts_and_no_others_are_trained_on():
    teacher, trained = teacher_of(), set()
    for _ in range(10):
        proposals = teacher.propose(4)
        trained |= {p.task for p in proposals if p.train}
        assert all(p.n == 8 and "greedy" not in p.meta for p in proposals if p.train)
        answer(teacher, proposals, solved={0, 2, 4})
    assert trained == {1, 3, 5}


def test_training_follows_each_failed_probe_once():
    teacher = teacher_of(n=1)
    first = teacher.propose(1)
    answer(teacher, first, solved=())
    training = teacher.propose(1)
    assert training[0].train
    assert not teacher.propose(1)[0].train  # while training is under way, and after it
    answer(teacher, training, solved=())  # what was sampled in training is no greedy attempt
    assert not teacher.propose(1)[0].train


def test_a_later_success_takes_a_prompt_off_the_list():
    teacher = teacher_of(n=2)
    teacher.update(0, 0.0)
    teacher.update(0, 1.0)
    assert not any(p.train for p in teacher.propose(2))


def test_what_practice_on_other_prompts_takes_is_counted():
    teacher = teacher_of(n=6)
    for solved in ({0, 1, 2, 3}, {0, 4}, {0, 1, 4, 5}):
        for task in range(6):
            teacher.update(task, float(task in solved))
    # Of those solved at their last probe but one, 0 and 4, none was lost; of the others, 1 and 5 were gained.
    assert (teacher.metrics()["lost"], teacher.metrics()["gained"]) == (0.0, 0.5)
    for task in (0, 5):
        teacher.update(task, 0.0)
    assert teacher.metrics()["lost"] == pytest.approx(2 / 3)  # 0 and 5, but not 4
    copy = teacher_of(n=6)
    copy.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    assert copy.metrics() == teacher.metrics()
    old = teacher.state_dict()
    del old["own"]["probes"]  # as saved before there was a count
    copy.load_state_dict(old)
    assert (copy.metrics()["lost"], copy.metrics()["gained"]) == (0.0, 0.0)


def test_probes_pass_over_all_prompts_before_any_comes_again():
    teacher = teacher_of(n=9)
    assert sorted(p.task for _ in range(3) for p in teacher.propose(3)) == list(range(9))


def test_a_partial_return_fails_unless_the_environment_calls_it_a_success():
    teacher = teacher_of(n=3)
    teacher.update(0, 0.9)
    teacher.update(1, 0.9, successes=[True])
    assert [p.task for p in teacher.propose(3) if p.train] == [0]
    lenient = teacher_of(n=1, solved=0.8)
    lenient.update(0, 0.9)
    assert not lenient.propose(1)[0].train


@pytest.mark.parametrize("bad", [{"solved": 0}, {"n": 0}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        make("greedy-fail", gym.spaces.Discrete(3), **bad)
