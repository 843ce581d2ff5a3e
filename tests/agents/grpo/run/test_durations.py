"""Durations of environment steps: their weight, and that a resumed run takes the ones that it measured before."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.weights import duration
from palaestra.agents.grpo.config import StageOverrides, TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.rollouts import episode_loop
from palaestra.agents.grpo.run.durations import DurationLog
from palaestra.agents.grpo.run.folder import newest_checkpoint

from ..conftest import group, trajectory  # isort: skip


def timed(*seconds):
    made = trajectory(1.0, [([5], [6, 7])] * len(seconds))
    return replace(made, turns=tuple(replace(turn, seconds=s) for turn, s in zip(made.turns, seconds)))


def test_actions_count_by_their_durations_so_that_slow_ones_are_not_learned_from_less():
    batch = collate([group(timed(1.0, 10.0), timed(4.0))])
    weight = duration(batch, torch.zeros(len(batch.ids)))
    assert weight[batch.action].tolist() == pytest.approx([0.2, 0.2, 2, 2, 0.8, 0.8])
    # Of two actions of probability 1/2 and durations 1 and 10, the first is met 10 times as often in a given time.
    met = torch.tensor([1 / 1.0, 1 / 10.0])
    assert float(met[0] / met[1]) == pytest.approx(10)
    share = met * weight[batch.action][[0, 2]]
    assert float(share[0]) == pytest.approx(float(share[1]))
    still = collate([group(timed(0.0, 0.0))])
    assert duration(still, torch.zeros(len(still.ids))).tolist() == [1.0] * len(still.ids)


@pytest.fixture(scope="module")
def config(small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "small"
    small.save(folder)
    return TrainConfig(
        model=str(folder),
        env="palaestra/GuessNumber-v0",
        axes={"bits": 4, "slack": 0},
        teacher="random",
        stages=StageOverrides(weights="duration", replay="self_imitation", baseline="fixed", scale="none"),
        warmup=WarmUp(steps=0),
        steps=3,
        prompts=2,
        samples=2,
        max_new_tokens=2,
        eval_every=0,
        final_episodes=1,
        checkpoint_every=2,
        threads=1,
    )


def test_a_resumed_run_takes_the_durations_that_it_has_measured_before(config, tmp_path, monkeypatch):
    run = tmp_path / "run"
    ticks = iter(range(10**9))
    monkeypatch.setattr(episode_loop.time, "perf_counter", lambda: next(ticks) ** 1.5)  # no two steps last alike
    Learner.start(run, config).run()
    rows = [json.loads(row) for row in (run / "durations.jsonl").read_text().splitlines()]
    assert [(row["step"], row["round"]) for row in rows] == [(1, 0), (2, 0), (3, 0)]
    assert all(seconds > 0 for row in rows for turns in row["seconds"] for seconds in turns)

    def play_last_step_again():
        last = newest_checkpoint(run)
        assert last is not None
        kept = {name: (last / name).read_bytes() for name in ("model.safetensors", "state.json")}
        shutil.rmtree(last)
        Learner.resume(run, replace(config, steps=3)).run()
        again = newest_checkpoint(run)
        assert again is not None
        return kept, {name: (again / name).read_bytes() for name in kept}

    before, after = play_last_step_again()
    assert after == before
    monkeypatch.setattr(DurationLog, "repeat", lambda self, step, round_, groups: list(groups))
    before, after = play_last_step_again()
    assert after["model.safetensors"] != before["model.safetensors"]


def test_a_run_without_the_weight_measures_no_duration(config, tmp_path):
    run = tmp_path / "run"
    learner = Learner.start(run, replace(config, steps=1, stages=StageOverrides(baseline="fixed", scale="none")))
    learner.run()
    assert not (run / "durations.jsonl").exists()
    groups = [practice.group for practice in learner.parts.collector.collect(2).played]
    assert {turn.seconds for g in groups for t in g.trajectories for turn in t.turns} == {0.0}


def test_an_environment_that_reports_durations_is_believed(config, tmp_path, monkeypatch):
    from palaestra.envs.games.guess_number import GuessNumber

    step = GuessNumber.step

    def timed_step(self, action):
        *result, info = step(self, action)
        return *result, {**info, "extras": {**dict(info["extras"]), "seconds": 2.5}}

    monkeypatch.setattr(GuessNumber, "step", timed_step)
    Learner.start(tmp_path / "run", replace(config, steps=1)).run()
    (row,) = map(json.loads, (tmp_path / "run" / "durations.jsonl").read_text().splitlines())
    assert {seconds for turns in row["seconds"] for seconds in turns} == {2.5}
