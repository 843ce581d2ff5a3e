"""Scores of levels, by hand, from the learner's measurements and from returns alone."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.levels.replay import LevelTeacher
from palaestra.teachers.levels.scores import LEVEL_SCORES, Visit

EXTRAS = {
    "policy_entropy": [0.4, 0.6],
    "least_confidence": [0.1, 0.3],
    "min_margin": [0.3, 0.5],
    "transition_loss": [2, 4],
}


def visit(returns, value=0.4, best=0.9, rate=0.25, weight=0.5, **extras):
    return Visit(np.array(returns), value, best, rate, extras, weight, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "from_returns"),
    [
        ("value_l1", 0.3),  # (|0.2 - 0.4| + |0.8 - 0.4|) / 2
        ("positive_value_loss", 0.2),
        ("signed_value_loss", 0.1),
        ("one_step_td", 0.3),
        ("max_mc", 0.5),  # 0.9 - 0.4
        ("learnability", 0.1875),
        ("abs_advantage", 1.0),
        ("regret", 0.4),  # 0.9 - 0.5
        ("mna", 0.1),
        ("uniform", 1.0),
    ],
)
def test_scores_from_returns(name, from_returns):
    assert LEVEL_SCORES[name].of(visit([0.2, 0.8])) == pytest.approx(from_returns, abs=1e-5)
    assert not LEVEL_SCORES[name].needs


@pytest.mark.parametrize(
    ("name", "extras", "expected"),
    [
        ("value_l1", {"value_l1": 0.7}, 0.7),
        ("positive_value_loss", {"positive_value_loss": 0.7}, 0.7),
        ("signed_value_loss", {"signed_value_loss": -0.7}, -0.7),
        ("one_step_td", {"one_step_td": 0.7}, 0.7),
        ("max_mc", {"mean_value": 0.7}, 0.2),
        ("regret", {"antagonist_return": 0.7}, 0.2),
        ("mna", {"negative_advantage": 3.0}, 3.0),
        ("policy_entropy", {"policy_entropy": 0.7}, 0.7),
        ("least_confidence", {"least_confidence": 0.7}, 0.7),
        ("min_margin", {"min_margin": 0.7}, 0.3),
        ("traced", {"positive_value_loss": 0.7, "transition_loss": 3.0}, 2.2),
        ("traced", {"transition_loss": 3.0}, 1.7),
    ],
)
def test_the_learners_measurement_goes_first(name, extras, expected):
    assert LEVEL_SCORES[name].of(visit([0.2, 0.8], **extras)) == pytest.approx(expected)


def test_a_student_as_good_as_the_antagonist_leaves_no_regret():
    assert LEVEL_SCORES["regret"].of(visit([0.6, 0.8], antagonist_return=0.7)) == pytest.approx(0.0)
    assert LEVEL_SCORES["regret"].of(visit([0.6, 0.8], antagonist_return=0.2)) == pytest.approx(-0.5)


def test_max_mc_grows_with_the_best_return():
    scores = [LEVEL_SCORES["max_mc"].of(visit([0.1], best=best)) for best in (0.1, 0.5, 1.0)]
    assert scores == sorted(scores)


def test_a_level_never_solved_has_no_negative_advantage():
    assert LEVEL_SCORES["mna"].of(visit([0.0, 0.0], best=0.0, negative_advantage=3.0)) == 0.0


def test_the_single_episode_of_a_level_borrows_the_rate_of_all_its_visits():
    assert LEVEL_SCORES["abs_advantage"].of(visit([1.0], rate=0.2)) == pytest.approx(0.8)
    assert LEVEL_SCORES["abs_advantage"].of(visit([1.0, 0.0, 0.0, 0.0, 0.0], rate=0.2)) == pytest.approx(0.8, abs=1e-5)


def test_random_is_chance_of_the_teachers_own():
    teachers = [LevelTeacher(gym.spaces.Discrete(5), score="random", seed=seed) for seed in (0, 0, 1)]
    for teacher in teachers:
        for task in range(5):
            teacher.update(task, 0.5)
    first, second, third = (teacher.buffer.scores.tolist() for teacher in teachers)
    assert first == second != third


def score_visits(teacher, *visits):
    """The score of arm 0 after visits, each a list of returns."""
    for returns in visits:
        teacher.update(0, returns)
    return float(teacher.buffer.scores[0])


def test_what_returns_are_compared_with():
    def fresh():
        return LevelTeacher(gym.spaces.Discrete(9), score="value_l1", smoothing=1.0)

    assert score_visits(fresh(), [0.0, 1.0]) == pytest.approx(0.5)  # a group's own mean at first
    assert score_visits(fresh(), [0.0, 0.5], [1.0, 1.0]) == pytest.approx(0.75)  # then the mean of what came before
    assert score_visits(fresh(), [0.0, 0.5], [1.0, 1.0], [0.0]) == pytest.approx(0.625)
    teacher = fresh()
    teacher.update(5, [0.25, 0.75])
    teacher.update(6, [0.2])
    teacher.update(0, [1.0])
    assert teacher.buffer.scores[teacher.buffer.find(teacher.levels.key(0))] == pytest.approx(0.6)  # 1 - mean of three
    assert score_visits(fresh(), [0.5]) == 0.0  # nothing at all to compare with


def test_the_best_return_counts_over_all_visits():
    teacher = LevelTeacher(gym.spaces.Discrete(9), score="max_mc")
    assert score_visits(teacher, [0.0, 0.8], [0.1], [0.1]) == pytest.approx(0.8 - 0.3)


def test_measurements_are_averaged_and_brought_to_the_scale_of_the_returns():
    def after(score, low, high, **extras):
        teacher = LevelTeacher(gym.spaces.Discrete(9), score=score, return_range=(low, high))
        proposal = teacher.propose(1)[0]
        teacher.observe([Outcome(proposal.id, proposal.task, [0.0, 5.0], extras={**EXTRAS, **extras})])
        return float(teacher.buffer.scores[0])

    assert after("max_mc", -10, 10, mean_value=[1.0, 3.0]) == pytest.approx(0.15)  # (5 - 2) / 20
    assert after("regret", -10, 10, antagonist_return=[5.0, 10.0]) == pytest.approx(0.25)  # (7.5 - 2.5) / 20
    assert after("value_l1", -10, 10, value_l1=[1.0, 3.0]) == pytest.approx(0.1)
    assert after("policy_entropy", -10, 10) == pytest.approx(0.5)
    assert after("min_margin", -10, 10) == pytest.approx(0.6)
    assert after("traced", -10, 10, positive_value_loss=[2.0, 2.0]) == pytest.approx(0.1 + 3.0)


def test_an_unknown_score_is_refused_with_its_nearest_names():
    with pytest.raises(InputError, match="unknown level score 'learnabilty'; did you mean 'learnability'"):
        LevelTeacher(gym.spaces.Discrete(3), score="learnabilty")


def test_a_teacher_needs_what_its_score_needs():
    assert make("plr-entropy", gym.spaces.Discrete(3)).needs == {"policy_entropy"}
    assert make("traced", gym.spaces.Discrete(3)).needs == {"transition_loss"}
    assert not make("accel", gym.spaces.Discrete(3)).needs
