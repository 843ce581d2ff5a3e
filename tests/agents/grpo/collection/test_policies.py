"""Several policies in a run: each learns from its own episodes, and a run continues bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import StageOverrides
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.agents.grpo.run.observers import TrainingProgress
from palaestra.agents.grpo.settings import PolicySpec, WarmUp, read_policies
from palaestra.agents.language.adapters import AdapterSwitch
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.lookup import find_agent
from palaestra.errors import InputError
from safetensors.torch import load_file

KUHN = "palaestra/KuhnPoker-v0"


@pytest.fixture(scope="module")
def model(small, tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("models") / "small"
    small.save(folder)
    return str(folder)


@pytest.fixture
def config(model) -> TrainConfig:
    """Games of a policy against another; the entropy bonus moves weights where every game is forfeited."""
    return TrainConfig(
        env=KUHN,
        axes={"cards": 3, "hands": 1},
        prompt_form="terse",
        model=model,
        recipe="rae",
        stages=StageOverrides(
            rollout="table(opponents=('self','past'),every=1,copies=3,measure=1)",
            regularisers="entropy_bonus(coefficient=0.1)",
        ),
        warmup=WarmUp(steps=0),
        steps=4,
        prompts=2,
        samples=2,
        lr=1e-2,
        lr_warmup=1,
        max_new_tokens=3,
        eval_every=0,
        final_episodes=1,
        checkpoint_every=2,
        threads=1,
        track=(),
    )


def vote(config: TrainConfig, **changes) -> TrainConfig:
    stages = StageOverrides(rollout="panel(members=3)", regularisers="entropy_bonus(coefficient=0.1)")
    arithmetic = {"env": "palaestra/Arithmetic-v0", "axes": {"digits": 1, "terms": 2}, "stages": stages}
    return replace(config, **arithmetic, **changes)


def files(run: Path) -> dict[str, bytes]:
    """Everything that the newest checkpoint holds, and the logs but the timings."""
    newest = newest_checkpoint(run)
    assert newest is not None
    found = {str(f.relative_to(newest)): f.read_bytes() for f in sorted(newest.rglob("*")) if f.is_file()}
    logs = ("metrics", "proposals", "evaluations", "trajectories")
    return found | {log: (run / f"{log}.jsonl").read_bytes() for log in logs}


def run_in_halves(folder: Path, config: TrainConfig) -> None:
    learner = Learner.start(folder, config)

    def stop_at_two(progress: TrainingProgress) -> None:
        if progress.phase == "train" and progress.step == 2:
            learner.stop()

    learner.run(stop_at_two)
    learner.close()
    assert Learner.resume(folder).run()


@pytest.mark.parametrize("policies", [{}, {"player_0": "MODEL"}], ids=["alone", "two"])
def test_a_game_of_policies_and_past_copies_continues_bit_for_bit(policies, config, tmp_path):
    config = replace(
        config, role_policies={role: text.replace("MODEL", config.model) for role, text in policies.items()}
    )
    assert Learner.start(tmp_path / "whole", config).run()
    run_in_halves(tmp_path / "halves", config)
    whole, halves = files(tmp_path / "whole"), files(tmp_path / "halves")
    assert whole.keys() == halves.keys()
    assert [name for name in whole if whole[name] != halves[name]] == []
    assert any(name.startswith("past-") for name in whole)
    if policies:
        assert "policies/player_0/model.safetensors" in whole
        rows = [json.loads(line) for line in whole["metrics"].splitlines()]
        assert all("policy/player_0/loss" in row for row in rows)
        evaluated = [json.loads(line)["policies"] for line in whole["evaluations"].splitlines()]
        assert [row["player_0"]["episodes"] for row in evaluated] == [1, 1]
        # Copies and other policies are agents by their name.
        checkpoint = newest_checkpoint(tmp_path / "whole")
        assert checkpoint is not None
        for name, file in (("past-3", "past-past-3"), ("player_0", "policies/player_0/model"), ("4", "model")):
            agent: Any = find_agent(f"{tmp_path / 'whole'}@{name}")
            assert agent.name == f"{tmp_path / 'whole'}@{name}"
            saved = load_file(checkpoint / f"{file}.safetensors")
            own = dict(agent.language.model.named_parameters())
            assert all(torch.equal(own[key], weight) for key, weight in saved.items())
        for name in ("past-9", "player_1"):
            with pytest.raises(InputError, match=name):
                find_agent(f"{tmp_path / 'whole'}@{name}")


def test_two_policies_with_adapters_on_one_base_learn_apart_and_continue_bit_for_bit(config, tmp_path):
    two = {"member_1": f"{config.model}:lora=2:lr=3e-2", "member_2": f"{config.model}:lora=2:frozen"}
    config = vote(config, lora=2, role_policies=two)
    assert Learner.start(tmp_path / "whole", config).run()
    run_in_halves(tmp_path / "halves", config)
    whole, halves = files(tmp_path / "whole"), files(tmp_path / "halves")
    assert [name for name in whole if whole[name] != halves.get(name)] == []
    learner = Learner.inspect(tmp_path / "whole")
    weights = {
        name: [weight for key, weight in learner.language.model.named_parameters() if f"lora_B.{name}." in key]
        for name in ("default", "member_1", "member_2")
    }
    assert all(len(each) == len(weights["default"]) > 0 for each in weights.values())
    moved = {name: max(float(weight.detach().abs().max()) for weight in each) for name, each in weights.items()}
    assert moved["default"] > 0
    assert moved["member_1"] > moved["default"]  # its rate is three times as high
    assert moved["member_2"] == 0
    rows = [json.loads(line) for line in whole["metrics"].splitlines()]
    assert all("policy/member_1/grad_norm" in row for row in rows)
    assert not any("policy/member_2/grad_norm" in row for row in rows)
    assert rows[0]["policy/member_2/episodes"] == 4
    agent: Any = find_agent(f"{tmp_path / 'whole'}@member_1")
    loaded = [weight for key, weight in agent.language.model.named_parameters() if "lora_B" in key]
    assert all(map(torch.equal, loaded, weights["member_1"]))


def test_a_policy_trains_on_its_own_episodes_alone(config, tmp_path):
    """With a learning rate of nearly nothing only the other policy moves."""
    for lr, other, still, moves in ((1e-12, "1e-2", "default", "member_1"), (1e-2, "1e-12", "member_1", "default")):
        run = tmp_path / moves
        two = vote(config, lora=2, lr=lr, steps=2, role_policies={"member_1": f"{config.model}:lora=2:lr={other}"})
        assert Learner.start(run, two).run()
        learner = Learner.inspect(run)
        size = {
            name: max(
                float(weight.detach().abs().max())
                for key, weight in learner.language.model.named_parameters()
                if f"lora_B.{name}." in key
            )
            for name in ("default", "member_1")
        }
        assert size[moves] > 1e-3 > 1e-9 > size[still]


def test_log_probabilities_are_those_of_the_policy_that_acts(config, tmp_path):
    config = vote(config, lora=2, role_policies={"member_1": f"{config.model}:lora=2"})
    assert Learner.start(tmp_path / "run", config).run()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    for name in ("", "policy/member_1/"):
        assert max(row.get(f"{name}sampler_gap", 0.0) for row in rows) < 1e-5
        assert any(row[f"{name}updates"] for row in rows)


def test_a_switch_lets_one_adapter_act_and_be_trained_at_a_time(small):
    import copy

    language = LanguageModel.of(copy.deepcopy(small.model), small.tokenizer)
    language = language.with_lora(2, 4.0, seed=0)
    switch = AdapterSwitch(language)
    switch.add("other", 2, seed=1)
    ids = torch.arange(5)[None]
    with torch.no_grad():
        for key, weight in language.model.named_parameters():
            if "lora_B.other" in key:
                weight.fill_(0.1)
        plain = language.model(ids).logits
        with switch.use("other"):
            changed = language.model(ids).logits
            trained = {key for key, weight in language.model.named_parameters() if weight.requires_grad}
        assert torch.equal(language.model(ids).logits, plain)
    assert not torch.allclose(plain, changed)
    assert torch.allclose(plain, small.model(ids).logits, atol=1e-6)
    assert trained
    assert all(".other." in key for key in trained)
    assert all(".default." in key for key, weight in language.model.named_parameters() if weight.requires_grad)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("org/name", PolicySpec("r", "org/name")),
        ("tiny:lora", PolicySpec("r", "tiny", lora=16)),
        ("tiny:lora=4:frozen", PolicySpec("r", "tiny", lora=4, frozen=True)),
        ("C:/models/x:lr=1e-5:recipe=rae", PolicySpec("r", "C:/models/x", lr=1e-5, recipe="rae")),
    ],
)
def test_a_description_is_read(text, spec):
    assert read_policies({"r": text}) == ({"r": "r"}, {"r": spec})


def test_roles_share_policies_by_name():
    names, specs = read_policies({"a": "tiny:lora", "b": "a", "c": "b", "d": "policy"})
    assert names == {"a": "a", "b": "a", "c": "a"}
    assert list(specs) == ["a"]


@pytest.mark.parametrize("given", [{"a": "b", "b": "a"}, {"a": "x:lora=0"}, {"a": ":lora"}, {"a": "x:lr=fast"}])
def test_a_faulty_description_is_refused(given):
    with pytest.raises(InputError):
        read_policies(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"role_policies": {"critic": "MODEL"}}, "'critic'"),
        ({"role_policies": {"player_1": "MODEL:lora"}}, "--lora"),
        ({"role_policies": {"player_1": "MODEL"}, "workers": 2}, "--ray"),
        ({"role_policies": {"player_1": "MODEL"}, "compile": True}, "--compile"),
        ({"role_policies": {"player_1": "MODEL:recipe=none_such"}}, "none_such"),
        ({"role_policies": {"player_1": "MODEL"}, "stages": StageOverrides()}, "has no roles"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_model_is_loaded(changes, message, config, tmp_path):
    named = {role: text.replace("MODEL", config.model) for role, text in changes["role_policies"].items()}
    with pytest.raises(InputError, match=message):
        Learner.start(tmp_path / "run", replace(config, **{**changes, "role_policies": named}))


def test_policies_are_typed(config, monkeypatch):
    from palaestra.scripts.train import read_config

    words = f"{KUHN} --rollout table --policies player_1=tiny:lora=4 player_0=policy".split()
    assert read_config(words).role_policies == {"player_1": "tiny:lora=4", "player_0": "policy"}
