from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.text_quality import (
    PHRASES,
    ArtifactClassifier,
    artifact_features,
    built_in_examples,
    calibrate_score,
    ngram_ranks,
    reasoning_pattern,
    repeated_share,
    repeated_words,
    repetition_rate,
)

Maker = Callable[..., Episode]


def test_the_rate_counts_ngrams_that_are_not_new():
    assert repetition_rate("a b c d", 2) == 0.0
    assert repetition_rate("a b a b a", 2) == 0.5  # ab ba ab ba
    assert repetition_rate("A b a B", 1) == 0.5


def test_a_text_shorter_than_the_ngram_does_not_repeat():
    assert repetition_rate("a a a", 4) == repetition_rate("", 1) == repeated_share("", 3) == 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 11])
def test_ranks_tell_exactly_the_different_ngrams_apart(n: int):
    words = [str(i * i % 7 % 3) for i in range(60)]
    grams = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    ranks = ngram_ranks(words, n).tolist()
    assert len(set(zip(grams, ranks))) == len(set(grams)) == len(set(ranks))


def test_only_the_second_occurrence_is_masked():
    assert repeated_words(["a", "b", "c", "a", "b", "d"], 2).tolist() == [False, False, False, True, True, False]


def test_the_term_is_bounded_by_its_weight_and_free_for_fresh_text(episode: Maker):
    reward = make("repetition", n=2, weight=0.5)
    assert reward(episode(text="a b a b a")).reward == -0.25
    assert reward(episode(text="all of these words differ")).reward == 0.0
    assert -0.5 <= reward(episode(text="x " * 50_000)).reward < -0.499


def test_the_dense_form_charges_the_share_of_words(episode: Maker):
    assert make("repetition", n=2, weight=0.6, dense=True)(episode(text="a b c a b d")).reward == pytest.approx(-0.2)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": 2.5}, {"weight": -1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("repetition", **wrong)


TEN = " and ".join(PHRASES[20:30]) + " " + " ".join(f"word{i}" for i in range(400))


def test_there_are_forty_phrases_and_none_twice():
    assert len(PHRASES) == len(set(PHRASES)) == 40


def test_an_empty_text_has_nothing():
    assert reasoning_pattern("") == 0.0


def test_ten_phrases_of_twenty_are_a_half():
    present = sum(phrase in TEN for phrase in PHRASES)
    assert reasoning_pattern(TEN) == present / 20 > 0.4


def test_duplicating_the_text_makes_nearly_everything_a_repetition():
    assert repeated_share(TEN, 20) == 0.0
    assert repeated_share(f"{TEN} {TEN}", 20) > 0.95
    assert reasoning_pattern(f"{TEN} {TEN}") == 0.0


def test_a_turn_written_for_the_user_costs_everything():
    assert reasoning_pattern(TEN + " User: thanks") == 0.0


def test_the_term_has_the_papers_numbers_by_default(episode: Maker):
    assert make("reasoning-pattern")(episode(text=TEN)).reward == reasoning_pattern(TEN)
    assert make("reasoning-pattern", full=1000, n=1)(episode(text="thus " + "then, " * 3)).reward == 0.0


def test_the_reasoning_pattern_reward_is_never_above_one(episode: Maker):
    everything = ". ".join(PHRASES)
    assert make("reasoning-pattern")(episode(text=everything)).reward == 1.0


def test_calibration_lifts_rejections_only():
    assert calibrate_score(0.2, 0.5, 0.5, 0.4) == pytest.approx(0.4)
    assert calibrate_score(0.5, 0.5, 0.5, 0.4) == 0.5


def test_the_calibrated_reward_is_invalid_when_the_model_is_silent(episode: Maker):
    reward = make("rpr-calibration", alpha=0.4)
    assert reward(episode(text=TEN, reward_model_score=0.9)).reward == 0.9
    assert reward(episode(text=TEN, reward_model_score=0.1)).reward > 0.25
    assert not reward(episode(text=TEN, reward_model_score=None)).valid
    assert not reward(episode(text=TEN, reward_model_score=float("nan"))).valid


def test_a_score_that_is_no_number_is_refused(episode: Maker):
    with pytest.raises(InputError, match="reward_model_score"):
        make("rpr-calibration")(episode(reward_model_score="good"))


CLEAN = "Take seven from twelve, which leaves five. Five and seven make twelve again, so the answer is five."


REPEATED = "the answer is five " * 20


@pytest.fixture(scope="module")
def classifier() -> ArtifactClassifier:
    return ArtifactClassifier().fit(*built_in_examples())


def test_new_clean_and_degenerate_texts_are_separated(classifier: ArtifactClassifier):
    clean, degenerate = built_in_examples(count=60, seed=1)
    assert sum(classifier.probability(text) > 0.5 for text in clean) >= 58
    assert sum(classifier.probability(text) < 0.5 for text in degenerate) >= 58


def test_with_weight_zero_every_proxy_stays_as_it_was(episode: Maker):
    reward = make("artifact-penalty", weight=0.0)
    assert reward(episode(text=REPEATED)).reward == reward(episode(text=CLEAN)).reward == 0.0


def test_the_best_output_flips_from_repeated_to_clean_at_the_computed_weight(
    episode: Maker, classifier: ArtifactClassifier
):
    # A proxy gives 0.4 for the repeated text and 0 for the clean one: they are level at 0.4 / (p_clean - p_repeated).
    level = 0.4 / (classifier.probability(CLEAN) - classifier.probability(REPEATED))
    assert 0 < level < 1
    for weight, clean_wins in ((0.99 * level, False), (1.01 * level, True)):
        reward = make("artifact-penalty", weight=weight, classifier=classifier)
        gain = reward(episode(text=CLEAN)).reward - reward(episode(text=REPEATED)).reward
        assert (gain > 0.4) is clean_wins


def test_log_odds_are_bounded(episode: Maker, classifier: ArtifactClassifier):
    reward = make("artifact-penalty", scale="log-odds", weight=0.1, classifier=classifier)
    low, high = reward.bounds
    assert (low, high) == (-1.0, 1.0)
    for text in ("", "<a></a>" * 30_000, "\x00\ud800" * 100, "٣" * 1000):
        assert np.isfinite(artifact_features(text)).all()
        assert low <= reward(episode(text=text)).reward <= high


def test_what_was_learnt_is_saved(episode: Maker):
    reward, resumed = make("artifact-penalty"), make("artifact-penalty")
    # The other way round: what was clean is now what the policy should not write.
    reward.refresh(*reversed(built_in_examples()))
    before = resumed(episode(text=CLEAN)).reward
    resumed.load_state_dict(reward.state_dict())
    assert resumed(episode(text=CLEAN)).reward == reward(episode(text=CLEAN)).reward < before


def test_too_few_texts_and_unfitted_classifiers_are_refused():
    with pytest.raises(InputError, match="at least 2"):
        ArtifactClassifier().fit(["a"], ["b", "c"])
    with pytest.raises(InputError, match="fit"):
        make("artifact-penalty", classifier=ArtifactClassifier())


@pytest.mark.parametrize("text", ["42", r"\boxed{42}", "The answer is 7.", "7/3"])
def test_a_short_right_answer_is_taken_for_clean(text):
    assert ArtifactClassifier().fit(*built_in_examples()).probability(text) > 0.5
