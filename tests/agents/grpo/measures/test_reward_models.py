"""A reward model that learns from the run's own successes and failures."""

from __future__ import annotations

import json
from dataclasses import replace

from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.measures.reward_models import ScoresOfRewardModel
from palaestra.rewards.models import RewardModel

from ..conftest import trajectory  # isort: skip


def batch() -> list[Group]:
    rows = [trajectory(reward, [([5], [7])], texts=[text]) for reward, text in ((1.0, "good word"), (0.0, "bad thing"))]
    return [Group(0, tuple(replace(row, task_id=str(task)) for row in rows)) for task in range(4)]


def scores(model: ScoresOfRewardModel) -> tuple[float, float]:
    good, bad = model(batch(), None)[0]  # type: ignore[arg-type]
    return good["reward_model_score"], bad["reward_model_score"]


def test_it_comes_to_prefer_what_succeeds_and_goes_on_after_a_resume():
    model, twin = ScoresOfRewardModel(epochs=20), ScoresOfRewardModel(epochs=20)
    first = scores(model)
    twin.load_state_dict(json.loads(json.dumps(model.state_dict())))
    good, bad = scores(model)
    assert good - bad > first[0] - first[1] + 0.1
    assert scores(twin) == (good, bad)
    assert scores(twin) == scores(model)


def test_a_model_from_a_file_stays_as_it_is(tmp_path):
    RewardModel(seed=0).save(tmp_path / "model.safetensors")
    model = ScoresOfRewardModel(model=str(tmp_path / "model.safetensors"))
    assert scores(model) == scores(model)
    assert model.state_dict() == {}
