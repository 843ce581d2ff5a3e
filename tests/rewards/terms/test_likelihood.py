from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from palaestra import rewards
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.likelihood import information_gain, mask_copies, self_aligned

Maker = Callable[..., Episode]


def uniform(text: str, context: str) -> float:
    return -math.log(50)


def by_length(text: str, context: str) -> float:
    """Any deterministic model will do."""
    return -(len(text) % 7) - 0.01 * (len(context) % 5)


# Follow-ups (FLR).


def test_swapping_the_signs_negates_the_reward(episode: Maker):
    judged = episode(text="Use a map.", prompt="How?")
    reward = rewards.make("flr", log_likelihood=by_length, positive=["a", "bcd"], negative=["no!!"])(judged).reward
    swapped = rewards.make("flr", log_likelihood=by_length, positive=["no!!"], negative=["a", "bcd"])(judged).reward
    assert reward == -swapped == pytest.approx(-2.0 + 4.0)


def test_the_same_set_on_both_sides_and_a_uniform_model_give_0(episode: Maker):
    judged = episode(text="Use a map.")
    assert rewards.make("flr", log_likelihood=by_length, positive=["a"], negative=["a"])(judged).reward == 0
    assert rewards.make("flr", log_likelihood=uniform)(judged).reward == pytest.approx(0.0)


def test_the_model_reads_prompt_response_and_then_the_follow_up(episode: Maker):
    asked: list[tuple[str, str]] = []

    def model(text: str, context: str) -> float:
        asked.append((text, context))
        return 0.0

    rewards.make("flr", log_likelihood=model, positive=["yes"], negative=["no"], separator="|")(
        episode(text="answer", prompt="question")
    )
    assert asked == [("yes", "question|answer|"), ("no", "question|answer|")]


def test_follow_ups_can_be_scored_by_the_caller(episode: Maker):
    made = rewards.make("flr")
    assert made.needs == {"positive_logps", "negative_logps"}
    assert made(episode(positive_logps=[-1.0, -2.0], negative_logps=[-4.0])).reward == pytest.approx(2.5)


# The instruction, read off the response (PromptEcho).


def test_a_uniform_model_gives_minus_the_log_of_its_vocabulary_for_any_response(episode: Maker):
    made = rewards.make("prompt-echo", log_likelihood=uniform)
    for text in ("", "one", "a b c"):
        assert made(episode(text=text, prompt="Draw a red cube.")).reward == pytest.approx(-math.log(50))


def copying(text: str, context: str) -> float:
    """A model that is certain of what it has just read."""
    return 0.0 if text.strip(". ").casefold() in context.casefold() else -5.0


@pytest.mark.parametrize(
    "response", ["Draw a red cube.", "DRAW A RED CUBE", "Here: draw a red cube. Done.", "draw a red  cube"]
)
def test_copying_the_instruction_gains_nothing(response: str, episode: Maker):
    made = rewards.make("prompt-echo", log_likelihood=copying)
    assert made(episode(text=response, prompt="Draw a red cube.")).reward == -5.0


def test_copies_are_masked_and_the_rest_is_kept():
    assert mask_copies("I say: Draw, a RED cube! Now.", "Draw a red cube.") == "I say: …! Now."
    assert mask_copies("a red box", "Draw a red cube.") == "a red box"
    assert mask_copies("go", "Go") == "…"
    assert mask_copies("x y", "") == "x y"


def test_a_long_run_shorter_than_the_instruction_is_masked_too():
    assert mask_copies("first one two three four last", "zero one two three four five") == "first … last"


