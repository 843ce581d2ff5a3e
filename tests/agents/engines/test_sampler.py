"""What requests and completions refuse."""

from __future__ import annotations

import pytest
from palaestra.agents.engines.sampler import Completion, Request


def test_a_request_without_forced_ids_samples_at_least_one_token():
    assert Request(0, [6, 7], 0, forced=[8]).max_new_tokens == 0
    with pytest.raises(ValueError, match="max_new_tokens must be at least 1, got 0"):
        Request(0, [6, 7], 0)


def test_there_is_an_entropy_for_each_id_or_none_at_all():
    with pytest.raises(ValueError, match="2 ids but 1 entropies"):
        Completion(0, (1, 2), (0.0, 0.0), "stop", (0.5,))


def test_lengths_of_ids_and_logps_must_agree():
    # Trap 5.
    with pytest.raises(ValueError, match="2 ids but 1 log-probabilities"):
        Completion(0, (1, 2), (0.0,), "stop")
