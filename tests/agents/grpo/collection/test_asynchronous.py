"""Batches played ahead of the updates: by which weights, in which order, and that the clock has no part in it."""

from __future__ import annotations

import copy
import json
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from palaestra.agents.engines.engine import ENGINES
from palaestra.agents.engines.torch_engine import TorchEngine
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.collection import asynchronous
from palaestra.agents.grpo.config import StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.run.folder import newest_checkpoint
from palaestra.envs import register
from palaestra.errors import InputError

from ....patience import wait_until  # isort: skip
from ....step_record import RecordedLearner  # isort: skip
from ..arms import TwoArmed, trained_on  # isort: skip

ENV = "tests/SlowTwoArmed-v0"
STEPS = 6


class SlowTwoArmed(TwoArmed):
    """Two arms that take as long to pull as a test says."""

    delay: Callable[[], float] = staticmethod(lambda: 0.0)

    def step(self, action: str) -> Any:
        time.sleep(type(self).delay())
        return super().step(action)


register(ENV, SlowTwoArmed)


@pytest.fixture(scope="module")
def config(small, tmp_path_factory) -> TrainConfig:
    """A run in which every update moves the policy."""
    folder = tmp_path_factory.mktemp("model") / "arms"
    trained_on(small, "aab", steps=30).save(folder)
    return TrainConfig(
        env=ENV,
        model=str(folder),
        teacher="random",
        warmup=WarmUp(steps=0),
        lr=1e-3,
        lr_warmup=0,
        steps=STEPS,
        prompts=2,
        samples=6,
        max_new_tokens=2,
        max_episode_tokens=2,
        context=64,
        eval_every=2,
        eval_episodes=2,
        final_episodes=2,
        checkpoint_every=2,
        threads=1,
        track=(),
        staleness=1,
    )


def rows(run: Path, log: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / f"{log}.jsonl").read_text().splitlines()]


def outcome(run: Path) -> dict[str, bytes]:
    """All that must be bit-identical between two runs: the newest checkpoint, and every log but the timings."""
    newest = newest_checkpoint(run)
    assert newest is not None
    found = {path.name: path.read_bytes() for path in newest.iterdir()}
    for log in ("metrics", "proposals", "evaluations", "trajectories", "notices"):
        found[log] = (run / f"{log}.jsonl").read_bytes()
    return found


