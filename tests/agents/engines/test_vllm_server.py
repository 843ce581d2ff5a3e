"""A vLLM server, the real one, which is killed in mid-step; see `vllm_trial.py`, and `conftest.py`."""

from __future__ import annotations

import pytest
from palaestra.agents.engines.resending import Answer, GenerationTask
from palaestra.agents.engines.vllm_server import _read

from .test_vllm_engine import TOLERANCE, conforms, follows  # isort: skip


@pytest.fixture(scope="module")
def seen(vllm_trial):
    return vllm_trial("server")


def test_recorded_episodes_have_the_same_tokens_and_log_probabilities_as_with_torch(seen):
    conforms(seen)


def test_weights_are_reloaded_when_a_new_version_is_told(seen):
    follows(seen)


def test_a_killed_server_loses_no_episode_and_makes_no_reward(seen, vllm_trial):
    assert seen["in flight"][0] > 1
    assert seen["servers"] == 2
    assert seen["served"] == 0
    # Every episode is that of the same run in process: as many, valid, token for token.
    assert seen["played"] == vllm_trial("process")["played"]
    assert [count for count, _, _ in seen["played"][1]] == [3] * 4


def test_the_new_server_has_the_present_weights(seen):
    assert len(seen["gaps"]) == 2
    assert max(seen["gaps"]) < TOLERANCE


def test_no_server_outlives_the_run(seen):
    assert seen["left"] == []


def place(token: int, logp: float, *others: tuple[int, float]) -> dict:
    top = [{"token_id": i, "logprob": value, "rank": None} for i, value in ((token, logp), *others)]
    return {"token_id": token, "logprob": logp, "rank": None, "top_logprobs": top}


def test_an_answer_has_forced_and_sampled_tokens_with_the_likeliest_in_order():
    task = GenerationTask(0, (5, 6, 9), 1, 2, 1.0, 2, 0)
    prompt = [None, {"6": {"logprob": -1.0}}, {"9": {"logprob": -3.0}, "4": {"logprob": -0.5}, "7": {"logprob": -1.5}}]
    content = [place(8, -4.0, (3, -0.25), (2, -2.0)), place(2, -0.125, (3, -3.0))]
    choice = {"finish_reason": "length", "token_ids": [8, 2], "logprobs": {"content": content}}
    assert _read({"prompt_logprobs": prompt, "choices": [choice]}, task) == Answer(
        (9, 8, 2),
        (-3.0, -4.0, -0.125),
        (((4, -0.5), (7, -1.5)), ((3, -0.25), (2, -2.0)), ((2, -0.125), (3, -3.0))),
    )


def test_an_answer_that_was_cut_off_is_none():
    task = GenerationTask(0, (5,), 0, 2, 1.0, 0, 0)
    choice = {"finish_reason": "abort", "token_ids": [8], "logprobs": {"content": [place(8, -1.0)]}}
    assert _read({"choices": [choice]}, task) is None
