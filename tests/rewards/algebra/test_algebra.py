"""Rewards made of rewards: what each node makes of its parts, by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Reward, Step, Verdict
from palaestra.rewards.algebra import (
    Clip,
    Gate,
    GeometricMean,
    Normalize,
    Saturate,
    Scheduled,
    Shaped,
    Sum,
    Trust,
    Veto,
    Weighted,
)
from palaestra.rewards.algebra.siblings import trust_weight
from palaestra.rewards.terms.length_limits import Overlong
from palaestra.rewards.terms.outcome import EnvironmentReward


class Read(Reward):
    """Reads its value from the episode's params; a missing one could not be determined."""

    def __init__(self, key: str, low: float = -math.inf, high: float = math.inf):
        self.key, self._bounds = key, (low, high)

    @property
    def bounds(self) -> tuple[float, float]:
        return self._bounds

    def value(self, episode: Episode) -> float | None:
        return episode.params.get(self.key)

    def describe(self) -> str:
        return f"read {self.key}"


def episode(success: bool = False, valid: bool = True, tokens: int = 3, **values: float) -> Episode:
    step = Step("q", "a", float(success), {"answer": float(success)}, tokens)
    return Episode("t", values, (step,), success, float(success), valid, False, 16)


def pay(reward: Reward, **values: float) -> float:
    return reward(episode(**values)).reward


def test_a_sum_names_its_terms_after_its_parts():
    verdict = Sum(correct=EnvironmentReward(), style=Read("x"))(episode(success=True, x=0.25))
    assert dict(verdict.terms) == {"correct": 1.0, "style": 0.25}
    assert verdict.reward == 1.25
    assert verdict.success


def test_a_part_with_several_terms_keeps_them_apart():
    inner = Sum(a=Read("x"), b=Read("y"))
    assert dict(Sum(left=inner, right=Read("x"))(episode(x=1.0, y=2.0)).terms) == {
        "left.a": 1.0,
        "left.b": 2.0,
        "right": 1.0,
    }


def test_a_weight_scales_every_term():
    verdict = Weighted(Sum(a=Read("x"), b=Read("y")), -0.5)(episode(x=1.0, y=2.0))
    assert dict(verdict.terms) == {"a": -0.5, "b": -1.0}


def test_a_part_without_a_valid_verdict_leaves_the_whole_without_one():
    verdict = Sum(a=Read("x"), b=Read("missing"))(episode(x=1.0))
    assert not verdict.valid
    assert verdict.reward == 0


def test_an_invalid_episode_is_not_judged():
    assert not Sum(a=Read("x"))(episode(x=1.0, valid=False)).valid


def test_a_gate_opens_on_success():
    gate = Gate(Read("x"), otherwise=-1.0)
    assert (pay(gate, success=True, x=0.3), pay(gate, x=0.3)) == (0.3, -1.0)


def test_a_gate_opens_where_its_condition_reaches_the_threshold():
    gate = Gate(Read("x"), condition=Read("c"), threshold=0.5)
    assert [pay(gate, x=0.3, c=c) for c in (0.49, 0.5, 2.0)] == [0.0, 0.3, 0.3]


def test_a_shut_gate_pays_its_alternative_once_however_many_terms_there_are():
    gate = Gate(Sum(a=Read("x"), b=Read("y")), otherwise=-1.0)
    assert pay(gate, x=1.0, y=1.0) == -1.0


def test_any_critic_can_veto():
    veto = Veto(Read("x"), threshold=0.5, polite=Read("p"), safe=Read("s"))
    assert pay(veto, x=9.0, p=0.6, s=0.6) == pay(veto, x=9.0, p=0.5, s=0.5) == 9.0
    assert pay(veto, x=9.0, p=0.6, s=0.4) == 0.0
    assert pay(veto, x=9.0, p=0.4, s=0.6) == 0.0


def test_a_clip_cuts_both_ends():
    clip = Clip(Read("x"), -1, 1)
    assert [pay(clip, x=x) for x in (-3.0, 0.5, 3.0)] == [-1.0, 0.5, 1.0]
    assert clip.bounds == (-1.0, 1.0)


