from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.terms.outcome import (
    best_f1,
    token_f1,
)

Maker = Callable[..., Episode]


def of_steps(*steps: Step, success: bool = True, progress: float = 1.0, valid: bool = True) -> Episode:
    return Episode("t", {}, steps, success, progress, valid, False, None)


def test_outcome_sums_the_steps_term_by_term():
    episode = of_steps(
        Step("", "", 0.25, {"progress": 0.25}, 1), Step("", "", 1.5, {"progress": 0.5, "success": 1.0}, 1)
    )
    verdict = make("outcome")(episode)
    assert verdict.terms == {"progress": 0.75, "success": 1.0}
    assert verdict.reward == episode.reward == 1.75
    assert verdict.success


def test_outcome_keeps_a_reward_that_has_no_terms():
    verdict = make("outcome")(of_steps(Step("", "", 0.5, {}, 1), success=False, progress=0.25))
    assert verdict.terms == {"outcome": 0.5}
    assert verdict.score == 0.25
    assert not verdict.success


def test_outcome_of_an_invalid_episode_is_invalid_and_no_success():
    verdict = make("outcome")(of_steps(Step("", "", 1.0, {}, 1), valid=False))
    assert not verdict.valid
    assert not verdict.success


def test_a_verified_success_is_ten_and_everything_else_nothing(episode: Maker):
    reward = make("verifiable")
    assert [reward(episode(True)).reward, reward(episode(False, progress=0.9)).reward] == [10.0, 0.0]


def test_a_response_without_an_end_can_get_minus_ten(episode: Maker):
    reward = make("verifiable", no_eos=-10)
    assert reward(episode(True, truncated=True)).reward == -10.0
    assert reward(episode(True)).reward == 10.0
    assert not reward.ranks_success


@pytest.mark.parametrize("wrong", [{"scale": 0}, {"no_eos": 1}])
def test_wrong_arguments_of_verifiable_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("verifiable", **wrong)


def test_one_shared_word_of_two_and_two_is_a_half():
    assert token_f1("a b", "b c") == 0.5


def test_case_and_punctuation_do_not_count_and_articles_need_not():
    assert token_f1("The Cat!", "the cat") == 1.0
    assert token_f1("the cat", "cat") == pytest.approx(2 / 3)
    assert token_f1("the cat", "cat", drop_articles=True) == 1.0


def test_repeating_a_word_does_not_raise_it():
    assert token_f1("b b b b", "b c") == pytest.approx(2 / 6)
    assert token_f1("b b", "b b c") == pytest.approx(4 / 5)  # but what is twice in both is shared twice


def test_the_best_of_several_references_counts(episode: Maker):
    assert best_f1("b", ["x y", "b"]) == 1.0
    assert make("answer-f1")(episode(text="<answer>b</answer>", reference=["b c", "q"])).reward == pytest.approx(2 / 3)


def test_nothing_matches_an_empty_answer():
    assert best_f1(None, "b") == token_f1("", "b") == token_f1("?!", "b") == 0.0


@pytest.mark.parametrize("wrong", [3, [], [3], None])
def test_a_reference_that_is_no_text_is_refused(wrong: Any):
    with pytest.raises(InputError, match="reference"):
        best_f1("b", wrong)


def test_the_cube_of_the_normalised_objective_times_five(episode: Maker):
    reward = make("bounded-power", low=0.0, high=2.635)
    assert reward(episode(objective=2.4)).reward == pytest.approx(3.778, abs=1e-3)
    assert reward(episode(objective=2.635)).reward == reward(episode(objective=1e300)).reward == 5.0
    assert reward(episode(objective=-1.0)).reward == 0.0


def test_failures_form_a_strict_ladder_below_zero(episode: Maker):
    names = ("no-diff", "no-change", "error", "invalid")
    values = [make("bounded-power")(episode(objective=name)).reward for name in names]
    assert values == [-0.4, -0.3, -0.2, -0.1]


def test_minimising_turns_the_scale(episode: Maker):
    reward = make("bounded-power", low=1.0, high=3.0, maximise=False, exponent=1.0)
    assert [reward(episode(objective=x)).reward for x in (1.0, 2.0, 3.0, 9.0)] == [5.0, 2.5, 0.0, 0.0]


def test_a_verifier_that_failed_makes_it_invalid_and_unknown_failures_are_refused(episode: Maker):
    assert not make("bounded-power")(episode(objective=None)).valid
    with pytest.raises(InputError, match="'error'"):
        make("bounded-power")(episode(objective="eror"))


@pytest.mark.parametrize("wrong", [{"low": 1.0}, {"exponent": 0}, {"scale": -1}])
def test_wrong_arguments_of_bounded_power_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("bounded-power", **wrong)


def normalised(values: list[float]) -> np.ndarray:
    array = np.array(values)
    return (array - array.mean()) / array.std(ddof=1)


def rewards_of(make_one: Maker, **options: Any) -> list[float]:
    group = [make_one(success) for success in (True, False, False, True, False)]
    return [verdict.reward for verdict in make("outcome-noise", **options).group(group)]