def test_a_copy_is_not_judged_on_log_probabilities_of_unknown_origin(episode: Maker):
    copied = episode(text="Draw a red cube.", prompt="Draw a red cube.", echo_logps=[0.0, 0.0])
    assert not rewards.make("prompt-echo")(copied).valid
    honest = episode(text="cube(color='red')", prompt="Draw a red cube.", echo_logps=[-1.0, -2.0])
    assert rewards.make("prompt-echo")(honest).reward == -1.5
    assert rewards.make("prompt-echo", masked=True)(copied).reward == 0.0
    # What measured it says by which length of copies it masked the response.
    told = replace(copied, extras={**copied.extras, "echo_run": 4})
    assert rewards.make("prompt-echo")(told).valid
    assert not rewards.make("prompt-echo", run=3)(told).valid


def test_a_megabyte_of_copies_is_masked():
    assert mask_copies("draw a red cube " * 60_000, "Draw a red cube").strip() == "…"


# Information gain (RLP).


def test_a_thought_that_doubles_the_probability_gains_ln_2(episode: Maker):
    judged = episode(thought_logps=[math.log(0.5)], base_logps=[math.log(0.25)])
    assert rewards.make("rlp")(judged).reward == pytest.approx(math.log(2))
    assert rewards.make("rlp", weight=0.5)(judged).reward == pytest.approx(0.5 * math.log(2))


def test_a_thought_that_changes_nothing_gains_nothing():
    assert information_gain([-0.3, -1.7], [-0.3, -1.7]) == 0.0


def test_gains_of_a_continuation_add_up():
    assert information_gain([-1.0, -2.0], [-1.5, -3.0]) == pytest.approx(1.5)


def test_different_numbers_of_tokens_are_refused(episode: Maker):
    with pytest.raises(InputError, match="1 and 2"):
        rewards.make("rlp")(episode(thought_logps=[-1.0], base_logps=[-1.0, -1.0]))


# Failures.


@pytest.mark.parametrize("name", ["flr", "prompt-echo"])
@pytest.mark.parametrize("logp", [None, float("nan"), -math.inf])
def test_a_model_that_fails_gives_an_invalid_verdict(name: str, logp: Any, episode: Maker):
    made = rewards.make(name, log_likelihood=lambda text, context: logp)
    assert made.needs == frozenset()
    assert not made(episode(text="x", prompt="y")).valid


def test_log_probabilities_that_are_missing_or_not_finite(episode: Maker):
    assert not rewards.make("flr")(episode(positive_logps=[], negative_logps=[-1.0])).valid
    assert not rewards.make("rlp")(episode(thought_logps=[-math.inf], base_logps=[-1.0])).valid
    with pytest.raises(InputError, match="thought_logps"):
        rewards.make("rlp")(episode())


@pytest.mark.parametrize(
    ("name", "options"), [("flr", {"positive": []}), ("flr", {"negative": "no"}), ("prompt-echo", {"run": 0})]
)
def test_wrong_arguments_are_refused(name: str, options: dict[str, Any]):
    with pytest.raises(InputError):
        rewards.make(name, **options)


def of_perplexity(value: float) -> list[float]:
    return [-math.log(value)] * 3


@pytest.mark.parametrize(("blind", "known", "value"), [(10, 4, 0.6), (10, 10, 0.0), (10, 30, -1.0), (10, 15, -0.5)])
def test_the_relative_drop_of_perplexity(blind: float, known: float, value: float):
    assert self_aligned(of_perplexity(known), of_perplexity(blind)) == pytest.approx(value)


def test_without_tokens_there_is_nothing_to_compare():
    assert self_aligned([], [-1.0]) == self_aligned([-1.0], []) == self_aligned([0.0], [0.0], "log") == 0.0


def test_the_variants_by_hand():
    known, blind = of_perplexity(math.e), of_perplexity(math.e**2)
    assert self_aligned(known, blind, "log") == pytest.approx(0.5)
    assert self_aligned(of_perplexity(1.5), of_perplexity(2.0), "difference") == pytest.approx(0.5)


def test_impossible_tokens_do_not_overflow():
    for variant in ("ratio", "log", "difference"):
        assert -1.0 <= self_aligned([-1e5], [-1e4], variant) <= 1.0
    assert self_aligned([-1e5], [-1e4]) == -1.0


