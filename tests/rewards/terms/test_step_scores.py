from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.terms.step_scores import blank_spans, equal_spans, shapley_values

Maker = Callable[..., Episode]


untimed = settings(deadline=None)


def turns(number: int, success: bool = True, valid: bool = True, task: str = "t", **extras: Any) -> Episode:
    steps = tuple(Step(t, "", 0.0, {}, 1) for t in range(number))
    return Episode(task, {}, steps, success, float(success), valid, False, None, extras)


def values(name: str, episode: Episode, **options: Any) -> Any:
    made = rewards.make(name, **options)
    step_rewards = made.values(episode)  # type: ignore[attr-defined]
    assert made(episode).reward == pytest.approx(sum(step_rewards))
    return pytest.approx(step_rewards, abs=1e-9)


# Scores of steps.


def test_clip_and_delta_together():
    # Clipped at .9: 0, -.1, 0; differences .1, -.1, 0.
    assert values("clip-delta", turns(3, step_scores=[0.9, 0.8, 0.95]), threshold=0.9) == [0.1, -0.1, 0.0]


def test_delta_and_clip_alone():
    episode = turns(3, step_scores=[0.9, 0.8, 0.95])
    assert values("clip-delta", episode, threshold=None) == [0.1, -0.15, 0.95]
    assert values("clip-delta", episode, threshold=0.9, delta=False, weight=2.0) == [0.0, -0.2, 0.0]


def test_min_form_gives_the_minimum_of_the_scores_to_the_worst_step():
    assert values("min-form", turns(3, step_scores=[0.5, -0.2, 0.8]), temperature=0.0) == [0.0, -0.2, 0.0]
    assert rewards.make("min-form")(turns(3, step_scores=[0.5, -0.2, 0.8])).reward == pytest.approx(-0.1993, abs=5e-5)


def test_renorm_of_a_success_and_a_failure():
    assert values("renorm", turns(2, True, step_scores=[1.0, 0.25])) == [1.0, 0.25]
    assert values("renorm", turns(2, False, step_scores=[1.0, 0.25])) == [0.0, -0.75]


@untimed
@given(st.lists(st.tuples(st.booleans(), st.lists(st.floats(0, 1), max_size=5)), min_size=1, max_size=6))
def test_renorm_never_ranks_a_failure_above_a_success(members: list[tuple[bool, list[float]]]):
    made = rewards.make("renorm")
    assert made.ranks_success
    for success, scores in members:
        reward = made(turns(len(scores), success, step_scores=scores)).reward
        assert reward >= 0 if success else reward <= 0


def test_renorm_refuses_scores_that_are_no_shares():
    for wrong in (1.5, -0.1):
        with pytest.raises(InputError, match=r"\[0, 1\]"):
            rewards.make("renorm")(turns(1, step_scores=[wrong]))


def test_a_scorer_takes_the_place_of_the_extra():
    made = rewards.make("clip-delta", scorer=lambda episode: [0.2] * len(episode.steps), threshold=None)
    assert made.needs == frozenset()
    assert made(turns(2)).reward == pytest.approx(0.2)
    assert rewards.make("clip-delta").needs == {"step_scores"}


@pytest.mark.parametrize("scores", [None, [0.5, float("nan")], [float("inf"), 0.5]])
def test_a_scorer_that_fails_gives_an_invalid_verdict(scores: Any):
    verdict = rewards.make("min-form", scorer=lambda episode: scores)(turns(2))
    assert not verdict.valid
    assert verdict.reward == 0


def test_scores_that_fit_no_turns_are_refused():
    with pytest.raises(InputError, match="2 turns"):
        rewards.make("min-form")(turns(2, step_scores=[0.1, 0.2, 0.3]))
    with pytest.raises(InputError, match="step_scores"):
        rewards.make("min-form")(turns(2))


def test_steps_within_the_text_of_one_turn_are_summed():
    made = rewards.make("clip-delta", threshold=None)
    episode = turns(1, step_scores=[0.9, 0.8, 0.95])
    assert made.values(episode) == pytest.approx([0.9])  # type: ignore[attr-defined]
    assert made.step_rewards(episode) == pytest.approx([0.1, -0.15, 0.95])  # type: ignore[attr-defined]


# Thoughts (TP-GRPO).


def test_thoughts_weigh_as_much_as_the_group_is_able():
    # Two of four succeed: outcomes 1 and -1, scale .8 * .5 = .4.
    group = [
        turns(3, True, step_labels=[True, False, True]),
        turns(2, True, step_labels=[True, True]),
        turns(3, False, step_labels=[True, False, True]),
        turns(1, False, step_labels=[True]),
    ]
    made = rewards.make("thoughts", weight=0.8)
    rows = made.group_values(group)  # type: ignore[attr-defined]
    assert rows[0] == pytest.approx([0.4, -0.4, 0.0])
    assert rows[1] == pytest.approx([0.0, 0.0])
    assert rows[2] == pytest.approx([-1.0, 1.0, 0.0])
    assert [verdict.reward for verdict in made.group(group)] == pytest.approx([sum(row) for row in rows])


def test_thoughts_of_invalid_episodes_are_not_counted():
    group = [
        turns(2, True, step_labels=[False, True]),
        turns(2, False, valid=False, step_labels=[True, True]),
        turns(2, True, step_labels=None),
    ]
    verdicts = rewards.make("thoughts").group(group)
    assert [verdict.valid for verdict in verdicts] == [True, False, False]
    # Both valid ones succeeded, so the scale is 1 and not 2/3.
    assert verdicts[0].reward == pytest.approx(-1.0)


