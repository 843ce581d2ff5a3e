from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards.audit import best_of_four, best_of_n_curve, best_of_n_kl, one_versus_many, ties_score


def test_best_of_one_does_not_diverge_and_best_of_four_by_two_thirds_of_a_nat():
    assert best_of_n_kl(1) == 0
    assert best_of_n_kl(4) == pytest.approx(0.6363, abs=5e-5)
    with pytest.raises(InputError):
        best_of_n_kl(0)


def test_a_scorer_that_ignores_the_response_finds_one_in_ten_by_chance_and_none_where_ties_lose():
    correct, incorrect = [0.5] * 7, [[0.5] * 9] * 7
    assert one_versus_many(correct, incorrect, "random").accuracy == pytest.approx(0.1)
    assert one_versus_many(correct, incorrect).accuracy == 0
    # Expected reciprocal rank over ten equal places, and that of the last of ten.
    harmonic = sum(1 / rank for rank in range(1, 11)) / 10
    assert one_versus_many(correct, incorrect, "random").mrr == pytest.approx(harmonic)
    assert one_versus_many(correct, incorrect).mrr == pytest.approx(0.1)


def test_accuracy_and_reciprocal_rank_by_hand():
    # First, third, and second behind a tie that counts as a loss.
    found = one_versus_many([9, 5, 5], [[1, 2], [7, 6], [5, 1]])
    assert found.accuracy == pytest.approx(1 / 3)
    assert found.mrr == pytest.approx((1 + 1 / 3 + 1 / 2) / 3)


@pytest.mark.parametrize(
    ("correct", "incorrect"), [([], []), ([1.0], []), ([1.0], [[]]), ([math.nan], [[1.0]])], ids=str
)
def test_scores_that_do_not_fit_are_refused(correct: Any, incorrect: Any):
    with pytest.raises(InputError):
        one_versus_many(correct, incorrect)


def test_the_curve_is_the_mean_over_all_subsets():
    rng = np.random.default_rng(0)
    proxy, gold = rng.normal(size=(3, 6)), rng.normal(size=(3, 6))
    for point in best_of_n_curve(proxy.tolist(), gold.tolist(), [1, 2, 4, 6]):
        chosen = [
            max(subset, key=lambda i: proxy[row, i])
            for row in range(3)
            for subset in itertools.combinations(range(6), point.n)
        ]
        rows = np.repeat(np.arange(3), math.comb(6, point.n))
        assert point.proxy == pytest.approx(proxy[rows, chosen].mean())
        assert point.gold == pytest.approx(gold[rows, chosen].mean())
        assert point.kl == best_of_n_kl(point.n)


def test_a_hacked_proxy_rises_while_the_gold_falls():
    proxy = [list(range(8))]
    gold = [[0.5, 0.6, 0.7, 0.8, 0.6, 0.4, 0.2, 0.0]]
    curve = best_of_n_curve(proxy, gold)
    assert [point.n for point in curve] == [1, 2, 4, 8]
    assert [point.proxy for point in curve] == sorted(point.proxy for point in curve)
    assert curve[-1].gold == 0.0 < curve[0].gold


def test_equal_proxy_scores_share_their_gold():
    assert best_of_n_curve([[1, 1, 1]], [[0, 0, 3]], [3])[0].gold == pytest.approx(1.0)


@pytest.mark.parametrize(("proxy", "ns"), [([[1.0, 2.0]], [3]), ([[1.0, 2.0]], [0]), ([[1.0]], [1]), ([1.0], [1])])
def test_a_curve_that_cannot_be_drawn_is_refused(proxy: Any, ns: list[int]):
    with pytest.raises(InputError):
        best_of_n_curve(proxy, [[0.0, 1.0]], ns)


def test_best_of_four_of_a_constant_scorer_is_a_quarter_and_of_a_perfect_one_is_one():
    assert best_of_four([[0.5] * 4] * 3) == 0.25
    assert best_of_four([[0.9, 0.1, 0.2, 0.3]] * 3) == 1.0
    assert best_of_four([[0.1, 0.9, 0.9, 0.3], [1, 1, 0, 0]], correct=[2, 0]) == 0.5


def test_adding_a_constant_to_all_scores_changes_nothing():
    rows = np.random.default_rng(1).integers(0, 3, (20, 4)).tolist()
    assert best_of_four(rows) == best_of_four([[score + 16 for score in row] for row in rows])
    tied = {"a": ([3.0, 2.0], [0.5, 1.0]), "b": ([3.0, 3.0], [4.0])}
    single = {"a": ([3.0], [1.0]), "b": ([2.0], [0.0])}
    moved = [{k: ([x + 8 for x in r], [x + 8 for x in w]) for k, (r, w) in part.items()} for part in (tied, single)]
    assert ties_score(tied, single) == ties_score(*moved)


def test_ties_by_hand():
    # One prompt: right answers 3.0 and 2.5 (spread 0.5) lead by 1.5; the twin with one right answer leads by 0.25.
    score = ties_score({"a": ([3.0, 2.5], [1.0])}, {"a": ([1.0], [0.75, 0.0])})
    assert (score.tied, score.reference, score.margin, score.hard) == (1.0, 1.0, 1.0, 0.0)
    assert score.spread == pytest.approx(math.tanh(0.25 / 0.5 - 1))
    assert score.overall == pytest.approx(0.8 + 0.01 * math.tanh(-0.5))


def test_right_answers_that_all_score_alike_lead_without_bound():
    perfect = ties_score({"a": ([1.0, 1.0], [0.0])}, {"a": ([1.0], [0.0])})
    assert perfect.overall == pytest.approx(1.01)
    constant = ties_score({"a": ([1.0, 1.0], [1.0])}, {"a": ([1.0], [1.0])})
    assert constant.overall == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("tied", "reference"),
    [
        ({}, {}),
        ({"a": ([1, 2], [0])}, {"b": ([1], [0])}),
        ({"a": ([1], [0])}, {"a": ([1], [0])}),
        ({"a": ([1, 2], [])}, {"a": ([1], [0])}),
    ],
)
def test_ties_that_do_not_fit_are_refused(tied: Any, reference: Any):
    with pytest.raises(InputError):
        ties_score(tied, reference)
