from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.terms.novelty import (
    direction_novelty,
    elliptical_bonus,
    sparse_projection,
    token_gradients,
)

untimed = settings(deadline=None)


VECTORS = st.lists(st.lists(st.floats(-3, 3), min_size=3, max_size=3), min_size=2, max_size=7)


NAMES = ("features", "gradient_features")


def by_features(success: Sequence[bool], features: Sequence[Sequence[float]]) -> list[Episode]:
    return [
        Episode("t", {}, (Step("", "x", 0.0, {}, 1),), s, float(s), True, False, None, dict.fromkeys(NAMES, f))
        for s, f in zip(success, features, strict=True)
    ]


def rewards_of(name: str, episodes: Sequence[Episode], **options: Any) -> list[float]:
    return [verdict.reward for verdict in rewards.make(name, **options).group(episodes)]


def walk(*observations: Any, rewards_at: Mapping[int, float] | None = None) -> Episode:
    rewards_at = rewards_at or {}
    steps = tuple(Step(seen, "", rewards_at.get(t, 0.0), {}, 1) for t, seen in enumerate(observations))
    return Episode("t", {}, steps, False, 0.0, True, False, None)


# Elliptical bonus (RepExp).


def test_a_unit_vector_alone_has_leverage_1_over_1_plus_lambda():
    assert elliptical_bonus(np.array([[1.0, 0.0]]), 0.01) == pytest.approx([0.990], abs=5e-4)


def test_identical_responses_have_no_bonus_after_centring():
    assert rewards_of("repexp", by_features([True] * 3, [[1.0, 2.0]] * 3), embedder=None) == pytest.approx([1, 1, 1])


@untimed
@given(VECTORS)
def test_the_bonuses_sum_to_no_more_than_the_dimensions(vectors: list[list[float]]):
    features = np.array(vectors)
    features -= features.mean(axis=0)
    bonus = elliptical_bonus(features)
    covariance = 0.01 * np.eye(3) + features.T @ features
    assert bonus == pytest.approx(np.einsum("id,de,ie->i", features, np.linalg.inv(covariance), features), abs=1e-6)
    assert bonus.sum() <= min(3, len(features) - 1) + 1e-6


@untimed
@given(VECTORS)
def test_leave_one_out_bonus_uses_the_covariance_of_the_others(vectors: list[list[float]]):
    features = np.array(vectors)
    bonus = elliptical_bonus(features, 0.5, leave_one_out=True)
    others = 0.5 * np.eye(3) + features[1:].T @ features[1:]
    assert bonus[0] == pytest.approx(features[0] @ np.linalg.inv(others) @ features[0], rel=1e-6, abs=1e-9)


def test_there_is_no_bonus_in_a_group_without_a_success():
    assert rewards_of("repexp", by_features([False, False], [[1.0, 0.0], [0.0, 1.0]]), embedder=None) == [0, 0]


def test_the_bonus_is_weighted_and_failures_get_it_too():
    # Centred: (.5, -.5) and (-.5, .5), rank one with norm 1: leverage .5 / 1.01 each.
    group_rewards = rewards_of(
        "repexp", by_features([True, False], [[1.0, 0.0], [0.0, 1.0]]), embedder=None, weight=0.1
    )
    assert group_rewards == pytest.approx([1 + 0.05 / 1.01, 0.05 / 1.01])


@untimed
@given(VECTORS, st.data())
def test_repexp_never_ranks_a_failure_above_a_success(vectors: list[list[float]], data: st.DataObject):
    success = data.draw(st.lists(st.booleans(), min_size=len(vectors), max_size=len(vectors)))
    made = rewards.make("repexp", embedder=None, weight=1.0)
    assert made.ranks_success
    group_rewards = [verdict.reward for verdict in made.group(by_features(success, vectors))]
    assert_ranked(group_rewards, success)


