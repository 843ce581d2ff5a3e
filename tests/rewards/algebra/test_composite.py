from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Reward, Step, Verdict, make
from palaestra.rewards.algebra import (
    Clip,
    Gate,
    GeometricMean,
    Normalize,
    Saturate,
    Scheduled,
    Shaped,
    Sum,
    Veto,
    Weighted,
)
from palaestra.rewards.terms.length_limits import Overlong
from palaestra.rewards.terms.outcome import EnvironmentReward

from .conftest import Read, episode  # isort: skip


def test_a_part_without_a_valid_verdict_leaves_the_whole_without_one():
    verdict = Sum(a=Read("x"), b=Read("missing"))(episode(x=1.0))
    assert not verdict.valid
    assert verdict.reward == 0


def test_an_invalid_episode_is_not_judged():
    assert not Sum(a=Read("x"))(episode(x=1.0, valid=False)).valid


def test_a_state_of_another_tree_is_refused():
    with pytest.raises(InputError, match=r"\['b'\]"):
        Sum(a=Read("x")).load_state_dict({"b": {"step": 1}})
    with pytest.raises(InputError, match="'step' and 'steps'"):
        Scheduled(Read("x"), 0.5).load_state_dict({})


def test_ranks_are_promised_only_where_the_order_of_a_promise_is_kept():
    promising, silent = Shaped(a=Read("x", 0.0, 1.0)), Read("x")
    assert Weighted(promising, 0.5).ranks_success
    assert not Weighted(promising, -0.5).ranks_success
    assert not Weighted(silent, 0.5).ranks_success
    assert Saturate(promising).ranks_success
    assert not Saturate(silent).ranks_success


def test_the_tree_prints_names_weights_and_parts():
    reward = Sum(correct=EnvironmentReward(), brevity=Gate(Weighted(Read("x"), 0.2)))
    assert reward.tree().splitlines() == [
        "sum",
        "  correct: outcome",
        "  brevity: gate on success, otherwise 0",
        "    child: weighted x 0.2",
        "      child: read x",
    ]


def test_a_tree_can_be_written_as_data():
    data = {"name": "sum", "correct": {"name": "outcome"}, "brevity": {"name": "weighted", "weight": 0.5}}
    data["brevity"]["child"] = {"name": "overlong", "cache": 4}  # type: ignore[index]
    built = rewards.build(data)
    assert isinstance(built, Sum)
    assert built(episode(success=True, tokens=14)).reward == pytest.approx(1 - 0.5 * 0.5)


def test_a_composite_needs_what_its_parts_need_and_is_complete_where_one_is():
    class Hidden(Read):
        needs = frozenset({"hidden_states"})

    assert Sum(a=Weighted(Hidden("x"), 1.0)).needs == {"hidden_states"}
    assert Sum(a=Weighted(EnvironmentReward(), 2.0), b=Read("x")).complete
    assert not Sum(a=Overlong()).complete


def test_group_rewards_see_their_siblings_inside_a_tree():
    class Rank(rewards.GroupReward):
        def values(self, episodes):
            return [float(len(episodes))] * len(episodes)

    group = [episode(x=1.0), episode(x=2.0, valid=False), episode(x=3.0)]
    assert [v.reward for v in Weighted(Sum(a=Rank()), 2.0).group(group)] == [4.0, 0.0, 4.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Sum(), "needs at least one"),
        (lambda: Sum(a=3), "must be a reward"),  # type: ignore[arg-type]
        (lambda: Weighted(Read("x"), math.nan), "finite"),
        (lambda: Clip(Read("x"), 1, 0), "low must be below high"),
        (lambda: Saturate(Read("x"), room=0), "room must be a finite number above 0"),
        (lambda: GeometricMean(a=Read("x")), "can be negative"),
        (lambda: Shaped(a=Read("x")), "no finite bounds"),
        (lambda: Shaped(width=1.0, a=Read("x", 0, 1)), "between 0 and 1"),
        (lambda: Shaped(weights={"b": 1.0}, a=Read("x", 0, 1)), r"\['b'\]"),
        (lambda: Veto(Read("x")), "at least one critic"),
        (lambda: Normalize(eps=-1.0, a=Read("x")), "eps must be"),
        (lambda: Normalize(ddof=-1, a=Read("x")), "ddof must be"),
    ],
)
def test_what_cannot_be_composed_is_refused(make: Any, words: str):
    with pytest.raises(InputError, match=words):
        make()


def test_verdicts_without_terms_are_named_after_their_reward():
    class Bare(Reward):
        name = "bare"

        def __call__(self, episode: Episode) -> Verdict:
            return Verdict(0.5, False)

    terms: Mapping[str, float] = Weighted(Bare(), 2.0)(episode()).terms
    assert dict(terms) == {"bare": 1.0}


def walk(*observations: str) -> Episode:
    steps = tuple(Step(seen, "", 0.0, {}, 1) for seen in observations)
    return Episode("t", {}, steps, False, 0.0, True, False, None)


def test_composites_keep_the_rewards_of_turns():
    plain = make("count-bonus")(walk("a", "a", "b"))
    (term,) = plain.steps
    assert plain.steps[term] == pytest.approx((1, 2**-0.5, 1))
    doubled = make("weighted", child=make("count-bonus"), weight=2.0)(walk("a", "a", "b"))
    assert doubled.by_turn == pytest.approx((2, 2**0.5, 2))
    summed = make("sum", seen=make("count-bonus"), brevity=make("overlong", max_tokens=9))(walk("a", "a", "b"))
    assert summed.steps == {"seen": pytest.approx((1, 2**-0.5, 1))}


def test_a_clipped_sum_is_clipped_turn_by_turn():
    clipped = make("clip", child=make("count-bonus"), low=0.0, high=1.5)(walk("a", "b", "c"))
    assert clipped.by_turn == pytest.approx((1.0, 0.5, 0.0))
    assert make("clip", child=make("count-bonus"), low=4.0, high=5.0)(walk("a")).by_turn == pytest.approx((4.0,))


def test_a_standardised_sum_keeps_the_proportions_of_its_turns():
    reward = make("normalize", seen=make("count-bonus", episodic=True), whiten=False, eps=0.0)
    first, second = reward.group([walk("a", "b"), walk("a", "a")])
    # 2 and 1 + 1 / sqrt(2) standardise to +-sqrt(1/2); each turn is scaled alike, the shift is at the end.
    factor = 2**0.5 / (1 - 2**-0.5)
    assert first.by_turn == pytest.approx((factor, 0.5**0.5 - factor))
    assert second.by_turn == pytest.approx((factor, -(0.5**0.5) - factor))
