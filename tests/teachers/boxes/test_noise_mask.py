"""The strength of a perturbation by policy gradient."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs import FloatAxis, IntAxis, ParamSpace
from palaestra.errors import InputError
from palaestra.teachers import Outcome, make
from palaestra.teachers.boxes.noise_mask import beta_log_density, beta_score, digamma
from scipy import special
from scipy.integrate import quad

SPACE = ParamSpace([IntAxis("noise", 0, 9), FloatAxis("size", 0.0, 1.0)])


def test_the_score_is_the_slope_of_the_log_density():
    m, a, b, step = np.array([0.1, 0.7]), np.array([0.5, 2.0]), np.array([1.5, 3.0]), 1e-6
    by_alpha = beta_log_density(m, a * np.exp(step), b) - beta_log_density(m, a * np.exp(-step), b)
    by_beta = beta_log_density(m, a, b * np.exp(step)) - beta_log_density(m, a, b * np.exp(-step))
    assert beta_score(m, a, b) == pytest.approx(np.stack([by_alpha, by_beta], 1) / (2 * step), rel=1e-5)
    x = np.array([0.05, 0.5, 1.0, 3.7, 20.0])
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-9)
    assert quad(lambda x: np.exp(beta_log_density(x, 2.0, 3.0)), 0, 1)[0] == pytest.approx(1.0)


@pytest.mark.parametrize("place", [0, 1])
def test_a_constant_reward_has_no_gradient_on_average(place):
    expected, _ = quad(lambda m: np.exp(beta_log_density(m, 2.0, 3.0)) * beta_score(m, 2.0, 3.0)[place], 0, 1)
    assert expected == pytest.approx(0.0, abs=1e-7)


def test_the_strength_moves_to_where_success_without_it_rises_after_it():
    def practise(helpful):
        teacher, level = make("noise-mask", SPACE, axis="noise", seed=0), 0.5
        for _ in range(150):
            proposals, drawn = teacher.propose(12), []
            for proposal in proposals:
                clean = proposal.origin == "explore"
                assert not clean or proposal.task["noise"] == 0
                drawn += [] if clean else [proposal.task["noise"] / 9]
            outcomes = [Outcome(p.id, p.task, returns=[level], successes=None) for p in proposals]
            teacher.observe(outcomes)
            gain = (np.mean(drawn or [0.5]) - 0.5) * (1 if helpful else -1)
            level = float(np.clip(0.5 + gain, 0, 1))  # what was practised shows in the next outcomes
        return teacher.metrics()["strength"]

    assert practise(helpful=True) > 0.6
    assert practise(helpful=False) < 0.4


def test_it_begins_uniform_and_names_an_axis_of_the_space():
    teacher = make("noise-mask", SPACE, clean=0.1)
    assert teacher.metrics()["strength"] == 0.5
    assert all(p.prob == pytest.approx(0.9) for p in teacher.propose(20) if p.origin == "exploit")
    with pytest.raises(InputError, match="nois"):
        make("noise-mask", SPACE, axis="nois")
    assert make("noise-mask", gym.spaces.Discrete(5)).propose(3)