def assert_ranked(group_rewards: Sequence[float], success: Sequence[bool]) -> None:
    won = [r for r, s in zip(group_rewards, success, strict=True) if s]
    lost = [r for r, s in zip(group_rewards, success, strict=True) if not s]
    assert not won or not lost or max(lost) <= min(won)


def test_leave_one_out_promises_no_ranking():
    assert not rewards.make("repexp", leave_one_out=True).ranks_success
    assert not rewards.make("repexp", weight=1.5).ranks_success


def test_a_wide_feature_is_projected_with_its_length_kept_on_average():
    projection = sparse_projection(400, 64, np.random.default_rng(0))
    rows = np.random.default_rng(1).normal(size=(200, 400))
    ratio = np.square(rows @ projection).sum(axis=1) / np.square(rows).sum(axis=1)
    assert ratio.mean() == pytest.approx(1.0, abs=0.1)
    wide = by_features([True, True, False], rows[:3].tolist())
    assert rewards_of("repexp", wide, embedder=None) == rewards_of("repexp", wide, embedder=None)
    assert rewards_of("repexp", wide, embedder=None) != rewards_of("repexp", wide, embedder=None, seed=1)


def test_features_that_are_not_finite_make_the_group_invalid():
    verdicts = rewards.make("repexp", embedder=None).group(by_features([True, False], [[1.0], [float("nan")]]))
    assert [verdict.valid for verdict in verdicts] == [False, False]


# Gradient novelty (G2RL).


def test_identical_responses_are_not_scaled():
    episodes = by_features([True, True, False], [[1.0, 2.0]] * 3)
    assert rewards_of("gradient-novelty", episodes) == [1, 1, -1]


def test_orthogonal_responses_are_scaled_in_full():
    episodes = by_features([True, True, False], np.eye(3).tolist())
    assert rewards_of("gradient-novelty", episodes, weight=0.5) == [1.5, 1.5, -1.5]


def test_without_other_successes_nothing_is_scaled():
    assert rewards_of("gradient-novelty", by_features([True, False], np.eye(2).tolist()))[0] == 1.0
    assert rewards_of("gradient-novelty", by_features([False, False], np.eye(2).tolist())) == [-1, -1]