def test_a_group_flip_negates_the_normalised_advantages_exactly(episode: Maker):
    plain, flipped = rewards_of(episode, flip_prob=0.0), rewards_of(episode, flip_prob=1.0)
    assert normalised(flipped).tolist() == pytest.approx((-normalised(plain)).tolist())


def test_expected_advantages_shrink_by_one_minus_twice_the_probability():
    values = [1.0, 0.0, 0.0, 1.0, 0.0]
    plain, flipped = normalised(values), normalised([1 - value for value in values])
    for f, factor in ((0.4, 0.2), (0.5, 0.0)):
        expected = (1 - f) * plain + f * flipped
        assert expected.tolist() == pytest.approx((factor * plain).tolist())


def test_flips_of_single_samples_do_not_shrink_advantages_like_that():
    # Every pattern of flips of a group (1, 0, 0, 0) at f = 0.4; groups without spread have no advantage.
    values, f, expected = [1.0, 0.0, 0.0, 0.0], 0.4, np.zeros(4)
    for pattern in itertools.product((False, True), repeat=4):
        noisy = [1 - value if flip else value for value, flip in zip(values, pattern)]
        weight = np.prod([f if flip else 1 - f for flip in pattern])
        if len(set(noisy)) > 1:
            expected += weight * normalised(noisy)
    assert abs(expected[0] - 0.2 * normalised(values)[0]) > 0.01


def test_siblings_flip_together_or_one_by_one(episode: Maker):
    group = [episode(True)] * 20
    together, apart = make("outcome-noise", flip_prob=0.5), make("outcome-noise", flip_prob=0.5, unit="sample")
    assert all(len({verdict.reward for verdict in together.group(group)}) == 1 for _ in range(20))
    assert {verdict.reward for verdict in apart.group(group)} == {0.0, 1.0}


def test_about_the_asked_share_of_groups_flips(episode: Maker):
    reward = make("outcome-noise", flip_prob=0.4)
    flips = sum(reward.group([episode(True)])[0].reward == 0.0 for _ in range(1000))
    assert 340 < flips < 460  # four standard deviations


def test_a_resumed_run_flips_on(episode: Maker):
    reward, resumed = make("outcome-noise", unit="sample", seed=3), make("outcome-noise", unit="sample", seed=3)
    group = [episode(True)] * 50
    first = [verdict.reward for verdict in reward.group(group)]
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    then = [verdict.reward for verdict in reward.group(group)]
    assert [verdict.reward for verdict in resumed.group(group)] == then != first


def test_success_stays_true_and_invalid_stays_invalid(episode: Maker):
    verdicts = make("outcome-noise", flip_prob=1.0).group([episode(True), episode(valid=False)])
    assert verdicts[0].success
    assert verdicts[0].reward == 0.0
    assert not verdicts[1].valid


def test_any_bounded_reward_is_reflected_between_its_bounds(episode: Maker):
    child = {"name": "overlong", "max_tokens": 20, "cache": 4}
    assert make("outcome-noise", child=child, flip_prob=1.0)(episode(tokens=17)).reward == -0.75


@pytest.mark.parametrize("wrong", [{"child": {"name": "outcome"}}, {"flip_prob": 1.2}, {"unit": "batch"}, {"seed": -1}])
def test_wrong_arguments_of_outcome_noise_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("outcome-noise", **wrong)


def test_every_labeling_has_its_negative_so_advantages_average_to_nothing():
    total = np.zeros(4)
    for labels in itertools.product((0.0, 1.0), repeat=4):
        spread = np.std(labels, ddof=1)
        total += (np.array(labels) - np.mean(labels)) / spread if spread else 0.0
    assert total.tolist() == pytest.approx([0.0] * 4)


def test_the_toss_is_fair_and_blind_to_the_episode(episode: Maker):
    reward, other = make("spurious", seed=1), make("spurious", seed=1)
    right = [verdict.reward for verdict in reward.group([episode(True)] * 2000)]
    wrong = [verdict.reward for verdict in other.group([episode(False)] * 2000)]
    assert right == wrong
    assert 900 < sum(right) < 1100


def test_a_resumed_run_tosses_on(episode: Maker):
    reward, resumed = make("spurious"), make("spurious")
    first = [verdict.reward for verdict in reward.group([episode()] * 30)]
    resumed.load_state_dict(json.loads(json.dumps(reward.state_dict())))
    again = [verdict.reward for verdict in resumed.group([episode()] * 30)]
    assert again == [verdict.reward for verdict in reward.group([episode()] * 30)] != first


def test_a_probability_above_one_is_refused():
    with pytest.raises(InputError, match="p must be"):
        make("spurious", p=2)


def test_a_wrong_number_is_worth_a_tenth_and_no_number_nothing():
    reward = make("partial-number")

    def value(text: str, success: bool) -> float:
        return reward(of_steps(Step("", text, 0.0, {}, 1), success=success)).terms["partial-number"]

    assert value("So it is 12", False) == 0.0
    assert value("So it is\n12", False) == 0.1
    assert value("\\boxed{1,200}", False) == 0.1
    assert value("no idea", False) == 0.0
    assert value("13.004", True) == 1.0
