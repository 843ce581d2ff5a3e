from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.terms.votes import novelty_in_class, rank_penalties

untimed = settings(deadline=None)


ANSWERS = st.lists(st.sampled_from(["A", "B", "C", ""]), min_size=1, max_size=8)


def an_episode(answer: str | None, task: str = "t", valid: bool = True, **extras: object) -> Episode:
    text = f"<answer>{answer}</answer>" if answer else ""
    return Episode(task, {}, (Step("", text, 0.0, {}, 1),), False, 0.0, valid, False, None, extras)


EVOL = "evol-rl"


def rewards_of(name: str, episodes: Sequence[Episode], **options: object) -> list[float]:
    return [verdict.reward for verdict in rewards.make(name, **options).group(episodes)]


# Majority vote (TTRL).


def test_agreement_with_the_majority_gets_1():
    assert rewards_of("majority-vote", [an_episode(a) for a in "ABAC"]) == [1, 0, 1, 0]


def test_a_missing_answer_never_votes_and_gets_0():
    assert rewards_of("majority-vote", [an_episode(a) for a in ("", "", "", "A")]) == [0, 0, 0, 1]
    assert rewards_of("majority-vote", [an_episode(a) for a in ("", "")]) == [0, 0]


def test_an_invalid_episode_never_votes():
    episodes = [an_episode("A", valid=False), an_episode("A", valid=False), an_episode("B")]
    verdicts = rewards.make("majority-vote").group(episodes)
    assert [verdict.valid for verdict in verdicts] == [False, False, True]
    assert verdicts[2].reward == 1


@untimed
@given(ANSWERS, st.randoms(use_true_random=False))
def test_the_order_of_the_siblings_never_matters_not_even_in_a_tie(answers: list[str], random):
    order = list(range(len(answers)))
    random.shuffle(order)
    group_rewards = rewards_of("majority-vote", [an_episode(a) for a in answers])
    shuffled = rewards_of("majority-vote", [an_episode(answers[i]) for i in order])
    assert shuffled == [group_rewards[i] for i in order]


def test_a_tie_goes_to_more_votes_and_then_to_the_first_in_order_of_the_text():
    assert rewards_of("majority-vote", [an_episode(a) for a in "BABA"]) == [0, 1, 0, 1]
    weights = [2.0, 1.0, 1.0]
    assert rewards_of("majority-vote", [an_episode(a) for a in "ABB"], weight=lambda e, a: weights) == [0, 1, 1]


def test_answers_that_differ_in_case_and_space_are_one():
    assert rewards_of("majority-vote", [an_episode(a) for a in ("New York", "new  york", "Paris")]) == [1, 1, 0]


def test_the_key_decides_which_answers_are_one():
    episodes = [an_episode(a) for a in ("0.5", "1/2", "2")]
    halves = {"0.5": "half", "1/2": "half"}
    assert rewards_of("majority-vote", episodes, key=lambda e: halves.get(e.answer or "", e.answer)) == [1, 1, 0]


@pytest.mark.parametrize("weights", [[1.0, -1.0], [1.0, float("nan")], [1.0]])
def test_wrong_weights_are_refused(weights: list[float]):
    with pytest.raises(InputError, match="weight"):
        rewards_of("majority-vote", [an_episode("A"), an_episode("B")], weight=lambda e, a: weights)


@pytest.mark.parametrize("slot", ["weight", "partition", "bonus"])
def test_an_unknown_slot_is_refused(slot: str):
    with pytest.raises(InputError, match="unknown vote"):
        rewards.make("majority-vote", **{slot: "nothing-like-it"})


def test_slots_combine_by_name_and_bring_their_needs():
    made = rewards.make("majority-vote", weight="self-consistency", partition="pareto", bonus="novelty")
    assert made.needs == {"agent"}
    assert made.bounds == (-1, 1)


# Several agents (RLCCF).


def two_models() -> list[Episode]:
    return [an_episode(a, agent=1) for a in "AAAB"] + [an_episode(a, agent=2) for a in "BBAC"]


def test_consistent_agents_weigh_more():
    # SC .75 and .5: A has 3 * .75 + .5 = 2.75, B has .75 + 2 * .5 = 1.75.
    made = rewards.make("rlccf")
    ballot = made.ballot(two_models())  # type: ignore[attr-defined]
    totals = {a: sum(w for w, b in zip(ballot.weights, ballot.answers, strict=True) if b == a) for a in "abc"}
    assert totals == {"a": 2.75, "b": 1.75, "c": 0.5}
    assert [verdict.reward for verdict in made.group(two_models())] == [1, 1, 1, 0, 0, 0, 1, 0]


def test_equally_consistent_agents_cast_a_plain_vote():
    episodes = [an_episode(a, agent=1) for a in "AAB"] + [an_episode(a, agent=2) for a in "BBC"]
    assert rewards_of("rlccf", episodes) == rewards_of("majority-vote", episodes) == [0, 0, 1, 1, 1, 0]


def test_the_order_of_the_agents_changes_nothing():
    first, second = two_models()[:4], two_models()[4:]
    assert (
        rewards_of("rlccf", first + second)
        == rewards_of("rlccf", second + first)[4:] + rewards_of("rlccf", second + first)[:4]
    )


def test_missing_answers_lower_an_agents_consistency():
    episodes = [an_episode(a, agent=1) for a in ("A", "", "", "")] + [an_episode("B", agent=2)]
    assert rewards_of("rlccf", episodes) == [0, 0, 0, 0, 1]


# Novelty within the majority (EVOL-RL).


def reasoned(answer: str, text: str) -> Episode:
    response = f"{text} <answer>{answer}</answer>" if answer else text
    return Episode("t", {}, (Step("", response, 0.0, {}, 1),), False, 0.0, True, False, None)


