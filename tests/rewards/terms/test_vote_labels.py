from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.terms.vote_labels import ParetoSubgroups, pareto_choice, step_confidence
from palaestra.rewards.terms.votes import Ballot

untimed = settings(deadline=None)


ANSWERS = st.lists(st.sampled_from(["A", "B", "C", ""]), min_size=1, max_size=8)


def an_episode(answer: str | None, task: str = "t", valid: bool = True, **extras: object) -> Episode:
    text = f"<answer>{answer}</answer>" if answer else ""
    return Episode(task, {}, (Step("", text, 0.0, {}, 1),), False, 0.0, valid, False, None, extras)


def rewards_of(name: str, episodes: Sequence[Episode], **options: object) -> list[float]:
    return [verdict.reward for verdict in rewards.make(name, **options).group(episodes)]


# Step confidence and subgroups (SCOPE).


def test_equal_confidence_one_group_and_all_votes_make_a_majority_vote():
    answers = ["A", "B", "B", "", "C", "B"] * 4
    episodes = [an_episode(a, token_confidence=[0.5]) for a in answers]
    subgroups = ParetoSubgroups(ballots=1.0, sizes=[64])
    group_rewards = rewards_of("majority-vote", episodes, weight="token-confidence", partition=subgroups)
    assert group_rewards == rewards_of("majority-vote", episodes)


def test_splitting_a_response_in_more_steps_keeps_its_weight():
    assert step_confidence([[2.0] * 6]) == step_confidence([[2.0] * 2, [2.0] * 4]) == step_confidence([2.0] * 6) == 2.0


def test_each_step_counts_alike_whatever_its_length():
    assert step_confidence([[1.0] * 99, [3.0]]) == 2.0
    assert step_confidence([]) == step_confidence([[]]) == 0.0


def test_a_dominated_size_is_never_chosen():
    # Size 4 has less reward and less diversity than size 2.
    assert pareto_choice([1, 2, 4], [0.2, 0.6, 0.5], [3.0, 2.0, 1.5], 0.7) != 4


@untimed
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1, 8)), min_size=1, max_size=6), st.floats(0, 1))
def test_the_choice_lies_on_the_pareto_front(points: list[tuple[float, float]], balance: float):
    sizes = list(range(len(points)))
    r, d = points[pareto_choice(sizes, [p[0] for p in points], [p[1] for p in points], balance)]
    assert not any(a >= r and b >= d and (a, b) != (r, d) for a, b in points)


def test_of_equally_good_sizes_the_largest_is_taken():
    assert pareto_choice([1, 8, 2], [0.5] * 3, [2.0] * 3, 0.7) == 8


def test_balance_trades_reward_for_diversity():
    assert pareto_choice([1, 8], [0.3, 0.9], [4.0, 1.0], balance=1.0) == 8
    assert pareto_choice([1, 8], [0.3, 0.9], [4.0, 1.0], balance=0.0) == 1


def test_a_missing_answer_does_not_shift_the_confidences_of_the_others():
    # Were the missing one dropped before pairing, A would be given 9 and win.
    episodes = [an_episode(a, token_confidence=[c]) for a, c in (("", 9.0), ("A", 1.0), ("B", 5.0))]
    assert rewards_of("scope", episodes, ballots=1.0) == [0, 0, 1]
    ballot = rewards.make("scope").ballot(episodes)  # type: ignore[attr-defined]
    assert ballot.weights == (0.0, 1.0, 5.0)


@pytest.mark.parametrize("unknown", [[None, 1.0], [float("nan")], [[1.0], [float("inf")]]])
def test_a_vote_of_unknown_confidence_does_not_count(unknown: object):
    episodes = [an_episode("A", token_confidence=unknown), an_episode("B", token_confidence=[0.1])]
    assert rewards_of("scope", episodes, ballots=1.0) == [0, 1]


