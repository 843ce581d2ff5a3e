from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.boxes.gaussian_mixture import GaussianMixture, expectation_maximisation, fit


def mixture(*components):
    weights, means, covariances = zip(*components)
    return GaussianMixture(np.array(weights), np.array(means, float), np.array(covariances, float))


def clusters(rng, n=300, d=3):
    """Three overlapping Gaussians in [0, 1]^d."""
    means = rng.random((3, d))
    return means[rng.integers(3, size=n)] + 0.1 * rng.standard_normal((n, d)) @ np.triu(rng.random((d, d)))


def test_density_of_one_gaussian_by_hand():
    m = mixture((1.0, [1.0, 0.0], [[4.0, 0.0], [0.0, 1.0]]))
    # At (3, 0): exp(-(2/2)^2 / 2) / (2 pi sqrt(4))
    assert m.log_density(np.array([[3.0, 0.0]]))[0] == pytest.approx(-0.5 - math.log(4 * math.pi))


def test_density_of_a_mixture_is_the_weighted_sum():
    m = mixture((0.25, [0.0], [[1.0]]), (0.75, [2.0], [[0.25]]))
    expected = 0.25 * math.exp(-0.5) / math.sqrt(2 * math.pi) + 0.75 * math.exp(-2.0) / math.sqrt(2 * math.pi * 0.25)
    assert math.exp(m.log_density(np.array([[1.0]]))[0]) == pytest.approx(expected)


def test_a_component_without_weight_adds_nothing():
    m = mixture((1.0, [0.0], [[1.0]]), (0.0, [5.0], [[1.0]]))
    assert m.log_density(np.array([[0.0]]))[0] == pytest.approx(-0.5 * math.log(2 * math.pi))
    assert np.abs(m.sample(1000, np.random.default_rng(0))).max() < 4.5


def test_aic_of_two_components_in_three_dimensions_counts_19_parameters():
    m = mixture((0.5, [0, 0, 0], np.eye(3)), (0.5, [0, 0, 0], np.eye(3)))
    # Both components are the standard normal: log L = -1.5 log(2 pi) at the origin.
    assert m.criterion(np.zeros((1, 3))) == pytest.approx(2 * 19 + 3 * math.log(2 * math.pi))


def test_aicc_corrects_by_the_number_of_points_and_counts_the_fitted_dimensions():
    m = mixture((0.5, [0, 0, 0], np.eye(3)), (0.5, [0, 0, 0], np.eye(3)))
    x = np.zeros((30, 3))
    # P = 19 in three dimensions (two axes of a task and its progress): the correction is 2 * 19 * 20 / (30 - 19 - 1).
    assert m.criterion(x, "aicc") - m.criterion(x, "aic") == pytest.approx(76.0)
    assert m.criterion(x, "bic") - m.criterion(x, "aic") == pytest.approx(19 * (math.log(30) - 2))
    assert m.criterion(x[:20], "aicc") == math.inf


def test_samples_have_the_moments_of_the_mixture():
    m = mixture((0.3, [0.0, 0.0], [[1.0, 0.8], [0.8, 1.0]]), (0.7, [10.0, -10.0], [[1.0, 0.0], [0.0, 0.01]]))
    x = m.sample(20_000, np.random.default_rng(0))
    left = x[x[:, 0] < 5]
    assert len(left) / len(x) == pytest.approx(0.3, abs=0.015)
    assert np.cov(left.T) == pytest.approx(np.array([[1.0, 0.8], [0.8, 1.0]]), abs=0.05)
    assert x[x[:, 0] > 5].std(0) == pytest.approx([1.0, 0.1], abs=0.03)


def test_fit_finds_separated_clusters_and_aic_their_number():
    rng = np.random.default_rng(0)
    truth = np.array([[0.1, 0.2], [0.8, 0.3], [0.5, 0.9]])
    x = np.repeat(truth, 100, axis=0) + 0.03 * rng.standard_normal((300, 2))
    fitted = fit(x, (1, 2, 3, 4, 5), rng)
    best = min(fitted, key=lambda m: m.criterion(x))
    assert len(best.weights) == 3
    assert best.means[best.means[:, 1].argsort()] == pytest.approx(truth, abs=0.02)
    assert best.covariances == pytest.approx(np.broadcast_to(9e-4 * np.eye(2), (3, 2, 2)), abs=3e-4)


