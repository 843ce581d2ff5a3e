"""The replay distribution (arXiv 2010.03934, section 3) and the buffer that keeps it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.levels.buffer import (
    Entry,
    History,
    LevelBuffer,
    score_distribution,
    staleness_distribution,
)


def fill_buffer(scores, last=None, capacity=None, **options):
    """A buffer of levels "0", "1", ... with the scores given."""
    last = [0] * len(scores) if last is None else last
    buffer = LevelBuffer(capacity=capacity or len(scores), **options)
    buffer.insert([Entry(str(i), i, s, c, History()) for i, (s, c) in enumerate(zip(scores, last))], 0)
    return buffer


def offer(buffer, score, key="new", last=0, clock=0):
    return buffer.insert([Entry(key, key, score, last, History())], clock)


def test_the_worked_example_of_prioritized_level_replay():
    buffer = fill_buffer([3.0, 1.0, 2.0], [9, 5, 1], temperature=0.1, staleness=0.1)
    ranked = np.array([1.0, 3.0**-10, 2.0**-10]) / (1 + 3.0**-10 + 2.0**-10)
    assert ranked == pytest.approx([0.999007, 1.692e-5, 9.756e-4], rel=1e-3)
    assert buffer.score_weights() == pytest.approx(ranked, abs=1e-12)
    assert staleness_distribution(buffer.last, 10) == pytest.approx([1 / 15, 5 / 15, 9 / 15], abs=1e-12)
    assert buffer.weights(10) == pytest.approx(0.9 * ranked + 0.1 * np.array([1, 5, 9]) / 15, abs=1e-12)
    assert buffer.weights(10) == pytest.approx([0.905773, 0.033349, 0.060878], abs=1e-6)


def test_the_proportional_example_at_temperature_one_half():
    weights = score_distribution(np.array([3.0, 1.0, 2.0]), "proportional", 0.5)
    assert weights == pytest.approx([9 / 14, 1 / 14, 4 / 14], abs=1e-12)


@pytest.mark.parametrize(
    ("transform", "temperature", "expected"),
    [
        ("rank", 1.0, np.array([6, 2, 3]) / 11),
        ("proportional", 1.0, np.array([0.8, 0.1, 0.5]) / 1.4),
        ("power", 1.0, np.array([0.9, 0.2, 0.6]) / 1.7),  # with a floor of 0.1
        ("softmax", 0.1, np.exp([0, -7, -3]) / (1 + np.exp(-7) + np.exp(-3))),
        ("max", 0.3, [1, 0, 0]),
        ("eps-greedy", 0.3, [0.96, 0.02, 0.02]),
        ("match", 1.0, np.array([0.16, 0.09, 0.25]) / 0.5),
        ("match-rank", 1.0, np.array([3, 2, 6]) / 11),
        ("constant", 0.3, [1 / 3] * 3),
    ],
)
def test_every_transform_by_hand_and_no_score_is_changed_by_it(transform, temperature, expected):
    scores = np.array([0.8, 0.1, 0.5])
    weights = score_distribution(scores, transform, temperature, epsilon=0.06, floor=0.1)
    assert weights == pytest.approx(expected, abs=1e-12)
    assert scores.tolist() == [0.8, 0.1, 0.5]


def test_temperature_is_a_power_and_as_a_divisor_would_do_nothing():
    scores = np.array([3.0, 1.0, 2.0])
    power = [score_distribution(scores, "rank", beta)[0] for beta in (1.0, 0.5, 0.1)]
    assert power == pytest.approx([6 / 11, 36 / 49, 1 / (1 + 2.0**-10 + 3.0**-10)])
    divided = [score_distribution(scores, "rank", beta, tempering="divisor")[0] for beta in (1.0, 0.5, 0.1)]
    assert divided == pytest.approx([6 / 11] * 3)


def test_equal_scores_share_the_weights_of_their_ranks():
    weights = score_distribution(np.array([0.0, 1.0, 0.0, 0.0]), "rank", 1.0)
    assert weights == pytest.approx(np.array([13 / 36, 1, 13 / 36, 13 / 36]) / (25 / 12))


def test_ranks_do_not_see_a_monotone_rescaling():
    scores = np.random.default_rng(0).normal(size=50)
    assert (
        score_distribution(np.exp(3 * scores), "rank", 0.3).tolist() == score_distribution(scores, "rank", 0.3).tolist()
    )


@pytest.mark.parametrize(
    "transform", ["rank", "proportional", "power", "softmax", "max", "eps-greedy", "match", "constant"]
)
@pytest.mark.parametrize("scores", [[0.0] * 5, [-1.0, -2.0], [1e-200, 3e-200], [1e9, 1.0, 0.0], [0.5]])
def test_weights_sum_to_one_whatever_the_scores(transform, scores):
    weights = score_distribution(np.array(scores), transform, 0.1)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_stale_level_is_sampled_before_long():
    """The worst of ten levels, of rank weight 1e-10, comes up within N / rho draws on average thanks to staleness."""
    buffer = fill_buffer(list(range(10, 0, -1)), temperature=0.1, staleness=0.1)
    rng, waits, since = np.random.default_rng(0), [], 0
    for clock in range(1, 8_000):
        since += 1
        if buffer.sample(1, clock, rng)[0][0] == 9:
            waits.append(since)
            since = 0
    assert 10 < np.mean(waits) <= 10 / 0.1
    without = fill_buffer(list(range(10, 0, -1)), temperature=0.1, staleness=0.0)
    assert all(without.sample(1, clock, rng)[0][0] != 9 for clock in range(1, 2000))


def test_sampling_makes_a_level_fresh():
    buffer = fill_buffer([1.0, 1.0], staleness=1.0)
    slots, probs = buffer.sample(1, 5, np.random.default_rng(0))
    assert probs == pytest.approx([0.5])
    assert buffer.weights(6)[slots[0]] == pytest.approx(1 / 7)


def test_draws_follow_the_weights():
    buffer = fill_buffer([3.0, 1.0, 2.0], [9, 5, 1], temperature=1.0, staleness=0.5)
    expected = buffer.weights(10)
    slots, probs = buffer.sample(40_000, 10, np.random.default_rng(1))
    assert np.bincount(slots, minlength=3) / 40_000 == pytest.approx(expected, abs=0.01)
    assert probs == pytest.approx(expected[slots])


def test_a_new_level_replaces_the_smallest_replay_weight_only_if_its_score_is_higher():
    # Level 1 has the lowest score but waited longest, so that level 2 weighs least: 0.1 of 11ths and no staleness.
    options = {"temperature": 1.0, "staleness": 0.9}
    buffer = fill_buffer([3.0, 1.0, 2.0], [5, 0, 10], **options)
    assert buffer.weights(10).argmin() == 2
    assert offer(buffer, 1.9, clock=10) == 0
    assert buffer.keys == ["0", "1", "2"]
    assert offer(buffer, 2.1, clock=10) == 1
    assert buffer.keys == ["0", "1", "new"]
    assert buffer.find("2") is None
    by_score = fill_buffer([3.0, 1.0, 2.0], [5, 0, 10], priority="score", **options)
    assert offer(by_score, 1.9, clock=10) == 1
    assert by_score.keys == ["0", "new", "2"]


def test_one_by_one_inserts_equal_a_plain_reading_of_the_rule():
    rng, options = np.random.default_rng(2), {"temperature": 0.3, "staleness": 0.3}
    buffer = LevelBuffer(capacity=20, **options)
    scores, last, keys = [], [], []
    for clock, score in enumerate(rng.integers(0, 15, 400) / 10):
        offer(buffer, score, str(clock), last=clock, clock=clock)
        if len(keys) < 20:
            scores.append(score), last.append(clock), keys.append(str(clock))
            continue
        weights = 0.7 * score_distribution(np.array(scores), "rank", 0.3)
        weights += 0.3 * staleness_distribution(np.array(last), clock)
        lightest = int(weights.argmin())
        if score > scores[lightest]:
            scores[lightest], last[lightest], keys[lightest] = score, clock, str(clock)
    assert buffer.keys == keys
    assert buffer.scores.tolist() == scores


@pytest.mark.parametrize("batch", [1, 7, 100])
def test_by_score_the_best_of_all_are_kept_whatever_the_batch(batch):
    scores = np.random.default_rng(3).permutation(300) / 300
    buffer = LevelBuffer(capacity=25, priority="score")
    for start in range(0, 300, batch):
        entries = [Entry(str(s), None, s, 0, History()) for s in scores[start : start + batch].tolist()]
        buffer.insert(entries, start)
        assert len(buffer) <= 25
    assert sorted(buffer.scores) == sorted(scores)[-25:]


def test_a_level_below_the_minimum_changes_nothing():
    buffer = fill_buffer([3.0, 1.0, 2.0], priority="score")
    before = buffer.save()
    assert offer(buffer, 0.9) == 0
    assert offer(buffer, 1.0) == 0
    assert buffer.save() == before


def test_the_order_kept_up_to_date_is_the_order_sorted_anew():
    rng = np.random.default_rng(4)
    buffer = fill_buffer(rng.random(200).tolist(), temperature=0.5, staleness=0.0, capacity=300)
    for step in range(60):
        for slot in rng.integers(len(buffer), size=5):
            buffer.set(int(slot), float(rng.integers(0, 20) / 20))
        offer(buffer, float(rng.random()), f"n{step}")
        assert buffer.score_weights() == pytest.approx(score_distribution(buffer.scores, "rank", 0.5), abs=1e-14)


def test_a_saved_buffer_goes_on_alike():
    rng = np.random.default_rng(5)
    buffer = fill_buffer(rng.integers(0, 5, 30).astype(float).tolist(), staleness=0.3)
    buffer.sample(10, 4, rng)
    copy = LevelBuffer(capacity=30, staleness=0.3)
    copy.restore(json.loads(json.dumps(buffer.save())))
    for one in (buffer, copy):
        one.insert([Entry(f"n{i}", i, float(i), 5, History()) for i in range(6)], 9)
    assert copy.save() == buffer.save()
    assert copy.weights(20).tolist() == buffer.weights(20).tolist()


@pytest.mark.parametrize("damage", [{"keys": ["a", "a"]}, {"scores": [1.0]}, {"visits": [[1]]}, {"levels": []}])
def test_a_damaged_buffer_is_refused(damage):
    buffer = fill_buffer([1.0, 2.0])
    with pytest.raises(ValueError, match=r"levels under|cannot reshape"):
        LevelBuffer(capacity=2).restore({**buffer.save(), **damage})
    with pytest.raises(ValueError, match=r"levels under|cannot reshape"):
        LevelBuffer(capacity=1).restore(buffer.save())


@pytest.mark.parametrize(
    "options",
    [{"capacity": 0}, {"transform": "ranks"}, {"temperature": 0.0}, {"staleness": 1.5}, {"priority": "age"},
     {"tempering": "log"}],
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        LevelBuffer(**options)


def test_the_history_of_a_level_covers_all_visits():
    history = History().after(2, 0.25, 0.5, 1.0).after(1, 1.0, 1.0, 1.0).after(1, 0.0, 0.0, 0.0)
    assert history == (3, 4, pytest.approx(0.375), 1.0, 2.0, 0.0)
