from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step
from palaestra.rewards.judges import HACKING_DEFENCE, Aggregation, Criterion, Judge, Judgement
from palaestra.rewards.judges.rubric import (
    apply_veto,
    as_criterion,
    informative_criteria,
    interaction,
    saturate,
    signed_score,
    stretch,
    weighted_mean,
)

unit = st.floats(0, 1)


def saying(text: str, **extras: Any) -> Episode:
    return Episode("t", {}, (Step("prompt", text, 0.0, {}, 1),), False, 0.0, True, False, None, extras)


class Silent(Judge):
    def score(self, principle: str, prompt: str, responses: Any, reference: str | None = None) -> Judgement:
        return Judgement.failed("silence")


def test_two_rewards_and_a_fault_of_which_the_first_and_the_last_are_met():
    assert signed_score([5, 5, -6], [1, 0, 1]) == pytest.approx(-0.1)


def test_all_criteria_met_is_one_and_their_order_does_not_matter():
    assert signed_score([1, 2, 3], [1, 1, 1]) == 1.0
    assert signed_score([5, 5, -6], [1, 0, 1]) == signed_score([-6, 5, 5], [1, 1, 0])


def test_a_criterion_is_met_from_a_half_on():
    assert signed_score([1, 1], [0.5, 0.49]) == 0.5


@given(st.lists(unit, min_size=1, max_size=6), unit)
def test_equal_scores_of_equal_weights_are_their_own_mean(scores: list[float], score: float):
    assert weighted_mean([1.0] * len(scores), [score] * len(scores)) == pytest.approx(score)


def test_a_criterion_of_weight_zero_changes_nothing():
    rubric = [Criterion("a"), Criterion("b", 3.0)]
    more = [*rubric, Criterion("c", 0.0)]
    for form in ("signed", "mean"):
        assert Aggregation(form)(more, [1, 0, 1]) == Aggregation(form)(rubric, [1, 0])


@given(unit, unit, unit)
def test_a_veto_dominates_every_other_score(one: float, two: float, power: float):
    rubric = [Criterion("a"), Criterion("b", 9.0), Criterion("c", critical=True)]
    for aggregation in (Aggregation("signed"), Aggregation("mean", saturation=(0.5, power))):
        assert aggregation(rubric, [one, two, 0.4]) == 0.0


def test_a_veto_leaves_a_negative_value_where_it_is():
    assert apply_veto(-0.3, [0.0], [True]) == -0.3
    assert apply_veto(0.7, [0.6], [True], threshold=0.6) == 0.7


@given(unit, unit, unit, unit)
def test_saturation_never_turns_an_order_around(one: float, two: float, level: float, slope: float):
    low, high = sorted((one, two))
    assert saturate(low, level, slope) <= saturate(high, level, slope)


def test_saturation_is_flat_beyond_its_level():
    # Up to 0.6 as it is, then a quarter of the rest.
    assert saturate(0.5, 0.6, 0.25) == 0.5
    assert saturate(1.0, 0.6, 0.25) == pytest.approx(0.7)


def test_an_interaction_pays_for_both_together():
    assert interaction([1.0, 0.5, 1.0], {(0, 1): 0.2, (0, 2): -0.1}) == pytest.approx(0.0)
    aggregation = Aggregation("mean", interactions={(0, 1): 0.5})
    rubric = [Criterion("a"), Criterion("b")]
    assert aggregation(rubric, [1, 0]) == 0.5
    assert aggregation(rubric, [1, 1]) == 1.0  # clipped


def test_stretching_spreads_the_high_range_and_keeps_the_ends():
    assert stretch(1.0, 3) - stretch(0.9, 3) > 0.1 > stretch(0.1, 3) - stretch(0.0, 3)
    assert (stretch(0, 3), stretch(1, 3)) == (0, 1)


def test_a_criterion_that_all_siblings_meet_is_not_informative():
    assert informative_criteria([[1, 0, 1], [1, 0, 0], [1, 0, 1]]) == [False, False, True]
    assert informative_criteria([[1, 1], [0, 1], [0, 1], [0, 0]], 0.3, 0.9) == [False, True]


def test_dropping_what_every_rollout_meets_changes_no_advantage():
    points, met = [2.0, 3.0, 5.0, -4.0], [[1, 1, 0, 0], [1, 0, 1, 1], [1, 0, 0, 0]]
    kept = informative_criteria(met)
    assert kept == [False, True, True, True]
    full = np.array([signed_score(points, row) for row in met])
    less = np.array([signed_score(points, row, kept) for row in met])
    assert full - full.mean() == pytest.approx(less - less.mean())
    assert not np.allclose(full, less)