def test_a_clip_of_several_terms_shows_its_correction():
    verdict = Clip(Sum(a=Read("x"), b=Read("y")))(episode(x=1.0, y=2.0))
    assert dict(verdict.terms) == {"a": 1.0, "b": 2.0, "clip": -2.0}


@given(st.floats(-5, 20), st.floats(-5, 20))
def test_saturation_keeps_the_order_and_stays_below_its_ceiling(x: float, y: float):
    bend = Saturate(Read("x"), level=0.5, room=0.5)
    low, high = sorted((x, y))
    assert pay(bend, x=low) <= pay(bend, x=high) <= 1.0


def test_saturation_changes_nothing_up_to_its_level_and_halves_the_slope_at_ln_2():
    bend = Saturate(Read("x"), level=0.5, room=0.5)
    assert pay(bend, x=0.5) == 0.5
    assert pay(bend, x=0.5 + 0.5 * math.log(2)) == pytest.approx(0.75)


def test_the_geometric_mean_of_16_and_25_is_20_and_any_zero_is_zero():
    mean = GeometricMean(a=Read("x", low=0), b=Read("y", low=0))
    assert pay(mean, x=16.0, y=25.0) == pytest.approx(20.0)
    assert pay(mean, x=0.0, y=25.0) == 0.0


def test_weights_of_a_geometric_mean_are_exponents():
    mean = GeometricMean(weights={"a": 3.0}, a=Read("x", low=0), b=Read("y", low=0))
    assert pay(mean, x=16.0, y=1.0) == pytest.approx(8.0)


def test_a_schedule_follows_training_and_is_saved():
    faded = Scheduled(Read("x"), {"kind": "linear", "start": 1.0, "end": 0.0})
    root = Sum(a=faded)
    assert pay(root, x=2.0) == 2.0
    root.advance(5, 10)
    assert pay(root, x=2.0) == pytest.approx(1.0)
    copy = Sum(a=Scheduled(Read("x"), {"kind": "linear", "start": 1.0, "end": 0.0}))
    copy.load_state_dict(json.loads(json.dumps(root.state_dict())))
    assert pay(copy, x=2.0) == pytest.approx(1.0)


def test_a_state_of_another_tree_is_refused():
    with pytest.raises(InputError, match=r"\['b'\]"):
        Sum(a=Read("x")).load_state_dict({"b": {"step": 1}})
    with pytest.raises(InputError, match="'step' and 'steps'"):
        Scheduled(Read("x"), 0.5).load_state_dict({})


