"""PUDF (arXiv 2408.05326): ability and difficulty by the one-parameter model."""

from __future__ import annotations

import itertools
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, make
from palaestra.teachers.prompts.irt import fit_ability, fit_difficulties

DIFFICULTY = (np.arange(41) + 0.5) / 41


def pudf(**options):
    return make("pudf", FiniteTasks(list(range(41)), difficulty=DIFFICULTY), **{"least": 1, **options})


def log_posterior(theta, b, s, m):
    p = 1 / (1 + np.exp(-(theta - b)))
    return float((s * np.log(p) + (m - s) * np.log(1 - p)).sum() - theta**2 / 2)


def test_one_item_of_difficulty_0_answered_right_gives_0_4011_and_wrong_the_opposite():
    assert fit_ability(np.zeros(1), np.ones(1)) == pytest.approx(0.4011, abs=5e-5)
    assert fit_ability(np.zeros(1), np.zeros(1)) == pytest.approx(-0.4011, abs=5e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_ability_is_the_best_on_a_grid(seed):
    rng = np.random.default_rng(seed)
    b, m = rng.normal(0, 2, 40), rng.integers(1, 9, 40)
    s = rng.binomial(m, 0.4)
    grid = np.linspace(-5, 5, 4001)
    best = grid[np.argmax([log_posterior(theta, b, s, m) for theta in grid])]
    assert fit_ability(b, s, m) == pytest.approx(best, abs=2e-3)


@pytest.mark.parametrize("b", [0.0, 30.0, -30.0])
def test_thousands_of_right_answers_keep_the_ability_finite_and_at_the_root(b):
    difficulties = np.full(5000, b)
    theta = fit_ability(difficulties, np.ones(5000))
    assert math.isfinite(theta)
    assert theta == pytest.approx(5000 / (1 + math.exp(min(theta - b, 700))), abs=1e-6)


def test_more_right_answers_never_lower_the_ability():
    b = np.linspace(-2, 2, 10)
    abilities = [fit_ability(b, np.arange(10) < right) for right in range(11)]
    assert all(x < y for x, y in itertools.pairwise(abilities))


def test_prompts_up_to_the_ability_are_drawn_and_more_of_them_as_it_grows():
    teacher, sizes = pudf(), []
    for ability in (-1.0, 0.0, 1.5):
        teacher.ability = ability
        admitted = np.flatnonzero(teacher.distribution())
        assert admitted.tolist() == np.flatnonzero(teacher.difficulties <= ability).tolist()
        assert {p.task for p in teacher.propose(5)} <= set(admitted.tolist())
        sizes.append(len(admitted))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[1] < sizes[2]


def test_difficulties_of_a_list_are_its_logits():
    teacher = pudf()
    assert teacher.difficulties[20] == pytest.approx(0.0)
    assert teacher.difficulties[30] == pytest.approx(math.log(DIFFICULTY[30] / (1 - DIFFICULTY[30])))
    assert np.isfinite(make("pudf", gym.spaces.Discrete(5)).difficulties).all()  # 0 and 1 are among its difficulties


def test_a_target_of_a_quarter_admits_prompts_harder_by_ln_3():
    teacher = pudf(target=0.25)
    assert teacher.distribution().astype(bool).tolist() == (teacher.difficulties <= math.log(3)).tolist()


def test_a_band_admits_what_lies_between_its_ends():
    teacher = pudf(band=(-1.0, 0.5))
    b = teacher.difficulties
    assert teacher.distribution().astype(bool).tolist() == ((b >= -1.0) & (b <= 0.5)).tolist()


def test_where_nothing_is_easy_enough_the_easiest_are_drawn():
    teacher = pudf(least=3)
    teacher.ability = -50.0
    assert np.flatnonzero(teacher.distribution()).tolist() == [0, 1, 2]
    assert [p.task for p in teacher.propose(6)][3:] == [3, 4, 5]  # a larger batch goes on in order of difficulty


def test_right_answers_raise_the_ability_and_only_the_latest_count():
    teacher = pudf(window=20)
    for _ in range(30):
        teacher.update(20, [1.0, 1.0])
    raised = teacher.ability
    assert raised == pytest.approx(fit_ability(np.zeros(20), np.full(20, 2), 2))
    for _ in range(20):
        teacher.update(20, [0.0, 0.0])
    assert teacher.ability == pytest.approx(-raised)


def test_difficulties_are_recovered_from_a_crowd():
    rng = np.random.default_rng(0)
    ability, b = rng.normal(0, 1, 400), np.linspace(-2.5, 2.5, 30)
    crowd = (rng.random((400, 30)) < 1 / (1 + np.exp(b - ability[:, None]))).astype(float)
    crowd[rng.random(crowd.shape) < 0.2] = np.nan
    fitted = fit_difficulties(crowd)
    assert np.corrcoef(fitted, b)[0, 1] > 0.98
    assert np.abs(fitted - b).mean() < 0.25
    teacher = make("pudf", FiniteTasks(list(range(30))), crowd=crowd)
    assert teacher.difficulties.tolist() == fitted.tolist()


def test_items_that_everybody_or_nobody_solves_have_finite_difficulties():
    fitted = fit_difficulties([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    assert np.isfinite(fitted).all()
    assert fitted[0] < fitted[2] < fitted[1]


@pytest.mark.parametrize(
    "bad",
    [
        {"target": 1.0},
        {"band": (1.0, 0.0)},
        {"least": 0},
        {"window": 0},
        {"crowd": [0.5]},
        {"crowd": [[2.0]]},
        {"crowd": [[1.0, 0.0]]},
    ],
)
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        pudf(**bad)