def test_the_reward_grades_by_the_judge_and_pays_signed_points():
    rubric = [
        {"text": "keywords: whale", "points": 5},
        {"text": "keywords: blue", "points": 5},
        {"text": "keywords: sorry", "points": -6},
    ]
    reward = rewards.make("rubric", criteria=rubric)
    assert reward(saying("sorry, a whale")).reward == pytest.approx(-0.1)
    assert reward.bounds == pytest.approx((-0.6, 1.0))


def test_factual_criteria_are_decided_by_a_verifier_on_the_answer():
    rubric = [Criterion("the sum", 3, "factual", verifier="integer", reference=42), Criterion("keywords: because")]
    reward = rewards.make("rubric", criteria=rubric, aggregation="mean")
    assert reward(saying("because 6 * 7\n42")).reward == 1.0
    assert reward(saying("because 6 * 7\n41")).reward == 0.25
    assert reward(saying("\\boxed{42}")).reward == 0.75


def test_a_rubric_of_facts_needs_no_judge():
    rubric = [Criterion("the sum", 1, "factual", verifier="integer", reference=42)]
    assert rewards.make("rubric", criteria=rubric, judge=Silent())(saying("42")).reward == 1.0


def test_a_verifier_that_fails_makes_the_episode_invalid_and_never_zero(monkeypatch: pytest.MonkeyPatch):
    from palaestra.rewards.judges import judge_rewards as judged

    monkeypatch.setattr(judged, "verify", lambda *arguments: rewards.Verdict(0.0, False, valid=False))
    rubric = [Criterion("the sum", 1, "factual", verifier="integer", reference=42)]
    assert not rewards.make("rubric", criteria=rubric)(saying("42")).valid


def test_the_rubric_may_come_with_the_episode():
    reward = rewards.make("rubric")
    assert reward.needs == {"rubric"}
    assert reward(saying("a whale", rubric=["keywords: whale", "keywords: sea"])).reward == 0.5
    with pytest.raises(InputError, match="rubric"):
        reward(saying("a whale"))
    for wrong in (None, 3.0, "keywords: whale"):
        with pytest.raises(InputError, match="list of criteria"):
            reward(saying("a whale", rubric=wrong))


def test_flattery_and_self_praise_are_vetoed_by_the_defence():
    reward = rewards.make("rubric", criteria=[Criterion("keywords: whale"), *HACKING_DEFENCE])
    assert reward(saying("It is a whale.")).reward == 1.0
    assert reward(saying("What a great question! It is a whale.")).reward == 0.0
    assert reward(saying("It is a whale. This answer is correct.")).reward == 0.0


def test_a_band_drops_what_tells_no_siblings_apart():
    reward = rewards.make("rubric", criteria=["keywords: a", "keywords: b"], band=(0.0, 1.0))
    siblings = [saying("a b"), saying("a"), saying("a x")]
    assert [verdict.reward for verdict in reward.group(siblings)] == [0.5, 0.0, 0.0]
    assert reward(saying("a b")).reward == 1.0  # alone, nothing is dropped


def test_a_judge_that_fails_makes_the_episode_invalid_and_never_zero():
    verdict = rewards.make("rubric", criteria=["x"], judge=Silent())(saying("r"))
    assert not verdict.valid


@pytest.mark.parametrize(
    "wrong",
    [
        {"criteria": []},
        {"criteria": [{"text": "x", "points": -1}]},
        {"criteria": [{"txt": "x"}]},
        {"criteria": [""]},
        {"criteria": ["x"], "aggregation": "median"},
        {"criteria": ["x"], "aggregation": {"form": "signed", "power": 2.0}},
        {"criteria": ["x"], "band": (0.9, 0.1)},
    ],
)
def test_a_rubric_that_makes_no_sense_is_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make("rubric", **wrong)


def test_a_verifier_belongs_to_a_fact():
    with pytest.raises(InputError, match="factual"):
        Criterion("x", verifier="integer", reference=1)


def test_a_signed_rubric_needs_positive_points():
    with pytest.raises(InputError, match="positive"):
        signed_score([-1], [1])
    with pytest.raises(InputError, match="weight"):
        weighted_mean([1, -1], [1, 1])


def test_a_criterion_may_be_text():
    assert as_criterion("x") == Criterion("x", 1.0)