@pytest.fixture(scope="module")
def whole(config, tmp_path_factory) -> Path:
    """An uninterrupted run in this process."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    assert Learner.start(run, config).run()
    return run


class Watched(Learner):
    """A learner that keeps its weights after each update and what each one was trained on.

    Attributes:
        weights: by the number of updates.
        trained: groups of each step.
        lead: for each batch, by how many it lay ahead of the updates when it began.
        slow: seconds that an update takes longer.
        ahead: an update waits until so many batches beyond its own have been played, where there are so many.
    """

    slow, ahead = 0.0, 0

    def _prepare(self, checkpoint: Path | None = None) -> None:
        super()._prepare(checkpoint)
        self.weights, self.trained, self.lead, self.updates = [copy.deepcopy(self.language.model)], [], [], 0
        self.played = 0
        run, collect = self.parts.update.run, self.parts.collector.collect

        def train(groups: Any, streams: Any, rate: float) -> Any:
            wait_until(lambda: self.played >= min(STEPS, self.updates + 1 + self.ahead))
            time.sleep(self.slow)
            self.trained.append(groups)
            result = run(groups, streams, rate)
            self.weights.append(copy.deepcopy(self.language.model))
            self.updates += 1
            return result

        def play(step: int) -> Any:
            self.lead.append(step - self.updates - 1)
            collected = collect(step)
            self.played += 1
            return collected

        self.parts.update.run, self.parts.collector.collect = train, play  # type: ignore[method-assign]


@pytest.mark.parametrize(("staleness", "lora"), [(1, 0), (2, 0), (2, 2)])
def test_every_token_is_sampled_by_the_policy_of_so_many_updates_before(config, tmp_path, monkeypatch, staleness, lora):
    if lora:
        pytest.importorskip("peft")
    # Where playing is the slower side, newer weights would be there.
    monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(lambda: 0.01))
    learner = Watched.start(tmp_path / "run", replace(config, staleness=staleness, lora=lora))
    assert learner.run()
    moved = 0.0
    for step, groups in enumerate(learner.trained, 1):
        batch = collate(groups)
        version = max(0, step - 1 - staleness)
        assert {t.version for t in batch.trajectories} == {version}
        by = [learner.parts.update.passes.measure(learner.weights[v], batch).logp for v in (version, step - 1)]
        assert torch.allclose(by[0][batch.action], batch.logp_mu[batch.action], atol=1e-4)
        moved = max(moved, float((by[0] - by[1])[batch.action].abs().max()))
    assert moved > 0.01
    ages = [(row["token_age"], row["token_age_max"]) for row in rows(tmp_path / "run", "metrics")]
    assert ages == [(min(step, staleness),) * 2 for step in range(6)]


@pytest.mark.parametrize("staleness", [1, 2])
def test_no_more_batches_lie_ahead_than_the_staleness_allows(config, tmp_path, staleness):
    learner = Watched.start(tmp_path / "run", replace(config, staleness=staleness, eval_every=0))
    # The side that plays is ahead as far as it may be, and waits for each update.
    learner.slow, learner.ahead = 0.05, staleness
    assert learner.run()
    assert len(learner.lead) == STEPS
    assert max(learner.lead) == staleness
    timings = [row for row in rows(tmp_path / "run", "timings") if "train_s" in row]
    assert sum(row["collection_wait_s"] for row in timings) > 0.05
    assert all(row["seconds"] == pytest.approx(row["update_wait_s"] + row["train_s"]) for row in timings)


def test_a_run_is_the_same_whatever_the_speed_of_either_side(config, whole, tmp_path, monkeypatch):
    rng = np.random.default_rng()
    monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(lambda: rng.uniform(0.0, 0.003)))
    assert Learner.start(tmp_path / "slow play", config).run()
    assert outcome(tmp_path / "slow play") == outcome(whole)
    monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(lambda: 0.0))
    monkeypatch.setattr(Watched, "slow", 0.02)
    assert Watched.start(tmp_path / "slow update", config).run()
    assert outcome(tmp_path / "slow update") == outcome(whole)
    assert Learner.start(tmp_path / "in turns", replace(config, staleness=0)).run()
    assert outcome(tmp_path / "in turns")["model.safetensors"] != outcome(whole)["model.safetensors"]


@pytest.mark.parametrize("staleness", [1, 2])
def test_a_run_that_was_stopped_continues_bit_for_bit(config, whole, tmp_path, staleness):
    if staleness == 2:  # with a memory on both sides
        stages = StageOverrides(replay="priority", shaping="count-bonus")
        config = replace(config, staleness=2, recipe="recap", teacher="alp-gmm", stages=stages)
        whole = tmp_path / "whole"
        Learner.start(whole, config).run()
    run = tmp_path / "stopped"
    learner = Learner.start(run, config)

    def look(progress: Any) -> None:
        if progress.phase == "train" and progress.step == 3:
            learner.stop()

    assert not learner.run(look)
    assert newest_checkpoint(run).name == "step-000003"
    if staleness == 2:
        state = json.loads((newest_checkpoint(run) / "state.json").read_text())["objective"]
        assert {name.partition("/")[0] for name in state["parts"]} >= {"replay", "selection"}
        assert state["rewards"][0]["visits"]
        assert not learner.parts.objective.state_dict()["parts"]["replay/0"]["kept"]
    assert Learner.resume(run).run()
    assert outcome(run) == outcome(whole)


def test_a_checkpoint_holds_the_older_weights_that_the_next_batches_are_played_with(config, whole, tmp_path):
    learner = Watched.start(tmp_path / "run", replace(config, staleness=2))
    assert learner.run()
    names = [path.name for path in newest_checkpoint(tmp_path / "run").glob("older-*")]
    assert sorted(names) == ["older-000004.safetensors", "older-000005.safetensors"]
    from safetensors.torch import load_file

    saved = load_file(newest_checkpoint(tmp_path / "run") / "older-000004.safetensors")
    assert all(torch.equal(saved[name], weight) for name, weight in learner.weights[4].named_parameters())
    seen = Learner.inspect(tmp_path / "run")
    pairs = zip(seen.language.model.parameters(), learner.language.model.parameters(), strict=True)
    assert all(torch.equal(*pair) for pair in pairs)


def test_an_error_of_the_collection_ends_the_run_as_its_own_and_the_run_can_be_resumed(config, whole, tmp_path):
    run = tmp_path / "run"
    learner = Watched.start(run, config)
    prepare = learner._prepare

    def break_later(fresh: bool = True) -> None:
        prepare(fresh)
        collect = learner.parts.collector.collect

        def fail(step: int) -> Any:
            if step == 4:
                raise RuntimeError("the task server is gone")
            return collect(step)

        learner.parts.collector.collect = fail  # type: ignore[method-assign]

    learner._prepare = break_later  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="the task server is gone"):
        learner.run()
    learner.close()
    with pytest.raises(InputError, match="staleness: 2 instead of 1"):
        Learner.resume(run, replace(config, staleness=2))
    assert [row["step"] for row in rows(run, "metrics")] == [1, 2, 3]
    assert Learner.resume(run).run()
    assert outcome(run) == outcome(whole)


def test_an_error_of_the_update_is_told_although_an_environment_hangs(config, tmp_path, monkeypatch):
    hanging, released = threading.Event(), threading.Event()
    learner = Watched.start(tmp_path / "run", config)
    prepare = learner._prepare

    def wait() -> float:
        if learner.parts.collection._next == 3:  # the batch that is played beside the second update
            hanging.set()
            released.wait()
        return 0.0

    def break_later(fresh: bool = True) -> None:
        prepare(fresh)
        update = learner.parts.update.run

        def fail(*arguments: Any) -> Any:
            if learner.step < 2:
                return update(*arguments)
            assert hanging.wait(60)
            raise RuntimeError("the optimiser is gone")

        learner.parts.update.run = fail  # type: ignore[method-assign]
        monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(wait))

    learner._prepare = break_later  # type: ignore[method-assign]
    monkeypatch.setattr(asynchronous, "PATIENCE", 0.1)
    try:
        with pytest.raises(RuntimeError, match="the optimiser is gone"):
            learner.run()
        assert learner.parts.collection._busy
    finally:
        released.set()
    learner.parts.collection.halt()
    learner.close()


def test_a_run_survives_kill_9(config, whole, tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(lambda: 0.01))  # it is killed while it plays

    def die(progress: Any) -> None:
        if progress.phase == "train" and progress.step == 3:
            os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if not child:
        try:
            Learner.start(run, config).run(die)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert newest_checkpoint(run).name == "step-000002"
    assert Learner.resume(run).run()
    assert outcome(run) == outcome(whole)


@pytest.mark.parametrize("recipe", ["tis", "icepop", "decoupled_ppo"])
@pytest.mark.parametrize("staleness", [0, 1])
def test_recipes_for_stale_samplers_get_the_samples_that_they_are_for(config, tmp_path, recipe, staleness):
    settings = {"recipe": recipe, "minibatches": 1, "eval_every": 0, "steps": 3, "staleness": staleness}
    learner = RecordedLearner.start(tmp_path / "run", replace(config, **settings))
    assert learner.run()
    factors = [table[0] for name, found in learner.events if name == "factor" for table in found.values() if table.size]
    furthest = max(float(np.abs(factor - 1).max()) for factor in factors)
    assert furthest > 0.02 if staleness else furthest < 1e-4


def test_an_engine_with_weights_of_its_own_plays_the_same(config, tmp_path, monkeypatch):
    held: list[Any] = []
    # After an evaluation, for which it has the newest weights, it needs older ones again.
    config = replace(config, staleness=2)
    monkeypatch.setattr(SlowTwoArmed, "delay", staticmethod(lambda: 0.01))

    class Copying(TorchEngine):
        copies = True

        @classmethod
        def serve(cls, language: Any, slots: int, max_length: int, fp32_head: bool = False) -> Any:
            own = replace(language, model=copy.deepcopy(language.model))
            engine = super().serve(own, slots, max_length, fp32_head)
            engine.own, engine.source, engine.loaded = own, language, None
            held.append(engine)
            return engine

        def follow(self, language: Any) -> None:
            if language is not self.source:
                self.source, self.loaded = language, None

        def load_weights(self, version: int) -> None:
            if version != self.loaded:
                self.own.model.load_state_dict(self.source.model.state_dict())
                self.loaded = version

    monkeypatch.setitem(ENGINES._entries, "copying", Copying)
    found = []
    for engine in ("torch", "copying"):
        assert Learner.start(tmp_path / engine, replace(config, engine=engine)).run()
        found.append({name: data for name, data in outcome(tmp_path / engine).items() if name != "notices"})
    assert found[0] == found[1]
    assert len(held) == 1


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        (RECIPES["co_rewarding_ema"], "the measure 'teacher_answer' has weights of its own that follow each update"),
        (RECIPES["grpo"].with_(shaping="gradient-influence"), "learns from the gradients of each update"),
        (
            RECIPES["grpo"].with_(shaping="repexp(embedder='reference')", reference="ema"),
            "measures by a reference policy that moves \\('ema'\\)",
        ),
    ],
)
def test_what_needs_the_update_of_the_step_before_is_refused_in_one_sentence(config, recipe, reason, monkeypatch):
    monkeypatch.setattr("palaestra.agents.grpo.run_parts.apply_overrides", lambda *_: recipe)
    with pytest.raises(InputError, match=f"{reason}.*train it with --staleness 0"):
        Learner(config)


def test_a_reference_that_stays_is_measured_beside_the_updates(config, tmp_path):
    shaped = replace(config, stages=StageOverrides(shaping="repexp(embedder='reference')"), steps=3)
    assert Learner.start(tmp_path / "run", shaped).run()