def test_em_never_lowers_the_likelihood():
    rng = np.random.default_rng(3)
    x = clusters(rng)
    weights, means, covariances = np.full(3, 1 / 3), x[:3].copy(), np.tile(np.eye(3), (3, 1, 1))
    start = GaussianMixture(weights, means, covariances).log_density(x).mean()
    final = expectation_maximisation(x, weights, means, covariances, np.array([3]))[0]
    assert final.log_density(x).mean() > start + 1
    again = expectation_maximisation(x, final.weights, final.means, final.covariances, np.array([3]))[0]
    assert again.log_density(x).mean() >= final.log_density(x).mean() - 1e-9


def test_mixtures_fitted_together_are_those_fitted_alone():
    rng = np.random.default_rng(4)
    x = clusters(rng)
    sizes = np.array([2, 3, 5])
    means = x[rng.choice(len(x), sizes.sum(), replace=False)]
    weights = np.concatenate([np.full(k, 1 / k) for k in sizes])
    covariances = np.tile(0.05 * np.eye(3), (sizes.sum(), 1, 1))
    together = expectation_maximisation(x, weights, means, covariances, sizes)
    for k, start, joint in zip(sizes, (0, 2, 5), together):
        own = slice(start, start + k)
        alone = expectation_maximisation(x, weights[own], means[own], covariances[own], np.array([k]))[0]
        assert joint.means == pytest.approx(alone.means, abs=1e-7)
        assert joint.weights == pytest.approx(alone.weights, abs=1e-7)


def test_points_all_alike_give_a_finite_mixture():
    for m in fit(np.full((20, 2), 0.3), (2, 3), np.random.default_rng(0)):
        assert m.means == pytest.approx(np.full_like(m.means, 0.3))
        assert np.isfinite(m.log_density(np.array([[0.3, 0.3], [0.9, 0.1]]))).all()


def test_fit_is_fixed_by_its_generator():
    x = clusters(np.random.default_rng(1))
    first, second = (fit(x, (4,), np.random.default_rng(7))[0] for _ in range(2))
    assert np.array_equal(first.covariances, second.covariances)


def test_more_components_than_points_or_none_are_refused():
    with pytest.raises(InputError, match="at most 3 points"):
        fit(np.zeros((3, 1)), (4,), np.random.default_rng(0))
    with pytest.raises(InputError, match="components"):
        fit(np.zeros((3, 1)), (), np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
def test_the_same_start_gives_scikit_learns_mixture(seed):
    reference = pytest.importorskip("sklearn.mixture")
    rng = np.random.default_rng(seed)
    x, k = clusters(rng), 4
    means, covariances = x[rng.choice(len(x), k, replace=False)], np.tile(0.02 * np.eye(3), (k, 1, 1))
    theirs = reference.GaussianMixture(
        k, weights_init=np.full(k, 1 / k), means_init=means, precisions_init=np.linalg.inv(covariances), random_state=0
    ).fit(x)
    ours = expectation_maximisation(x, np.full(k, 1 / k), means, covariances, np.array([k]))[0]
    assert ours.weights == pytest.approx(theirs.weights_, abs=1e-9)
    assert ours.means == pytest.approx(theirs.means_, abs=1e-9)
    assert ours.covariances == pytest.approx(theirs.covariances_, abs=1e-9)
    assert ours.criterion(x) == pytest.approx(theirs.aic(x), abs=1e-6)
    assert ours.criterion(x, "bic") == pytest.approx(theirs.bic(x), abs=1e-6)
    assert ours.log_density(x) == pytest.approx(theirs.score_samples(x), abs=1e-8)


def test_fits_are_as_likely_as_scikit_learns_on_average():
    reference = pytest.importorskip("sklearn.mixture")
    differences = []
    for seed in range(8):
        x = clusters(np.random.default_rng(100 + seed))
        ours = fit(x, (5,), np.random.default_rng(seed))[0].log_density(x).mean()
        differences.append(ours - reference.GaussianMixture(5, random_state=seed).fit(x).score(x))
    assert np.mean(differences) > -0.02