def test_labels_that_are_no_truth_values_are_refused():
    with pytest.raises(InputError, match="true or false"):
        rewards.make("thoughts")(turns(1, step_labels=[0.5]))


# Shapley credit (SCAR).


def test_shapley_values_of_two_players():
    worth = {frozenset(): 0, frozenset({0}): 1, frozenset({1}): 2, frozenset({0, 1}): 4}
    assert shapley_values(worth.__getitem__, 2) == pytest.approx([1.5, 2.5])
    assert values("shapley", turns(2, coalition_values=[0, 1, 2, 4])) == [1.5, 2.5]


@untimed
@given(st.integers(1, 4).flatmap(lambda n: st.lists(st.floats(-5, 5), min_size=2**n, max_size=2**n)))
def test_shapley_values_sum_to_all_less_none(table: list[float]):
    made = rewards.make("shapley")
    players = len(table).bit_length() - 1
    credit = made.player_credit(turns(players, coalition_values=table))  # type: ignore[attr-defined]
    assert credit.sum() == pytest.approx(table[-1] - table[0], abs=1e-9)


@pytest.mark.parametrize("players", [6, 14])
def test_a_player_who_never_matters_gets_nothing(players: int):
    def worth(members: frozenset[int]) -> float:
        return float(len(members - {2}) ** 2)

    credit = shapley_values(worth, players, rng=np.random.default_rng(0))
    assert credit[2] == 0
    assert credit.sum() == pytest.approx((players - 1) ** 2)


def test_sampled_values_come_near_the_exact_ones():
    # Of 12 players only pairs (0, 1) and (2, 3) earn together: half of 1 each.
    def worth(members: frozenset[int]) -> float:
        return float({0, 1} <= members) + float({2, 3} <= members)

    credit = shapley_values(worth, 12, permutations=2000, rng=np.random.default_rng(0))
    assert credit == pytest.approx([0.5] * 4 + [0.0] * 8, abs=0.05)


def test_sampling_is_the_same_in_every_run():
    def worth(episode: Episode, kept: frozenset[int]) -> float:
        return float(sum(kept) ** 1.5)

    def once(task: str, **options: Any) -> list[float]:
        return (
            rewards.make("shapley", worth=worth, permutations=3, **options).player_credit(turns(12, task=task)).tolist()
        )  # type: ignore[attr-defined]

    assert once("a") == once("a")
    assert once("a") != once("b")
    assert once("a") != once("a", seed=1)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_credit_sums_to_the_value_of_the_whole_for_every_share(share: float):
    made = rewards.make("shapley", share=share)
    episode = turns(2, coalition_values=[0, 1, 2, 4])
    assert made(episode).reward == pytest.approx(4.0)
    assert made.values(episode)[0] == pytest.approx(1.5 * share)  # type: ignore[attr-defined]


def test_each_coalition_is_valued_once():
    asked: list[frozenset[int]] = []
    shapley_values(lambda members: float(asked.append(members) or 0), 5)
    assert len(asked) == len(set(asked)) == 32


def test_spans_of_a_text_are_contiguous_and_can_be_blanked():
    text = "one two  three four five"
    spans = equal_spans(text, 3)
    assert [text[a:b] for a, b in spans] == ["one ", "two  three ", "four five"]
    assert "".join(text[a:b] for a, b in spans) == text
    assert (
        blank_spans(text, spans, {0, 2})
        == text[: spans[1][0]] + " " * (spans[1][1] - spans[1][0]) + text[spans[2][0] :]
    )
    assert equal_spans("", 3) == []
    assert equal_spans("word", 3) == [(0, 4)]


def test_an_undetermined_value_of_a_coalition_gives_an_invalid_verdict():
    for worth in (lambda e, kept: None if kept == {0} else 1.0, lambda e, kept: float("nan")):
        assert not rewards.make("shapley", worth=worth)(turns(2)).valid
    with pytest.raises(InputError, match="power of two"):
        rewards.make("shapley")(turns(2, coalition_values=[1.0, 2.0, 3.0]))


def test_a_reward_model_scores_what_is_left_of_a_response(episode: Maker):
    def worth(judged: Episode, kept: frozenset[int]) -> float:
        return float("gold" in blank_spans(judged.response, equal_spans(judged.response, 3), kept))

    made = rewards.make("shapley", worth=worth, players=lambda judged: 3)
    judged = episode(text="dross dross gold gold dross dross")
    assert made.player_credit(judged).tolist() == pytest.approx([0, 1, 0])  # type: ignore[attr-defined]
    assert made(judged).reward == 1.0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("clip-delta", {"weight": float("inf")}),
        ("min-form", {"temperature": -0.1}),
        ("thoughts", {"weight": -1}),
        ("shapley", {"share": 2}),
        ("shapley", {"permutations": 0}),
    ],
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)


def test_episodes_without_turns_get_0():
    extras: dict[str, Sequence[float]] = {"step_scores": [], "step_labels": []}
    for name in ("clip-delta", "min-form", "renorm", "thoughts"):
        verdict = rewards.make(name)(turns(0, **extras))
        assert verdict.valid
        assert verdict.reward == 0


def test_thoughts_are_rewarded_turn_by_turn_within_the_group():
    group = [turns(3, success=success, step_labels=[1, 0, 1]) for success in (True, False)]
    won, lost = rewards.make("thoughts").group(group)
    assert won.by_turn == pytest.approx((0.5, -0.5, 0.0))
    assert lost.by_turn == pytest.approx((-1.0, 1.0, 0.0))
