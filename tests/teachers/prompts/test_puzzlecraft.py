"""PuzzleCraft / PC-GRPO (arXiv 2512.14944): difficulty times dispersion of answers."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.prompts.puzzlecraft import group_weight

ONE_OF_EIGHT = np.array([1.0] + [0.0] * 7)


def puzzlecraft(name="puzzlecraft", n=4, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def test_one_answer_against_seven_alike_weighs_0_2006():
    assert group_weight(ONE_OF_EIGHT, 0.21029) == pytest.approx(0.2006, abs=5e-5)


def test_the_same_accuracy_with_many_answers_weighs_0_4303():
    assert group_weight(ONE_OF_EIGHT, 0.967132) == pytest.approx(0.4303, abs=5e-5)


def test_half_right_with_answers_as_different_as_can_be_weighs_1():
    assert group_weight(np.array([1.0, 0.0]), 1.0) == pytest.approx(1.0)


def test_groups_all_right_all_wrong_or_all_the_same_weigh_nothing():
    assert group_weight(np.ones(8)) == 0.0
    assert group_weight(np.zeros(8)) == 0.0
    assert group_weight(ONE_OF_EIGHT, 0.0) == 0.0


def test_prompts_are_sampled_in_proportion_to_the_weight_of_their_group():
    teacher = puzzlecraft(floor=0.0, n=3)
    for task, right in ((0, 4), (1, 1), (2, 0)):
        teacher.update(task, [1.0] * right + [0.0] * (8 - right))
    assert teacher.weights == pytest.approx([1.0, 0.4375, 0.0])
    assert teacher.distribution() == pytest.approx([1 / 1.4375, 0.4375 / 1.4375, 0.0])
    drawn = [teacher.propose(1)[0].task for _ in range(3000)]
    assert np.mean(np.array(drawn) == 0) == pytest.approx(1 / 1.4375, abs=0.03)
    assert 2 not in drawn


def test_the_dispersion_of_the_answers_is_taken_where_it_is_given():
    teacher = puzzlecraft()
    first, second = teacher.propose(2)
    half = [1.0, 1.0, 0.0, 0.0]
    teacher.observe(
        [
            Outcome(first.id, first.task, half, extras={"answer_dispersion": [0.25] * 4}),
            Outcome(second.id, second.task, half),
        ]
    )
    assert teacher.weights[first.task] == pytest.approx(math.sqrt(0.25))
    assert teacher.weights[second.task] == pytest.approx(1.0)


def test_an_entropy_that_is_not_normalised_is_refused_and_nothing_learned():
    teacher = puzzlecraft()
    first, second = teacher.propose(2)
    outcomes = [
        Outcome(first.id, first.task, [1.0, 0.0]),
        Outcome(second.id, second.task, [1.0, 0.0], extras={"answer_dispersion": [1.7, 1.7]}),
    ]
    before = teacher.state_dict()
    with pytest.raises(InputError, match="answer_dispersion"):
        teacher.observe(outcomes)
    assert teacher.state_dict() == before


def test_prompts_of_no_weight_come_again_by_the_floor():
    teacher = puzzlecraft(floor=0.2)
    teacher.update(0, [1.0] * 8)
    assert teacher.distribution()[0] == pytest.approx(0.05)
    for task in range(1, 4):
        teacher.update(task, [0.0] * 8)
    assert teacher.distribution().tolist() == [0.25] * 4


def test_the_preset_samples_uniformly_and_passes_the_weight_on():
    teacher = puzzlecraft("pc-grpo")
    teacher.update(2, [1.0] + [0.0] * 7)
    assert teacher.distribution().tolist() == [0.25] * 4
    assert {p.task: p.meta["weight"] for p in teacher.propose(4)} == {0: 1.0, 1: 1.0, 2: 0.4375, 3: 1.0}


def test_single_returns_make_a_group_with_their_entropies():
    teacher = puzzlecraft(n=1, group=4)
    for ret, entropy in ((1.0, 0.0), (0.0, 0.5), (1.0, 0.5)):
        proposal = teacher.propose(1)[0]
        teacher.observe([Outcome(proposal.id, proposal.task, [ret], extras={"answer_dispersion": [entropy]})])
    assert teacher.weights[0] == 1.0
    teacher.update(0, 0.0)  # its entropy counts as 1
    assert teacher.weights[0] == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize("bad", [{"mode": "loss"}, {"scale": 0}, {"gamma": -1}, {"floor": 2}, {"group": 1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        puzzlecraft(**bad)


@pytest.mark.parametrize("entropy", [-0.5, 1.7])
def test_an_entropy_that_is_not_normalised_is_refused_by_update_too(entropy):
    teacher = make("puzzlecraft", gym.spaces.Discrete(3))
    with pytest.raises(InputError, match="answer_dispersion"):
        teacher.update(0, [1.0, 0.0], extras={"answer_dispersion": [entropy, entropy]})
    assert teacher.metrics()["observed"] == 0


def test_the_monitor_of_consistency_is_shown_and_weighs_nothing():
    watched, plain = (make("puzzlecraft", gym.spaces.Discrete(3), rac=rac, group=2) for rac in (4, 0))
    assert (watched.needs, plain.needs) == ({"consistency"}, frozenset())
    for agreement in (1.0, 0.0, 0.5):
        for teacher in (watched, plain):
            (proposal,) = teacher.propose(1)
            teacher.observe(
                [Outcome(proposal.id, proposal.task, [1.0, 0.0], extras={"consistency": [agreement, agreement]})]
            )
    assert watched.metrics()["rac"] == pytest.approx(0.25)  # the latest four episodes
    assert "rac" not in plain.metrics()
    assert np.array_equal(watched.weights, plain.weights)
    copy = make("puzzlecraft", gym.spaces.Discrete(3), rac=4, group=2)
    copy.load_state_dict(json.loads(json.dumps(watched.state_dict())))
    assert copy.metrics() == watched.metrics()
