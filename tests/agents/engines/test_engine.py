from __future__ import annotations

import pytest
from palaestra.agents.engines.engine import ABILITIES, ENGINES, check_engine, check_ranks
from palaestra.agents.engines.policy_engine import PolicyEngine
from palaestra.errors import InputError
from palaestra.scripts.cli import main

TREES = "the rollout strategy 'tool_branch'"


def test_every_engine_declares_known_abilities():
    assert {"torch", "vllm", "scripted"} <= set(ENGINES)
    assert all(kind.abilities <= set(ABILITIES) for _, kind in ENGINES.items())
    assert ENGINES["torch"].abilities == set(ABILITIES)


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("torsch", {}, "unknown engine 'torsch'; did you mean 'torch'?"),
        ("torch", {"cache_bg": 1}, "unknown option of the engine 'torch': 'cache_bg'; did you mean 'cache_gb'?"),
        ("torch", {"cache_gb": 0}, "the engine option cache_gb must be a finite number above 0, not 0."),
        ("scripted", {"anser": "1"}, "unknown option of the engine 'scripted': 'anser'; did you mean 'answer'?"),
        ("vllm-server", {"url": "here"}, "the engine option url must begin with http://, not 'here'."),
        (
            "vllm-server",
            {"url": "http://localhost:8000/v1", "folder": "new"},
            "the engine option url names the server itself: leave /v1 out of 'http://localhost:8000/v1'.",
        ),
        ("vllm-server", {"stall": 0}, "the engine option stall must be a finite number above 0, not 0."),
        (
            "vllm-server",
            {"url": "http://localhost:8000"},
            "the engine option url needs folder beside it: a folder that the server sees too, for the weights.",
        ),
    ],
)
def test_a_wrong_name_or_option_is_refused_in_one_sentence(name, options, sentence):
    with pytest.raises(InputError) as refused:
        check_engine(name, options, {})
    assert str(refused.value) == sentence


def test_processes_that_share_an_update_have_no_engine_that_makes_groups_of_its_own():
    for name in ("torch", "vllm-server", "ray"):
        check_ranks(name)
    with pytest.raises(InputError, match=r"'vllm' cannot be in one of several processes.*take --engine vllm-server"):
        check_ranks("vllm")


@pytest.mark.parametrize(
    ("name", "options", "ahead", "held"),
    [
        ("torch", {}, False, 5 << 30),
        ("torch", {"cache_gb": 4}, False, 4e9),
        ("torch", {"cache_gb": 400}, False, 5 << 30),
        ("torch", {}, True, 50 << 30),
        ("torch", {"cache_gb": 4}, True, 4e9),
        ("torch", {"cache_gb": 400}, True, 100 << 30),
        ("vllm", {}, False, 11 << 30),
        ("vllm", {"sleeps": True, "eager": True}, False, 0),
        ("vllm", {"sleeps": True}, True, 11 << 30),
        ("vllm-server", {"cache_gb": 2, "stall": 5}, True, 5 << 30),
        ("vllm-server", {"url": "http://there:8000", "folder": "new"}, True, 0),
        ("scripted", {"answer": "1"}, True, 0),
    ],
)
def test_what_an_engine_holds_of_a_gpu_while_the_policy_is_trained(name, options, ahead, held):
    assert PolicyEngine(name, options).measure_held(3 << 30, 100 << 30, ahead) == held


def test_what_an_engine_cannot_do_is_said_with_who_needs_it():
    assert check_engine("torch", {}, {TREES: {"entropies"}}) is ENGINES["torch"]
    with pytest.raises(InputError) as refused:
        check_engine("vllm", {}, {TREES: {"entropies"}, "nobody": ()})
    assert str(refused.value) == (
        "the rollout strategy 'tool_branch' needs an engine that returns the entropy at each token, which 'vllm' does "
        "not; take --engine torch."
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--engine torsch", "unknown engine 'torsch'"),
        ("--engine torch --engine-option cache_gb=0", "cache_gb must be a finite number above 0"),
        ("--recipe arpo --engine vllm", "returns the entropy"),
        ("--fp32-head --engine vllm", "--fp32-head needs"),
    ],
)
def test_training_refuses_before_it_writes_anything(line, said, tmp_path, capsys):
    assert main(["train", *line.split(), "--out", str(tmp_path / "run")]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run").exists()


def test_a_run_is_sampled_by_the_engine_that_was_asked_for(tmp_path):
    line = (
        "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+ --engine scripted --engine-option answer=7 "
        "--steps 1 --prompts 2 --samples 2 --warmup.steps 0 --final-episodes 4 --track --patience.no-signal 0"
    )
    main(["train", *line.split(), "--out", str(tmp_path / "run")])
    assert '"action": "7"' in (tmp_path / "run" / "trajectories.jsonl").read_text()


def test_an_evaluation_is_sampled_by_the_engine_that_was_asked_for(small, tmp_path):
    small.save(tmp_path / "model")
    line = (
        f"palaestra/Arithmetic-v0 --agent hf:{tmp_path / 'model'} --engine scripted --engine-option answer=7 "
        f"--episodes 3 --context 400 --out {tmp_path / 'played.jsonl'}"
    )
    assert main(["eval", *line.split()]) == 0
    assert '"7"' in (tmp_path / "played.jsonl").read_text()
