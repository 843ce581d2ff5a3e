"""Preference pairs by rule: what they hold, and that a training step on them prefers the right turn."""

from __future__ import annotations

import json
import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.learner import Learner
from palaestra.errors import InputError
from palaestra.scripts import train

LINE = (
    "--rollout rule_pairs --steps 1 --lr 1e-3 --lr-warmup 1 --warmup.steps 0 --teacher random --final-episodes 1 "
    "--eval-every 0 --threads 1 --prompts 2 --samples 4 --patience.no-signal 0 --track"
)


@pytest.fixture
def start(small, tmp_path):
    small.save(tmp_path / "model")

    def make(recipe: str, env: str = "palaestra/TutorDialogue-v0 --axis steps=2 doubts=1") -> Learner:
        line = f"{env} --recipe {recipe} --model {tmp_path / 'model'} {LINE}"
        return Learner.start(tmp_path / "run", train.read_config(line.split()))

    return make


def gaps(learner: Learner, groups) -> list[float]:
    """For each pair, log pi of the right turn minus that of the worse one."""
    batch = collate(groups)
    trained = batch.written_by(Origin.TEACHER)
    with torch.no_grad():
        logps = batch.sum_by_episode(Passes().measure(learner.language.model, batch).logp * trained)
    return (logps[::2] - logps[1::2]).tolist()


def test_a_pair_differs_in_its_last_turn_alone(start):
    learner = start("dpo")
    learner._prepare()
    groups = learner.parts.collector.collect(1).groups
    assert len(groups) == 4
    assert sum(group.proposal >= 0 for group in groups) == 2
    for chosen, rejected in (group.trajectories for group in groups):
        *before, right = chosen.turns
        *same, worse = rejected.turns
        assert before == same
        assert right.obs_ids == worse.obs_ids
        assert right.action.split()[0] in ("praise", "hint", "question")
        assert worse.action.split()[0] == "answer"
        assert learner.language.renderer.action(worse.act_ids) == worse.action
        assert (chosen.outcome, rejected.outcome) == (1.0, 0.0)
        assert {o for turn in before for o in turn.token_origins} <= {Origin.HINT}
        assert set(right.token_origins) == set(worse.token_origins) == {Origin.TEACHER}


@pytest.mark.parametrize("recipe", ["dpo", "ipo_pairs", "kto"])
def test_a_step_raises_the_right_turn_above_the_one_that_tells(start, recipe):
    learner = start(recipe)
    learner._prepare()
    groups = learner.parts.collector.collect(1).groups
    before = gaps(learner, groups)
    learner.run()
    (row,) = (learner.folder.path / "metrics.jsonl").read_text().splitlines()
    # Where policy and reference agree: ln 2, 1 / (4 beta^2), and 1/2 of each desirable and undesirable turn.
    wanted = {"dpo": math.log(2), "ipo_pairs": 25.0, "kto": -0.5}[recipe]
    assert json.loads(row)["loss"] == pytest.approx(wanted, rel=1e-4)
    assert sum(gaps(learner, groups)) > sum(before)


def test_an_environment_without_such_rules_is_refused_before_anything_is_loaded(start):
    with pytest.raises(InputError, match="worse_actions"):
        start("dpo", "palaestra/Arithmetic-v0")