def by_vectors(vectors: Sequence[Sequence[float]]):
    return lambda texts: np.array(vectors[: len(texts)], dtype=float)


@untimed
@given(
    st.lists(
        st.tuples(st.sampled_from("AB"), st.lists(st.floats(-5, 5), min_size=3, max_size=3)), min_size=3, max_size=8
    )
)
def test_every_majority_member_outranks_every_minority_member(members):
    group_rewards = rewards_of(
        "evol-rl",
        episodes=[an_episode(a) for a, _ in members],
        embedder=by_vectors([v for _, v in members]),
    )
    votes = rewards_of("majority-vote", [an_episode(a) for a, _ in members])
    assert all(0.5 <= r <= 1 for r, v in zip(group_rewards, votes, strict=True) if v)
    assert all(-1 <= r <= -0.5 for r, v in zip(group_rewards, votes, strict=True) if not v)


def test_equal_texts_get_equal_rewards():
    texts = ["one two three", "four five", "one two three", "six", "one two three"]
    group_rewards = rewards_of(EVOL, [reasoned("A", text) for text in texts])
    assert group_rewards[0] == group_rewards[2] == group_rewards[4]
    assert group_rewards[3] > group_rewards[0]


def test_an_episode_alone_gets_its_label():
    assert rewards_of(EVOL, [reasoned("A", "x")]) == [1.0]
    assert rewards_of(EVOL, [an_episode("")]) == [-1.0]


def test_the_most_novel_of_three_gets_1_and_the_least_a_half():
    group_rewards = rewards_of(EVOL, episodes=[reasoned("A", text) for text in ("a b c", "a b d", "x y z")])
    assert (min(group_rewards), max(group_rewards)) == (0.5, 1.0)


def test_a_class_without_spread_gets_the_middle_and_not_its_raw_novelty():
    assert rewards_of(EVOL, episodes=[reasoned("A", "same"), reasoned("A", "same"), reasoned("B", "other")]) == [
        0.75,
        0.75,
        -0.75,
    ]


def test_sums_in_another_order_are_no_novelty():
    # Everybody has the same three similarities to the others, whose mean depends on their order in the last bit.
    similarity = np.ones((4, 4))
    for value, pairs in ((0.01, [(0, 1), (2, 3)]), (0.02, [(0, 2), (1, 3)]), (0.3, [(0, 3), (1, 2)])):
        for i, j in pairs:
            similarity[i, j] = similarity[j, i] = value
    assert novelty_in_class(similarity, np.ones(4, dtype=bool)).tolist() == [0.5] * 4


def test_an_answer_that_is_missing_gets_the_least():
    assert rewards_of(EVOL, [an_episode("A"), an_episode("A"), an_episode("")])[2] == -1.0


def test_an_embedder_that_fails_makes_the_group_invalid():
    made = rewards.make("evol-rl", embedder=lambda texts: np.full((len(texts), 2), np.nan))
    assert [verdict.valid for verdict in made.group([an_episode("A"), an_episode("A")])] == [False, False]


def test_novelty_by_hand():
    # Vectors at 0, 60 and 90 degrees, all in one class: cosines .5, 0 and .866.
    angles = np.radians([0, 60, 90])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).tolist()
    group_rewards = rewards_of(EVOL, [an_episode("A")] * 3, embedder=by_vectors(vectors))
    means, nearest = [0.25, 0.6830127, 0.4330127], [0.5, 0.8660254, 0.8660254]
    raw = [1 - 0.5 * m - 0.5 * n for m, n in zip(means, nearest, strict=True)]
    expected = [0.5 + 0.5 * (u - min(raw)) / (max(raw) - min(raw)) for u in raw]
    assert group_rewards == pytest.approx(expected, abs=1e-6)


def test_the_mean_is_over_the_own_class_and_the_nearest_over_both():
    # The dissenter lies on the first of the majority, whose nearest it is, and in nobody's mean.
    half = 0.5**0.5
    vectors = [[1.0, 0.0], [0.0, 1.0], [half, half], [1.0, 0.0]]
    group_rewards = rewards_of(EVOL, [an_episode(a) for a in "AAAB"], embedder=by_vectors(vectors))
    raw = [1 - 0.25 * half - 0.5, 1 - 0.25 * half - 0.5 * half, 1 - half]
    expected = [0.5 + 0.5 * (u - min(raw)) / (max(raw) - min(raw)) for u in raw]
    assert group_rewards == pytest.approx([*expected, -0.75], abs=1e-6)


def test_the_opposite_direction_is_no_more_novel_than_a_right_angle():
    vectors = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
    assert rewards_of(EVOL, [an_episode("A")] * 3, embedder=by_vectors(vectors)) == [0.75] * 3


def test_every_vote_is_complete_and_promises_nothing_about_success():
    for name in ("majority-vote", "rlccf", "scope", "evol-rl", "co-rewarding"):
        made = rewards.make(name)
        assert made.complete
        assert not made.ranks_success


def test_a_sentence_is_no_answer_of_evol_rl():
    silent = reasoned("", "I am afraid that I do not know how to do this.")
    assert rewards_of(EVOL, [reasoned("A", "a"), reasoned("A", "b"), silent])[2] == -1.0


def test_a_wrong_answer_costs_the_more_the_likelier_it_was():
    found = rank_penalties([0, 1, 2, 3], [False, True, False, False])
    assert found == pytest.approx([-0.3904, 0, -0.1952, -0.1681], abs=5e-5)
    assert rank_penalties([0, 1], [False, False]) == [0.0, 0.0]