def test_the_whole_reward_adds_a_fifth_to_success(episode: Maker):
    reward = make("self-aligned")
    good = episode(True, logps=of_perplexity(4), logps_without_prompt=of_perplexity(10))
    assert reward(good).reward == pytest.approx(1.12)
    bad = episode(False, logps=of_perplexity(30), logps_without_prompt=of_perplexity(10))
    assert reward(bad).reward == pytest.approx(-0.2)


def test_log_probabilities_of_another_length_are_refused(episode: Maker):
    with pytest.raises(InputError, match="one for each"):
        make("self-aligned")(episode(logps=[-1.0], logps_without_prompt=[-1.0, -2.0]))


def test_a_weight_above_a_half_is_refused():
    with pytest.raises(InputError, match="weight"):
        make("self-aligned", weight=0.6)


def test_log_probabilities_that_are_not_finite_give_an_invalid_verdict(episode: Maker):
    nan = float("nan")
    assert not make("self-aligned")(episode(logps=[nan, -1.0], logps_without_prompt=[-1.0, -1.0])).valid
    assert not make("self-aligned")(episode(logps=[-1.0, -1.0], logps_without_prompt=[nan, -1.0])).valid


def of(make_one: Maker, *logps: float, success: bool = True) -> list[Episode]:
    return [make_one(success, logps=(logp, logp)) for logp in logps]


def test_four_right_answers_are_ranked_by_how_unlikely_they_are(episode: Maker):
    verdicts = make("unlikeliness").group(of(episode, -4.0, -3.0, -2.0, -1.0))
    values = [verdict.reward for verdict in verdicts]
    assert values == [1.0, 0.9375, 0.875, 0.8125]
    advantages = (np.array(values) - np.mean(values)) / np.std(values, ddof=1)
    assert advantages.tolist() == pytest.approx([1.1619, 0.3873, -0.3873, -1.1619], abs=1e-4)


def test_wrong_answers_stay_at_zero_but_count_for_the_ranks(episode: Maker):
    group = of(episode, -9.0, success=False) + of(episode, -1.0)
    assert [verdict.reward for verdict in make("unlikeliness").group(group)] == [0.0, 0.875]


def test_beta_zero_is_plain_success(episode: Maker):
    group = of(episode, -9.0, -1.0) + of(episode, -5.0, success=False)
    assert [verdict.reward for verdict in make("unlikeliness", beta=0).group(group)] == [1.0, 1.0, 0.0]


def test_equally_likely_answers_have_equal_rewards_in_any_order(episode: Maker):
    values = [verdict.reward for verdict in make("unlikeliness").group(of(episode, -1.0, -2.0, -1.0))]
    assert values[0] == values[2] < values[1]


def test_likelihood_is_per_token(episode: Maker):
    long, short = episode(logps=(-1.0,) * 10), episode(logps=(-2.0,))
    assert [verdict.reward for verdict in make("unlikeliness").group([long, short])] == [0.875, 1.0]


def test_self_aligned_needs_both_log_probabilities(episode: Maker):
    assert make("unlikeliness").needs == {"logps"}
    with pytest.raises(InputError, match="logps"):
        make("unlikeliness")(episode())


def test_an_episode_without_finite_log_probabilities_is_neither_judged_nor_ranked(episode: Maker):
    verdicts = make("unlikeliness").group(of(episode, float("nan"), -2.0, -1.0))
    assert [verdict.valid for verdict in verdicts] == [False, True, True]
    assert [verdict.reward for verdict in verdicts[1:]] == [1.0, 0.875]


def test_an_episode_without_tokens_counts_as_certain(episode: Maker):
    assert [verdict.reward for verdict in make("unlikeliness").group([episode(logps=()), episode(logps=(-1.0,))])] == [
        0.875,
        1.0,
    ]
