from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from palaestra.agents.engines.engine import ENGINES, Engine
from palaestra.agents.engines.policy_engine import PolicyEngine
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.grpo.learner import Learner
from palaestra.scripts.train import read_config


class Copying(Engine):
    """Remembers what happened to it."""

    copies = True

    def __init__(self) -> None:
        self.events: list[Any] = []

    @classmethod
    def serve(cls, language, slots, max_length, fp32_head=False, size=0):
        return cls()

    def follow(self, language):
        self.events.append(language)

    def sleep(self):
        self.events.append("sleep")

    def shut_down(self):
        self.events.append("shut down")


@pytest.fixture
def copying(monkeypatch):
    monkeypatch.setitem(ENGINES._entries, "copying", Copying)
    return PolicyEngine("copying", {"size": 1})


def test_an_engine_with_weights_of_its_own_is_made_once_and_follows_the_policy(copying):
    engine = copying.open("first", 4, 100)
    assert copying.open("second", 9, 100) is engine
    copying.sleep()
    copying.shut_down()
    assert engine.events == ["first", "second", "sleep", "shut down"]
    assert copying.open("third", 4, 100) is not engine


class Sparing(ENGINES["torch"]):
    """The torch engine, with the bytes that it was told to leave free."""

    told: ClassVar[list[int]] = []

    @classmethod
    def serve(cls, language, slots, max_length, fp32_head=False, cache_gb=None, spare=0):
        cls.told.append(spare)
        return super().serve(language, slots, max_length, fp32_head, cache_gb, spare)


def test_the_engine_of_a_run_leaves_room_for_the_optimiser_and_those_of_evaluations_need_not(
    small, tmp_path, monkeypatch
):
    monkeypatch.setitem(ENGINES._entries, "sparing", Sparing)
    small.save(tmp_path / "model")
    line = (
        f"palaestra/Arithmetic-v0 --axis digits=1 terms=2 --model {tmp_path / 'model'} --steps 1 --prompts 1 --samples "
        "2 --max-new-tokens 4 --context 200 --final-episodes 2 --eval-every 0 --track --engine sparing --threads 1"
    )
    Learner.start(tmp_path / "run", read_config(line.split())).run()
    assert sum(Sparing.told) == max(Sparing.told) == 8 * small.model.num_parameters()


def test_an_engine_that_reads_the_policy_is_made_anew(small):
    serving = PolicyEngine()
    assert serving.open(small, 4, 100) is not serving.open(small, 4, 100)
    serving.sleep()
    serving.shut_down()


class CopiedTorch(TorchEngine):
    """The torch engine on weights of its own, which are renewed by `load_weights` alone."""

    copies = True
    made: ClassVar[list[Any]] = []

    @classmethod
    def serve(cls, language, slots, max_length, fp32_head=False):
        copied = copy.deepcopy(language.model)
        engine = cls(copied, language.renderer.stop_ids, len(language.tokenizer), slots, max_length, fp32_head)
        engine.source, engine.copied, engine.version, engine.asleep = language.model, copied, None, False
        cls.made.append(engine)
        return engine

    def follow(self, language):
        if language.model is not self.source:
            self.source, self.version = language.model, None

    def load_weights(self, version):
        self.asleep = False
        if version != self.version:
            self.copied.load_state_dict(self.source.state_dict())
            self.version = version

    def step(self):
        assert not self.asleep
        return super().step()

    def sleep(self):
        self.asleep = True


def run(folder: Path, model: Path, engine: str) -> Path:
    """Train for three steps with evaluations between them, go back to the first checkpoint after the second, resume."""
    line = (
        f"palaestra/Arithmetic-v0 --axis digits=1 terms=2 --model {model} --steps 3 --prompts 2 --samples 2 --lr 0.01 "
        "--lr-warmup 1 --max-new-tokens 4 --context 200 --final-episodes 8 --eval-every 1 --eval-episodes 8 --track "
        f"--checkpoint-every 1 --patience.no-signal 0 --regularisers entropy_bonus --engine {engine} --threads 1"
    )
    learner = Learner.start(folder, read_config(line.split()))
    verdicts = iter([None, 0])
    learner.collapse.check = lambda *arguments: (next(verdicts, None), [])  # type: ignore[method-assign]
    learner.run()
    learner = Learner.resume(folder, dataclasses.replace(learner.config, steps=4))
    learner.run()
    return folder


def test_an_engine_is_told_of_weights_whenever_they_have_changed(small, tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES._entries, "copied", CopiedTorch)
    small.save(tmp_path / "model")
    plain, copied = (run(tmp_path / engine, tmp_path / "model", engine) for engine in ("torch", "copied"))
    for log in ("metrics", "trajectories", "proposals", "evaluations"):
        written = (plain / f"{log}.jsonl").read_text()
        assert written == (copied / f"{log}.jsonl").read_text()
    rates = [json.loads(row)["sampler_gap"] for row in (copied / "metrics.jsonl").read_text().splitlines()]
    assert len(rates) == 4
    assert max(rates) < 1e-5
    assert len(CopiedTorch.made) == 2  # one for the run, which went on with it after its return, and one for the rest
