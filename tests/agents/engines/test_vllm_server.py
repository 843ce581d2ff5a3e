"""A vLLM server, the real one, which is killed in mid-step; see `vllm_server_trial.py`, and `conftest.py`."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from palaestra.agents.engines import vllm_server
from palaestra.agents.engines.engine import check_engine
from palaestra.agents.engines.resending import Answer, GenerationTask
from palaestra.agents.engines.server_process import ServerError
from palaestra.agents.engines.vllm_server import VllmServerEngine, _read
from palaestra.errors import InputError

from .process_groups import members  # isort: skip

TOLERANCE = 1e-4
"""Largest difference from torch in single precision, nats; about 1e-6 on the whole."""


@pytest.fixture(scope="module")
def seen(vllm_server_trial):
    return vllm_server_trial


def test_recorded_episodes_have_the_same_tokens_and_log_probabilities_as_with_torch(seen):
    seen = seen["conformance"]
    assert seen["same greedy tokens"]
    assert set(seen["difference"]) == {"0.0", "0.7", "1.0"}
    assert max(seen["difference"].values()) < TOLERANCE
    assert seen["forced difference"] < TOLERANCE
    assert seen["repeats"]
    assert seen["alone as in company"]
    assert not seen["other seed repeats"]
    assert seen["after a cancelled one"] == [[1], []]


def test_weights_are_reloaded_when_a_new_version_is_told(seen):
    assert seen["update"]["not told"] > 0.05
    assert seen["update"]["told of the same version"] == pytest.approx(seen["update"]["not told"], abs=TOLERANCE)
    assert seen["update"]["told of a new version"] < TOLERANCE


def test_adapters_are_swapped_by_themselves(seen):
    assert max(seen["adapters"]["gaps"]) < TOLERANCE
    assert min(seen["adapters"]["moved"]) > 0.01


def test_weights_that_do_not_fit_end_the_run_with_a_sentence(seen):
    sentence, version = seen["deeper model"]
    assert "does not take the weights of this Qwen3ForCausalLM" in sentence
    assert sentence.endswith("take --engine torch.")
    assert version is None  # nothing counts as loaded


def test_a_server_with_another_model_of_this_size_is_known_by_what_it_computes(seen):
    assert "does not compute what this LlamaForCausalLM does" in seen["other model"]
    assert "start it with VLLM_SERVER_DEV_MODE=1 python -m vllm" in seen["other model"]


def test_nobody_samples_from_the_weights_of_another_run(seen):
    assert seen["gap after the other model"] < TOLERANCE
    (loss,) = seen["losses after the other model"]
    assert "it answered with the weights" in loss


def test_a_server_with_too_little_room_is_refused_in_one_sentence(seen):
    assert "has room for 251 tokens, and 254 are needed; start it with" in seen["too short"]


def test_a_run_whose_server_at_an_address_is_lost_ends_with_a_sentence_and_is_resumed(seen):
    code, said = seen["lost"]
    assert code != 0
    assert "waiting 6 seconds for a vLLM server at http://127.0.0.1:" in said
    assert "no vLLM server answered at http://127.0.0.1:" in said
    assert "--resume" in said
    assert seen["lost in flight"][0] > 1
    assert len(seen["lost gaps"]) == 1  # of the step that was finished before
    assert seen["resumed"][0] == 0
    assert len(seen["resumed gaps"]) == 2


def test_a_server_that_hangs_counts_as_lost_and_disturbs_nothing(seen):
    assert seen["hanging in flight"][0] > 1
    assert re.search(r"was lost \(it has done nothing for 6 seconds, and owes \d+ answers\)", seen["resumed"][1])
    # It has played what the run has that was never disturbed.
    assert seen["resumed played"] == seen["plain played"]


def test_the_agent_of_endpoints_talks_to_the_server(seen):
    code, scores, episodes = seen["chat"]
    assert code == 0
    assert scores["episodes"] == len(episodes) == 4
    assert scores["errored"] == scores["invalid"] == 0
    assert all(0 < len(episode["turns"][0]["action"]) <= 6 for episode in episodes)


def test_a_killed_server_of_the_run_loses_no_episode_and_makes_no_reward(seen):
    assert seen["in flight"][0] > 1
    assert seen["plain"] == seen["served"] == 0
    # Every episode is that of the undisturbed run: as many, valid, token for token.
    assert seen["served played"] == seen["plain played"]
    assert [count for count, _, _ in seen["plain played"][1]] == [3] * 4
    assert all(valid for valid, _, _ in seen["plain played"][0])


def test_the_new_server_has_the_present_weights(seen):
    assert len(seen["served gaps"]) == 2
    assert max(seen["served gaps"] + seen["resumed gaps"]) < TOLERANCE


def test_nothing_of_a_server_outlives_itself_or_a_killed_trainer(seen):
    assert seen["left of the first"] == []
    # The trial has killed itself at its end.
    assert len(seen["members of the second"]) > 2
    assert seen["folder before"]
    until = time.monotonic() + 60
    while (left := members(seen["second"]) or Path(seen["folder"]).exists()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not left


def test_a_folder_that_holds_something_else_is_refused_before_anything_is_loaded(tmp_path):
    (tmp_path / "model.safetensors").write_text("mine")
    options = {"url": "http://127.0.0.1:1", "folder": str(tmp_path)}
    with pytest.raises(InputError, match=r"must name a new or an empty folder, .* holds model\.safetensors"):
        check_engine("vllm-server", options, {})
    check_engine("vllm-server", options | {"folder": str(tmp_path / "new")}, {})


def test_weights_that_cannot_be_written_end_the_run_with_a_sentence(small, tmp_path):
    (tmp_path / "file").touch()
    engine = VllmServerEngine.serve(
        small, 2, 30, url="http://127.0.0.1:1", folder=str(tmp_path / "file" / "folder"), patience=0.1
    )
    with pytest.raises(InputError, match=r"cannot be written to .*folder=FOLDER, and go on with --resume"):
        engine.load_weights(0)
    engine.shut_down()


def test_the_temporary_folder_goes_with_the_engine(small):
    engine = VllmServerEngine.serve(small, 2, 30)
    assert engine._weights.folder.is_dir()
    engine.shut_down()
    assert not engine._weights.folder.exists()


def test_a_server_whose_port_was_taken_is_started_on_another_one(small, monkeypatch):
    started = []

    class Unlucky:
        url = "http://127.0.0.1:1"

        def __init__(self, *arguments):
            started.append(arguments)

        def is_running(self) -> bool:
            return False

        def describe_failure(self) -> str:
            return "OSError: [Errno 98] Address already in use"

        def stop(self) -> None:
            pass

    monkeypatch.setattr(vllm_server, "ServerProcess", Unlucky)
    engine = VllmServerEngine.serve(small, 2, 30)
    with pytest.raises(InputError, match=r"lost 4 times in a row \(another program has taken its port meanwhile"):
        engine.load_weights(0)
    engine.shut_down()
    assert len(started) == 4


def place(token: int, logp: float, *others: tuple[int, float]) -> dict:
    top = [{"token_id": i, "logprob": value, "rank": None} for i, value in ((token, logp), *others)]
    return {"token_id": token, "logprob": logp, "rank": None, "top_logprobs": top}


def span(version: str) -> list[dict]:
    return [{"version": version, "start": 0, "end": 2}]


def test_an_answer_has_forced_and_sampled_tokens_with_the_likeliest_in_order():
    task = GenerationTask(0, (5, 6, 9), 1, 2, 1.0, 2, 0)
    prompt = [None, {"6": {"logprob": -1.0}}, {"9": {"logprob": -3.0}, "4": {"logprob": -0.5}, "7": {"logprob": -1.5}}]
    content = [place(8, -4.0, (3, -0.25), (2, -2.0)), place(2, -0.125, (3, -3.0))]
    choice = {"finish_reason": "length", "token_ids": [8, 2], "logprobs": {"content": content}}
    choice["weight_versions"] = span("run-3")
    assert _read({"prompt_logprobs": prompt, "choices": [choice]}, task, "run-3") == Answer(
        (9, 8, 2),
        (-3.0, -4.0, -0.125),
        (((4, -0.5), (7, -1.5)), ((3, -0.25), (2, -2.0)), ((2, -0.125), (3, -3.0))),
    )


def test_an_answer_that_was_cut_off_is_none():
    task = GenerationTask(0, (5,), 0, 2, 1.0, 0, 0)
    choice = {"finish_reason": "abort", "token_ids": [8], "logprobs": {"content": [place(8, -1.0)]}}
    assert _read({"choices": [choice]}, task, "run-3") is None


@pytest.mark.parametrize("versions", [None, span("run-2"), [*span("run-2"), *span("run-3")]])
def test_an_answer_of_other_weights_counts_as_a_lost_server(versions):
    task = GenerationTask(0, (5,), 0, 1, 1.0, 0, 0)
    choice = {"finish_reason": "length", "token_ids": [8], "logprobs": {"content": [place(8, -1.0)]}}
    with pytest.raises(ServerError, match="it answered with the weights"):
        _read({"choices": [choice | {"weight_versions": versions}]}, task, "run-3")
