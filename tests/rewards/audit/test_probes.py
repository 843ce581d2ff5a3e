"""Linear probes of frozen representations."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards.audit.probes import probe
from palaestra.rewards.models.reward_model import RewardModel

COUNT = 2000
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(COUNT, 8))
LABELS = {"first": FEATURES[:, 0] > 0, "none": RNG.random(COUNT) < 0.5, "constant": np.ones(COUNT, bool)}


def test_a_dimension_in_the_features_is_found_and_one_that_is_not_there_is_chance():
    rows = {row.dimension: row for row in probe(FEATURES, {name: one.tolist() for name, one in LABELS.items()})}
    assert set(rows) == {"first", "none"}  # a label that all responses have says nothing
    assert rows["first"].accuracy > 0.9
    assert rows["first"].nearest > 0.8
    assert rows["none"].accuracy == pytest.approx(0.5, abs=0.1)


def test_permuted_labels_give_chance():
    (row,) = probe(FEATURES, {"first": LABELS["first"].tolist()})
    assert row.permuted == pytest.approx(0.5, abs=0.1)


def test_the_representation_is_frozen():
    model = RewardModel(hidden=4)
    assert model.features(["p", "p"], ["a", "b"]).shape == (2, 64)
    assert all(weight.grad is None for weight in model.parameters())


def test_too_few_responses_are_refused():
    with pytest.raises(InputError, match="at least four"):
        probe(FEATURES[:3], {"first": [True, False, True]})