def test_subgroups_are_consecutive_and_the_same_in_every_run():
    episodes = [an_episode(a, token_confidence=[1.0]) for a in "ABCDEFGH"]
    ballot = rewards.make("scope").ballot(episodes)  # type: ignore[attr-defined]
    labels = ParetoSubgroups(seed=3).labels(ballot, 2)
    assert labels == ParetoSubgroups(seed=3).labels(ballot, 2)
    assert [labels[i] == labels[i + 1] for i in (0, 2, 4, 6)] == [True] * 4
    assert len({tuple(ParetoSubgroups(seed=s).labels(ballot, 2)) for s in range(5)}) > 1


def test_more_distinct_labels_win_at_equal_reward():
    class Given(ParetoSubgroups):
        def labels(self, ballot: Ballot, size: int) -> list[str | None]:
            return ["a", "b", "b", "a"] if size == 1 else ["a"] * 4

    episodes = [an_episode(a) for a in "AABB"]
    assert rewards_of("majority-vote", episodes, partition=Given(sizes=[1, 4])) == [1, 0, 1, 0]


def test_the_subgroup_size_is_chosen_for_the_whole_batch():
    groups = [[an_episode(a, task, token_confidence=[1.0]) for a in text] for task, text in (("x", "ABAB"), ("y", "C"))]
    verdicts = rewards.make("scope").batch(groups)
    assert [len(row) for row in verdicts] == [4, 1]
    assert verdicts[1][0].reward == 1


@pytest.mark.parametrize("wrong", [{"balance": 2}, {"ballots": 0}, {"seed": -1}])
def test_wrong_subgroup_options_are_refused(wrong: dict[str, float]):
    with pytest.raises(InputError):
        rewards.make("scope", **wrong)


# Two views of a task (Co-rewarding).


def pair(first: Sequence[str], second: Sequence[str]) -> list[list[Episode]]:
    return [[an_episode(a, task, pair="q") for a in row] for task, row in (("x", first), ("y", second))]


def batch(groups: list[list[Episode]], **options: object) -> list[list[float]]:
    return [[v.reward for v in row] for row in rewards.make("co-rewarding", **options).batch(groups)]


def test_each_side_is_rewarded_by_the_vote_of_the_other():
    groups = pair(["4", "4", "5"], ["5", "5", "4"])
    assert batch(groups) == [[0, 0, 1], [0, 0, 1]]
    assert batch(groups, view="same") == [[1, 1, 0], [1, 1, 0]]


@untimed
@given(ANSWERS, ANSWERS)
def test_swapping_the_sides_swaps_the_rewards(first: list[str], second: list[str]):
    assert batch(pair(first, second)) == batch(pair(second, first))[::-1]


def test_right_majorities_on_both_sides_reward_like_the_true_answer():
    assert batch(pair(["7", "7", "1"], ["7", "2", "7"])) == [[1, 1, 0], [1, 0, 1]]


def test_no_reward_where_the_vote_is_empty():
    assert batch(pair(["4", "4"], ["", ""])) == [[0, 0], [0, 0]]
    assert batch(pair([""], ["", ""])) == [[0], [0, 0]]


def test_a_group_without_its_partner_cannot_be_judged():
    verdicts = rewards.make("co-rewarding").batch([*pair(["4"], ["4"]), [an_episode("4", pair="lonely")]])
    assert [verdict.valid for row in verdicts for verdict in row] == [True, True, False]


def test_a_teacher_labels_where_asked():
    groups = [[an_episode(a, teacher_answer=" 5 ") for a in "45"], [an_episode("5", teacher_answer=None)]]
    assert batch(groups, view="teacher") == [[0, 1], [0]]
    assert batch(groups, view="teacher", teacher=lambda e: "4") == [[1, 0], [0]]


def test_wrong_pairs_and_views_are_refused():
    with pytest.raises(InputError, match="view"):
        rewards.make("co-rewarding", view="left")
    with pytest.raises(InputError, match="at most two"):
        batch([*pair(["1"], ["1"]), [an_episode("1", pair="q")]])
    with pytest.raises(InputError, match="share one"):
        batch([[an_episode("1", pair="q"), an_episode("1", pair="r")]])
