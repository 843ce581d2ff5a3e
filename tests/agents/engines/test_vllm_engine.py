"""vLLM in process, the real one; see `vllm_trial.py`, and `conftest.py` for its environment."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import pytest
from palaestra.agents.engines import vllm_engine
from palaestra.agents.engines.engine import check_engine
from palaestra.agents.language.tokenizer import character_tokenizer
from palaestra.errors import InputError

TOLERANCE = 1e-4
"""Largest difference from torch in single precision, nats; about 1e-6 on the whole."""
FAMILIES = ("llama", "qwen", "gemma")


@pytest.fixture(scope="module")
def seen(vllm_trial):
    return vllm_trial


def test_recorded_episodes_have_the_same_tokens_and_log_probabilities_as_with_torch(seen):
    seen = seen["conformance"]
    assert seen["same greedy tokens"]
    assert max(seen["difference"].values()) < TOLERANCE
    assert set(seen["difference"]) == {"0.0", "0.7", "1.0"}
    assert seen["forced"] == [[20, 21], 5, 1, "length"]
    assert seen["forced difference"] < TOLERANCE
    assert seen["after a cancelled one"] == [[1], []]
    assert seen["finishes"] in (["length"], ["length", "stop"])


def test_weights_are_replaced_in_place_when_a_new_version_is_told(seen):
    assert seen["update"]["not told"] > 0.05
    assert seen["update"]["told of the same version"] == pytest.approx(seen["update"]["not told"], abs=TOLERANCE)
    assert seen["update"]["told of a new version"] < TOLERANCE


def test_noise_depends_on_the_seed_and_not_on_the_company(seen):
    seen = seen["conformance"]
    assert seen["repeats"]
    assert seen["alone as in company"]
    assert not seen["other seed repeats"]


def test_ids_that_the_tokenizer_lacks_are_never_sampled(seen):
    assert seen["conformance"]["highest id"] < len(character_tokenizer())


def test_a_policy_with_adapters_takes_the_place_of_another_in_the_same_engine(seen):
    assert seen["adapters"] < TOLERANCE


def test_of_a_policy_with_adapters_these_alone_are_handed_over(seen):
    assert seen["whole updates with adapters"] == [False]  # once, without the adapters


def test_weights_that_do_not_arrive_end_the_run_with_a_sentence(seen):
    assert "the engine 'vllm' does not compute what this Qwen3ForCausalLM does" in seen["incomplete weights"]
    assert seen["incomplete weights"].endswith("take --engine torch.")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_of_each_family_trains_from_the_command_line(seen, family):
    assert seen[f"train {family}"] == 0
    # The gap is known because the sampler's log-probabilities are stored, and it is none after an update, too.
    assert len(seen[f"gaps {family}"]) == 2
    assert 0 < max(seen[f"gaps {family}"]) < TOLERANCE


def test_a_run_is_resumed_with_another_engine(seen):
    code, gaps, opened = seen["other engine"]
    assert code == 0
    assert len(gaps) == 3
    assert opened == 1  # for the run before; this one needs no vLLM


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_where_it_is_not_installed_the_sentence_says_how():
    with pytest.raises(InputError, match=r"the engine 'vllm' needs the package vllm, .* or take --engine torch"):
        check_engine("vllm", {}, {})


def test_an_engine_that_slept_has_no_weights_until_they_are_loaded_whatever_the_version(monkeypatch):
    asked = []
    answers = SimpleNamespace(
        sleep=lambda level: asked.append(f"sleep {level}"),
        wake_up=lambda: asked.append("wake"),
        collective_rpc=lambda name, kwargs: asked.append(name),
        reset_prefix_cache=lambda: True,
    )
    monkeypatch.setattr(vllm_engine, "check_gap", lambda *arguments: None)
    monkeypatch.setattr(vllm_engine, "adapter_rank", lambda language: None)
    monkeypatch.setattr(vllm_engine, "checkpoint_weights", lambda language, merge: {})
    engine = vllm_engine.VllmEngine.__new__(vllm_engine.VllmEngine)
    state = {"_llm": answers, "_language": None, "_vocabulary": 1, "_version": 3, "_has_base": True, "_sleeps": True}
    vars(engine).update(state, _asleep=False, _room_for_adapters=0)
    engine.load_weights(3)
    assert asked == []
    engine.sleep()
    engine.sleep()
    engine.load_weights(3)
    assert asked == ["sleep 2", "wake", "reload_weights"]
