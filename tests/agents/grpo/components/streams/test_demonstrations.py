"""Demonstrations against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.streams.demonstrations import Oracle, TeacherModel
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.errors import InputError

from .supplies import answer, play, supply, tasks


def test_the_oracle_shows_each_task_of_the_step():
    drawn = Oracle().draw(supply(tasks=tasks(3, 5)))
    assert [g.trajectories[0].params for g in drawn] == [{"n": 3}, {"n": 5}]


def test_demonstrations_are_a_teachers_without_behaviour():
    batch = collate(Oracle().draw(supply(tasks=tasks(3, 5))))
    assert batch.written_by(Origin.TEACHER).sum() == batch.action.sum() == 4
    assert (batch.logp_mu == 0).all()
    assert all(t.version == -1 for t in batch.trajectories)


def test_the_oracle_can_show_other_tasks():
    drawn = Oracle(tasks="uniform", count=5).draw(supply(tasks=tasks(3)))
    assert len(drawn) == 5
    assert len({g.trajectories[0].params["n"] for g in drawn}) > 1


def test_what_the_machinery_lost_is_no_demonstration():
    lost = supply(tasks=tasks(3), demonstrate=lambda tasks: [replace(answer(1.0, 3), valid=False)])
    assert Oracle().draw(lost) == []


def test_what_the_verifier_refuses_is_no_demonstration():
    cut = supply(tasks=tasks(3), demonstrate=lambda tasks: [answer(0.0, 3)])
    assert Oracle().draw(cut) == []


def test_a_run_imitates_worked_solutions_that_exceed_the_policys_budget(tmp_path):
    config = TrainConfig(
        env="palaestra/WordProblem-v0",
        axes={"steps": 4},
        recipe="sft",
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=2,
        samples=2,
        max_new_tokens=8,
        threads=1,
        track=(),
    )
    learner = Learner.start(tmp_path / "run", config)
    learner._prepare()
    (drawn,) = learner.parts.collector.draw(1, learner.parts.collector.collect(1).played)
    assert len(drawn) == 2
    for shown in (g.trajectories[0].turns[0] for g in drawn):
        *steps, answer_line = shown.action.splitlines()
        assert [step.count("=") for step in steps] == [1] * 4
        assert steps[-1].endswith(answer_line)
        assert shown.finish == "stop"


def test_a_larger_model_plays_the_tasks():
    drawn = TeacherModel(samples=3, correct=True).draw(supply(tasks=tasks(3, 4), play_teacher=play))
    assert [len(g.trajectories) for g in drawn] == [1, 3]
    assert collate(drawn).written_by(Origin.TEACHER).sum() == 8


def test_without_a_model_to_distil_from_the_run_is_refused():
    with pytest.raises(InputError, match="pass teacher_model"):
        TeacherModel().draw(supply(tasks=tasks(3)))
