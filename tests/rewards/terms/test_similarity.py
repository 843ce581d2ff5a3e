from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.embedding import cosines
from palaestra.rewards.terms.similarity import (
    best_match,
    dbscan,
    ngram_overlap,
    scaled_progress,
    spread_scores,
    standardised_progress,
    success_centres,
)

untimed = settings(deadline=None)


Maker = Callable[..., Episode]


def likeness(name: str, response: str, reference: object, **options: object) -> float:
    episode = Episode(
        "t", {}, (Step("", response, 0.0, {}, 1),), True, 1.0, True, False, None, {"reference": reference}
    )
    return rewards.make(name, **options)(episode).reward


# Whole texts.


@pytest.mark.parametrize("name", ["semantic-similarity", "bmas"])
def test_identical_texts_get_1(name: str):
    assert likeness(name, "The cat sat, twice.", "The cat sat, twice.") == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["semantic-similarity", "bmas"])
def test_disjoint_texts_get_0(name: str):
    assert likeness(name, "aaa bbb", "ccc ddd") == 0.0
    assert likeness(name, "", "ccc ddd") == 0.0


def test_an_embedder_of_ones_own_decides_and_its_scale_does_not():
    vectors = {"north": [0.0, 2.0], "northeast": [5.0, 5.0]}
    reward = likeness(
        "semantic-similarity", "north", "northeast", embedder=lambda texts: np.array([vectors[t] for t in texts])
    )
    assert reward == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("name", ["semantic-similarity", "bmas"])
def test_a_reference_that_is_missing_or_blank_is_refused(name: str, episode: Maker):
    for reference in ("  ", 5):
        with pytest.raises(InputError, match="reference"):
            likeness(name, "x", reference)
    with pytest.raises(InputError, match="reference"):
        rewards.make(name)(episode(text="x"))
    assert rewards.make(name, reference=lambda e: "x")(episode(text="x")).reward == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["semantic-similarity", "bmas"])
def test_an_embedder_that_fails_gives_an_invalid_verdict(name: str, episode: Maker):
    made = rewards.make(name, embedder=lambda texts: np.full((len(texts), 2), np.inf), reference=lambda e: "y")
    assert not made(episode(text="x")).valid


# Word against word (BMAS).

WORDS = st.lists(st.sampled_from(["red", "green", "blue", "bluish"]), min_size=1, max_size=6)


@untimed
@given(WORDS, WORDS)
def test_bmas_is_symmetric(first: list[str], second: list[str]):
    there, back = (likeness("bmas", " ".join(a), " ".join(b)) for a, b in ((first, second), (second, first)))
    assert there == pytest.approx(back)


@untimed
@given(st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=2, max_size=6), st.data())
def test_a_copied_word_never_lowers_the_reference_half(vectors: list[list[float]], data: st.DataObject):
    reference, response = np.array(vectors[:1]), np.array(vectors[1:])
    copied = np.vstack([response, response[data.draw(st.integers(0, len(response) - 1))]])
    assert best_match(cosines(copied, reference))[1] >= best_match(cosines(response, reference))[1]


def test_bmas_by_hand():
    # Rows: best .8 and .6; columns: best .8, .6 and .3.
    similarity = np.array([[0.8, 0.1, 0.3], [0.2, 0.6, 0.0]])
    forward, backward = best_match(similarity)
    assert (forward, backward) == (pytest.approx(0.7), pytest.approx(1.7 / 3))


def test_spellings_are_alike_to_the_default_embedder():
    assert likeness("bmas", "colour", "color") > 0.5


def test_only_so_many_words_are_compared():
    assert likeness("bmas", "right " + "wrong " * 50, "right", max_words=1) == pytest.approx(1.0)


# Distance to the group's successes (SRPO).


def group(success: Sequence[bool], features: Sequence[Sequence[float]]) -> list[Episode]:
    return [
        Episode("t", {}, (Step("", "x", 0.0, {}, 1),), s, float(s), True, False, None, {"features": f})
        for s, f in zip(success, features, strict=True)
    ]


def rewards_of(episodes: Sequence[Episode], form: str = "code") -> list[float]:
    made = rewards.make("self-reference", form=form, embedder=None)
    return [verdict.reward for verdict in made.group(episodes)]


def test_progress_in_the_released_code():
    assert scaled_progress(np.array([0.0, 0.5, 1.0])) == pytest.approx([0.5960, 0.3000, 0.0040], abs=5e-5)
    assert scaled_progress(np.array([2.0, 2.0])) == pytest.approx([0.3, 0.3])


def test_progress_in_the_paper_is_one_half_at_the_mean():
    assert standardised_progress(np.array([1.0, 2.0, 3.0])) == pytest.approx(
        [1 / (1 + np.exp(-(1.5**0.5))), 0.5, 1 / (1 + np.exp(1.5**0.5))]
    )


def test_failures_equally_far_away_have_the_middle_of_the_papers_progress():
    # The mean of three times 0.1 is not 0.1 in floating point.
    assert standardised_progress(np.array([0.1] * 3)).tolist() == [0.5] * 3


