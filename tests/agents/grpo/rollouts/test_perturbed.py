"""A second group whose prompts are reworded, and the credit that it gets for it."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import Stages
from palaestra.agents.grpo.rollouts.perturbed import PerturbedTwin
from palaestra.errors import InputError


def learner(tmp_path, steps: int = 2, **stages) -> Learner:
    config = TrainConfig(
        recipe="vogue",
        axes={"digits": 1, "terms": 2},
        warmup=WarmUp(steps=0),
        steps=steps,
        prompts=2,
        samples=3,
        max_new_tokens=4,
        eval_every=0,
        final_episodes=1,
        threads=1,
        track=(),
        stages=Stages(shaping="cosine-length", **stages),
    )
    return Learner.start(tmp_path / "run", config)


def test_every_task_is_played_again_at_first_and_none_where_the_branch_is_shut(tmp_path):
    rows = []
    for name, stages in (("open", {}), ("shut", {"rollout": "perturbed_twin(start=0.0)"})):
        assert learner(tmp_path / name, steps=1, **stages).run()
        rows.append(json.loads((tmp_path / name / "run" / "metrics.jsonl").read_text()))
    assert [row["episodes"] for row in rows] == [12, 6]


def test_the_branch_fades_out(tmp_path):
    made = learner(tmp_path, steps=4)
    made.run()
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    played = [row["episodes"] for row in rows]
    assert played[0] == 12
    assert set(played) <= {6, 9, 12}
    assert sum(played[2:]) < 24


def test_the_other_wording_is_trained_and_knows_the_first(tmp_path):
    made = learner(tmp_path, steps=1)
    made.run()
    collected = made.parts.collector.collect(1)
    *plain, one, two = collected.trainable
    assert [len(group.trajectories) for group in (*plain, one, two)] == [3, 3, 3, 3]
    for group, twin in zip(plain, (one, two), strict=True):
        shown, again = group.trajectories[0].turns[0], twin.trajectories[0].turns[0]
        assert shown.observation != again.observation
        assert shown.observation.split("Answer")[0].strip() in again.observation
        assert twin.trajectories[0].extras["twin_prompt"] == list(shown.obs_ids)
        assert twin.trajectories[0].judged
    weighted = made.parts.update.weigh(collected.trainable)
    divergence = weighted.batch.measurement("prompt_divergence")
    twins = weighted.batch.per_token(weighted.batch.group_of >= 2) & weighted.batch.action
    assert (divergence[twins] > 0).all()
    assert (divergence[~twins] == 0).all()


def test_more_rewordings_than_there_are_is_refused():
    with pytest.raises(InputError, match="changes=6 of a prompt must be at most 5"):
        PerturbedTwin(changes=6)
