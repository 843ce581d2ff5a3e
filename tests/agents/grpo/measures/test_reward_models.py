"""A reward model that learns from the run's own successes and failures."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.trajectory import Group
from palaestra.agents.grpo.measures.reward_models import ScoresOfRewardModel
from palaestra.errors import InputError
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


def answers(*rows: tuple[str, bool]) -> list[Group]:
    """Make a task for each answer, whose reference is 12."""
    made = [trajectory(float(right), [([5], [7])], texts=[text]) for text, right in rows]
    known = [replace(row, extras={**row.extras, "reference": "12"}, task_id=str(n)) for n, row in enumerate(made)]
    return [Group(0, (row,)) for row in known]


def score_of(model: ScoresOfRewardModel, *rows: tuple[str, bool]) -> list[float]:
    return [found["reward_model_score"] for (found,) in model(answers(*rows), None)]  # type: ignore[arg-type]


def test_corrupted_copies_teach_a_verifier_that_sees_the_reference():
    model = ScoresOfRewardModel(corrupted=True, referenced=True, objective="pointwise", epochs=20)
    before = score_of(model, ("I say 12", False), ("Trust me: 77", False))
    for _ in range(4):
        score_of(model, ("So it is 12", True), ("We get 12", True), ("12", True), ("Thus 12", True))
    right, exploit = score_of(model, ("I say 12", False), ("Trust me: 77", False))
    assert right - exploit > before[0] - before[1] + 0.5
    assert right > 0 > exploit


def test_without_a_success_nothing_is_learned_from_corrupted_copies():
    model = ScoresOfRewardModel(corrupted=True, referenced=True)
    weights = json.dumps(model.state_dict())
    score_of(model, ("13", False), ("14", False))
    assert json.dumps(model.state_dict()) == weights


def test_a_verifier_needs_a_reference():
    with pytest.raises(InputError, match="supplies the reference answer"):
        ScoresOfRewardModel(referenced=True)(batch(), None)  # type: ignore[arg-type]