def test_a_failure_in_the_direction_of_successes_is_punished_less():
    episodes = by_features([True, False, False], [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    group_rewards = rewards_of("gradient-novelty", episodes)
    assert group_rewards[2] == -2.0
    assert -1.2 < group_rewards[1] < -1.0


def test_novelty_by_hand():
    similarity = np.array([[1.0, 0.6], [0.6, 1.0]])
    assert direction_novelty(similarity, np.array([True, True])) == pytest.approx([0.8, 0.8])


@untimed
@given(VECTORS, st.data())
def test_scaling_by_novelty_never_changes_a_sign(vectors: list[list[float]], data: st.DataObject):
    success = data.draw(st.lists(st.booleans(), min_size=len(vectors), max_size=len(vectors)))
    group_rewards = rewards_of("gradient-novelty", by_features(success, vectors), weight=0.7)
    assert all(1 <= (r if s else -r) <= 1.7 for r, s in zip(group_rewards, success, strict=True))
    assert_ranked(group_rewards, success)


def test_the_feature_is_the_gradient_of_the_log_probability_in_the_hidden_states():
    rng = np.random.default_rng(0)
    weights, hidden, tokens = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.array([0, 4, 2, 2])

    def log_probabilities(states: np.ndarray) -> np.ndarray:
        logits = states @ weights.T
        return logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    step = 1e-5
    numeric = np.zeros((4, 3))
    for d, direction in enumerate(step * np.eye(3)):
        rise = log_probabilities(hidden + direction) - log_probabilities(hidden - direction)
        numeric[:, d] = rise[np.arange(4), tokens] / (2 * step)
    gradients = token_gradients(np.exp(log_probabilities(hidden)), tokens, weights)
    assert gradients == pytest.approx(numeric, abs=1e-8)


# Visits: counts and RDD.


def test_count_bonus_falls_with_the_root_of_the_visits_across_episodes():
    made = rewards.make("count-bonus", weight=2.0)
    assert made.values(walk("a", "b", "a")) == pytest.approx([2, 2, 2**0.5])  # type: ignore[attr-defined]
    assert made(walk("a", "c")).reward == pytest.approx(2 / 3**0.5 + 2)


def test_episodic_counts_start_anew():
    made = rewards.make("count-bonus", episodic=True, exponent=1.0)
    assert made(walk("a", "a")).reward == made(walk("a", "a")).reward == 1.5


def test_states_differ_by_their_key():
    made = rewards.make("count-bonus", key=lambda observation: observation["place"], exponent=1.0)
    assert made(walk({"place": 1, "time": 0}, {"place": 1, "time": 1})).reward == 1.5


def test_rdd_bonus_times_visits_is_the_variance_on_average():
    made = rewards.make("rdd", dimension=2000, deviation=3.0)
    for visits in range(1, 8):
        # With 2,000 dimensions n * bonus / 9 has a deviation of sqrt(2 / 2000) = 0.032.
        assert visits * made(walk("a")).reward == pytest.approx(9.0, rel=0.16)


def test_rdd_bonus_of_a_new_state_is_full_again():
    made = rewards.make("rdd", dimension=2000)
    for _ in range(20):
        made(walk("a"))
    assert made(walk("a")).reward < 0.1
    assert made(walk("b")).reward == pytest.approx(1.0, rel=0.16)


@pytest.mark.parametrize("name", ["rdd", "count-bonus"])
def test_saved_visits_go_on_exactly(name: str):
    first, second = rewards.make(name), rewards.make(name)
    first(walk("a", "b", "a"))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second(walk("a", "c")) == first(walk("a", "c"))
    assert second.state_dict() == first.state_dict()
    with pytest.raises(InputError, match="visits"):
        second.load_state_dict({"other": 1})


@pytest.mark.parametrize("name", ["rdd", "count-bonus"])
def test_a_visit_gets_the_same_bonus_at_once(name: str):
    made, again = rewards.make(name), rewards.make(name)
    steps = walk("a", "b", "a").steps
    assert [made.step_reward_now(s, None, False) for s in steps] == again.values(walk("a", "b", "a"))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("repexp", {"weight": -1}),
        ("repexp", {"ridge": 0}),
        ("repexp", {"dimension": 0}),
        ("gradient-novelty", {"weight": float("nan")}),
        ("rdd", {"dimension": 0}),
        ("rdd", {"seed": -1}),
        ("count-bonus", {"exponent": -1}),
    ],
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)


Maker = Callable[..., Episode]


def test_outcome_and_exploration_are_two_terms(episode: Maker):
    verdict = make("exploration", alpha=0.75, cap=1.0, full=100)(episode(True, tokens=50))
    assert verdict.terms == {"outcome": 0.75, "exploration": 0.125}
    assert verdict.reward == 0.875


def test_more_tokens_than_full_earn_no_more(episode: Maker):
    reward = make("exploration", full=100)
    assert reward(episode(tokens=100)).reward == reward(episode(tokens=10_000)).reward


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.5, 0.9, 1.0])
def test_with_the_largest_cap_no_failure_beats_a_success(episode: Maker, alpha: float):
    cap = alpha / (1 - alpha) if alpha < 1 else 1.0
    reward = make("exploration", alpha=alpha, cap=cap)
    assert reward(episode(False, tokens=10**9)).reward <= reward(episode(True, tokens=0)).reward


def test_a_larger_cap_is_refused():
    with pytest.raises(InputError, match="alpha / "):
        make("exploration", alpha=0.25, cap=0.34)


def test_a_judge_of_exploration_may_be_silent(episode: Maker):
    assert make("exploration", alpha=0.5, scorer=lambda _: 0.5)(episode()).reward == 0.75
    assert not make("exploration", scorer=lambda _: None)(episode()).valid