@given(st.lists(st.tuples(st.booleans(), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=8))
def test_shaped_never_ranks_a_failure_above_a_success(rows: list[tuple[bool, float, float]]):
    shaped = Shaped(width=0.99, weights={"b": 7.0}, a=Read("x", -1.0, 2.0), b=Read("y", 0.0, 1.0))
    values = [(success, pay(shaped, success=success, x=x, y=y)) for success, x, y in rows]
    lost = [value for success, value in values if not success]
    won = [value for success, value in values if success]
    assert not lost or not won or max(lost) < min(won)


def test_shaped_is_its_success_plus_the_places_between_the_bounds():
    shaped = Shaped(width=0.6, weights={"a": 2.0}, a=Read("x", -1.0, 1.0), b=Read("y", 0.0, 1.0))
    verdict = shaped(episode(success=True, x=0.0, y=1.0))
    assert dict(verdict.terms) == pytest.approx({"success": 1.0, "a": 0.6 * 2 / 3 * 0.5, "b": 0.6 / 3})


def test_normalised_parts_weigh_the_same_whatever_their_spread():
    # r = (0, 1) and (0, 100): both become -+1/sqrt(2) by the unbiased deviation.
    normal = Normalize(whiten=False, eps=0.0, a=Read("x"), b=Read("y"))
    first, second = normal.group([episode(x=0.0, y=100.0), episode(x=1.0, y=0.0)])
    half = 1 / math.sqrt(2)
    assert dict(first.terms) == pytest.approx({"a": -half, "b": half})
    assert dict(second.terms) == pytest.approx({"a": half, "b": -half})


def test_a_part_that_is_equal_throughout_the_group_adds_nothing():
    normal = Normalize(whiten=False, a=Read("x"), b=Read("y"))
    assert [v.terms["b"] for v in normal.group([episode(x=0.0, y=3.0), episode(x=1.0, y=3.0)])] == [0, 0]


def test_parts_that_plain_sums_cannot_tell_apart_stay_distinct():
    # GDPO's example: (0, 1) and (0, 2) of two binary rewards have the same group advantage when summed first.
    normal = Normalize(whiten=False, eps=0.0, ddof=0, a=Read("x"), b=Read("y"))
    one = normal.group([episode(x=0.0, y=0.0), episode(x=0.0, y=1.0)])
    two = normal.group([episode(x=0.0, y=0.0), episode(x=1.0, y=1.0)])
    assert [v.reward for v in one] == pytest.approx([-1, 1])
    assert [v.reward for v in two] == pytest.approx([-2, 2])


def test_whitening_leaves_mean_0_and_deviation_1_over_the_batch():
    normal = Normalize(eps=0.0, a=Read("x"), b=Read("y"))
    batch = normal.batch(
        [[episode(x=0.0, y=1.0), episode(x=1.0, y=1.0)], [episode(x=5.0, y=0.0), episode(x=9.0, y=2.0)]]
    )
    values = [verdict.reward for group in batch for verdict in group]
    mean = sum(values) / 4
    assert mean == pytest.approx(0, abs=1e-12)
    assert sum((v - mean) ** 2 for v in values) / 3 == pytest.approx(1)


def test_normalised_parts_are_weighed_after_the_normalisation():
    normal = Normalize(weights={"a": 3.0}, whiten=False, eps=0.0, ddof=0, a=Read("x"), b=Read("y"))
    first, second = normal.group([episode(x=0.0, y=0.0), episode(x=7.0, y=100.0)])
    assert dict(first.terms) == pytest.approx({"a": -3.0, "b": -1.0})
    assert dict(second.terms) == pytest.approx({"a": 3.0, "b": 1.0})


def test_an_invalid_sibling_is_not_counted_in_the_normalisation():
    normal = Normalize(whiten=False, eps=0.0, a=Read("x"))
    verdicts = normal.group([episode(x=0.0), episode(x=99.0, valid=False), episode(x=1.0)])
    assert [v.valid for v in verdicts] == [True, False, True]
    assert verdicts[2].reward == pytest.approx(1 / math.sqrt(2))


def test_trust_falls_where_wrong_answers_are_liked_better():
    assert trust_weight([0.4, 0.6], [True, False]) == pytest.approx(0.8187, abs=1e-4)
    assert trust_weight([0.6, 0.4], [True, False]) == 1.0
    assert trust_weight([0.1, 0.9], [True, True]) == 1.0
    group = Trust(Read("x")).group([episode(success=True, x=0.4), episode(x=0.6)])
    assert [v.reward for v in group] == pytest.approx([0.4 * math.exp(-0.2), 0.6 * math.exp(-0.2)])


def test_trust_can_ask_another_reward_which_episodes_are_good():
    group = Trust(Read("x"), by=Read("c"), threshold=0.5).group([episode(x=0.4, c=0.5), episode(x=0.6, c=0.4)])
    assert [v.reward for v in group] == pytest.approx([0.4 * math.exp(-0.2), 0.6 * math.exp(-0.2)])


def test_ranks_are_promised_only_where_the_order_of_a_promise_is_kept():
    promising, silent = Shaped(a=Read("x", 0.0, 1.0)), Read("x")
    assert Weighted(promising, 0.5).ranks_success
    assert not Weighted(promising, -0.5).ranks_success
    assert not Weighted(silent, 0.5).ranks_success
    assert Saturate(promising).ranks_success
    assert not Saturate(silent).ranks_success


def test_the_bounds_of_a_schedule_are_those_of_all_its_weights():
    scheduled = Scheduled(Read("x", -1.0, 2.0), {"kind": "linear", "start": 0.5, "end": -3.0})
    assert scheduled.bounds == (-6.0, 3.0)


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
        (lambda: Saturate(Read("x"), room=0), "more than 0"),
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
