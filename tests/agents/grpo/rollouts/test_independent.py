"""Recipes that learn from streams alone play nothing, and their logs have no means of rollouts."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.rollouts.independent import Unplayed
from palaestra.agents.grpo.run.logs import step_summary

from .conftest import ARITHMETIC  # isort: skip


def test_every_task_gets_an_empty_group_and_the_policy_is_not_asked(world):
    w = world(ARITHMETIC, "1")
    groups = Unplayed().play(w.tasks(2, 3), w.player)
    assert groups == [Group(0, ()), Group(1, ())]
    assert w.sampler.requests == []


def test_there_is_no_mean_of_nothing():
    summary = step_summary([Group(0, ())])
    assert (summary["episodes"], summary["tokens"]) == (0, 0)
    assert not {"success", "reward", "length", "solved_share", "pass@1"} & summary.keys()


def test_supervised_training_runs_and_logs_its_loss_without_rollouts(small, tmp_path):
    small.save(tmp_path / "model")
    config = TrainConfig(
        env=ARITHMETIC,
        recipe="sft",
        model=str(tmp_path / "model"),
        teacher="alp-gmm",
        warmup=WarmUp(steps=0),
        steps=8,
        prompts=4,
        lr=1e-2,
        lr_warmup=1,
        max_new_tokens=8,
        context=256,
        eval_every=0,
        final_episodes=2,
        threads=1,
        track=(),
    )
    learner = Learner.start(tmp_path / "run", config)
    assert learner.run()
    rows, proposals = (
        [json.loads(line) for line in (tmp_path / "run" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("metrics", "proposals")
    )
    assert rows[-1]["stream1/nll"] < rows[0]["stream1/nll"] - 0.2
    assert [row["episodes"] for row in rows] == [0] * 8
    assert [row["updates"] for row in rows] == [1] * 8
    assert rows[-1]["teacher/observed"] == 0
    assert {row["n"] for row in proposals} == {0}
    assert not (tmp_path / "run" / "trajectories.jsonl").exists()


@pytest.mark.parametrize("recipe", ["sft", "sequence_distillation"])
def test_what_learns_from_streams_of_tasks_does_not_play(recipe):

    assert RECIPES[recipe].rollout.name == "unplayed"