@pytest.mark.parametrize("form", ["code", "paper"])
@untimed
@given(st.lists(st.tuples(st.booleans(), st.lists(st.floats(-9, 9), min_size=2, max_size=2)), min_size=1, max_size=9))
def test_every_failure_gets_less_than_every_success(form: str, members):
    success = [s for s, _ in members]
    group_rewards = rewards_of(group(success, [f for _, f in members]), form)
    assert all(r == 1.0 if s else 0 <= r < 1 for r, s in zip(group_rewards, success, strict=True))


@pytest.mark.parametrize("form", ["code", "paper"])
def test_progress_falls_with_the_distance(form: str):
    group_rewards = rewards_of(
        group([True, False, False, False], [[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), form
    )
    assert 1 > group_rewards[2] > group_rewards[3] > group_rewards[1]


def test_all_get_0_in_a_group_without_a_success():
    assert rewards_of(group([False, False], [[0.0], [1.0]])) == [0, 0]
    assert rewards_of(group([True, True], [[0.0], [1.0]])) == [1, 1]


def test_the_nearest_of_several_clusters_counts():
    successes = [[0.0, 0.0], [0.1, 0.0], [10.0, 10.0], [10.1, 10.0]]
    centres = success_centres(np.array(successes))
    assert centres == pytest.approx(np.array([[0.05, 0.0], [10.05, 10.0]]))
    group_rewards = rewards_of(group([True] * 4 + [False] * 2, [*successes, [9.0, 9.0], [5.0, 5.0]]))
    assert group_rewards[4] == pytest.approx(0.5960, abs=5e-5)


def test_without_a_cluster_the_mean_of_the_successes_counts():
    assert success_centres(np.array([[0.0], [10.0]])) == pytest.approx(np.array([[5.0]]))


@untimed
@given(st.lists(st.lists(st.integers(0, 6), min_size=2, max_size=2), min_size=1, max_size=14), st.integers(1, 4))
@example([[0, 0], [0, 0], [0, 0], [1, 0], [2, 0], [3, 0]], 4)  # noise next to a border point
def test_dbscan_clusters_are_connected_core_points_and_what_they_reach(points: list[list[int]], least: int):
    rows = np.array(points, dtype=float)
    near = np.linalg.norm(rows[:, None] - rows[None], axis=2) <= 1.5
    core = near.sum(axis=1) >= least
    connected = np.linalg.matrix_power((near & core & core[:, None]).astype(float), len(rows)) > 0
    labels = dbscan(rows, 1.5, least)
    for i in range(len(rows)):
        reaching = labels[near[i] & core]
        assert labels[i] == (reaching.min() if len(reaching) else -1) if not core[i] else labels[i] >= 0
        assert (labels[core] == labels[i]).tolist() == connected[i, core].tolist() or not core[i]
    first = list(dict.fromkeys(labels[core].tolist()))
    assert first == sorted(first)


def test_trajectories_are_compared_by_their_text_without_features(episode: Maker):
    made = rewards.make("self-reference")
    episodes = [
        episode(True, ["up", "left"], observations=["start", "hall"]),
        episode(False, ["up", "wait"], observations=["start", "hall"]),
        episode(False, ["sleep", "sleep"], observations=["start", "start"]),
    ]
    group_rewards = [verdict.reward for verdict in made.group(episodes)]
    assert made.needs == frozenset()
    assert group_rewards[0] == 1.0
    assert group_rewards[1] > group_rewards[2]


@pytest.mark.parametrize("wrong", [{"form": "theirs"}, {"radius": -1}, {"least": 0}])
def test_wrong_arguments_are_refused(wrong: dict[str, object]):
    with pytest.raises(InputError):
        rewards.make("self-reference", **wrong)


def test_scores_close_together_are_spread_in_their_order_and_ties_stay():
    spread = spread_scores([0.90, 0.92, 0.91])
    # spread 0.02, weight 2 / 3: 0.3, 0.92 / 3 + 2 / 3, 0.91 / 3 + 1 / 3
    assert spread == pytest.approx([0.3, 0.97333, 0.63667], abs=1e-4)
    assert spread_scores([0.9, 0.9]) == [0.9, 0.9]
    assert spread_scores([]) == []


def test_armed_adds_the_spread_similarity_to_correctness(episode):
    reward = rewards.make("armed", weight=0.5)
    verdicts = reward.group(
        [episode(success=s, text=text, reference="the cat sat") for s, text in ((1, "the cat sat"), (0, "a dog ran"))]
    )
    assert [dict(verdict.terms) for verdict in verdicts] == [
        {"correctness": 1.0, "semantic": pytest.approx(0.5)},
        {"correctness": 0.0, "semantic": pytest.approx(0.0)},
    ]


def test_shared_ngrams_are_counted_by_size():
    # 1-grams: 3 of 3 and 4, 2 * 3 / 7; 2-grams: (a b), 2 * 1 / 5; 3-grams: none of 3; 4-grams: none of 1
    assert ngram_overlap("a b c", "a b d c") == pytest.approx((6 / 7 + 2 / 5 + 0 + 0) / 4)
    assert ngram_overlap("A b!", "a b !") == 1.0
    assert ngram_overlap("a a a", "a", sizes=(1,)) == pytest.approx(2 * 1 / 4)
    assert ngram_overlap("", "") == 0.0
