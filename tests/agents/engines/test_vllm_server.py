"""A vLLM server, the real one, which is killed in mid-step; see `vllm_trial.py`, and `conftest.py`."""

from __future__ import annotations

import pytest

from .test_vllm_engine import TOLERANCE, conforms, follows  # isort: skip


@pytest.fixture(scope="module")
def seen(vllm_trial):
    return vllm_trial("server")


def test_recorded_episodes_have_the_same_tokens_and_log_probabilities_as_with_torch(seen):
    conforms(seen)


def test_weights_are_reloaded_when_a_new_version_is_told(seen):
    follows(seen)


def test_a_killed_server_loses_no_episode_and_makes_no_reward(seen):
    assert seen["in flight"][0] > 1
    assert seen["servers"] == 2
    assert seen["served"] == seen["inside"] == 0
    # Every episode is the one of the same run whose engine lived: as many, valid, token for token.
    assert seen["turns served"] == seen["turns inside"]
    assert seen["outcomes served"] == seen["outcomes inside"]
    assert all(count == 3 for count, _ in seen["outcomes served"])


def test_the_new_server_has_the_present_weights(seen):
    assert len(seen["gaps"]) == 2
    assert max(seen["gaps"]) < TOLERANCE


def test_no_server_outlives_the_run(seen):
    assert seen["left"] == []
