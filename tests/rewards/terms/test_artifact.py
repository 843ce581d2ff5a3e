from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.artifact import ArtifactClassifier, artifact_features, built_in_examples

Maker = Callable[..., Episode]


CLEAN = "Take seven from twelve, which leaves five. Five and seven make twelve again, so the answer is five."
REPEATED = "the answer is five " * 20


@pytest.fixture(scope="module")
def classifier() -> ArtifactClassifier:
    return ArtifactClassifier().fit(*built_in_examples())


def test_clean_and_degenerate_texts_never_seen_are_told_apart(classifier: ArtifactClassifier):
    clean, degenerate = built_in_examples(count=60, seed=1)
    assert sum(classifier.probability(text) > 0.5 for text in clean) >= 58
    assert sum(classifier.probability(text) < 0.5 for text in degenerate) >= 58


def test_with_weight_zero_every_proxy_stays_as_it_was(episode: Maker):
    reward = make("artifact-penalty", weight=0.0)
    assert reward(episode(text=REPEATED)).reward == reward(episode(text=CLEAN)).reward == 0.0


def test_the_best_output_flips_from_repeated_to_clean_at_the_computed_weight(
    episode: Maker, classifier: ArtifactClassifier
):
    # A proxy pays 0.4 for the repeated text and 0 for the clean one, so they are level at 0.4 / (p_clean - p_repeated).
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
