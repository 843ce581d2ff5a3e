"""Paths of a configuration are found from any working directory."""

from __future__ import annotations

from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.recipes.recipe import StageOverrides
from palaestra.agents.grpo.run.full_paths import with_absolute_paths
from palaestra.agents.students.student_config import QConfig


def test_what_is_there_gets_its_full_path_and_all_else_stays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("base", "tiny", "judges/small"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "questions.jsonl").touch()
    config = TrainConfig(
        model="base",
        teacher_model="judges/small",
        env_options={"source": "questions.jsonl", "GSM8K.source": "openai/gsm8k", "mode": "base", "keep": 3},
        engine_options={"extra": {"draft": ["judges/small", None]}},
        stages=StageOverrides(
            shaping="overlong(cache=16) + reward-model(model='judges/small')", surrogate="clip(low=0.2)"
        ),
    )
    found = with_absolute_paths(config)
    assert (found.model, found.teacher_model) == (str(tmp_path / "base"), str(tmp_path / "judges/small"))
    source = str(tmp_path / "questions.jsonl")
    assert found.env_options == {"source": source, "GSM8K.source": "openai/gsm8k", "mode": "base", "keep": 3}
    assert found.engine_options == {"extra": {"draft": [str(tmp_path / "judges/small"), None]}}
    place = str(tmp_path / "judges/small")
    assert found.stages.shaping == f"overlong(cache=16) + reward-model(model={place!r})"
    assert found.stages.surrogate == "clip(low=0.2)"
    assert with_absolute_paths(found) == found
    assert with_absolute_paths(TrainConfig()).model == "tiny"


def test_of_students_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "levels.json").touch()
    found = with_absolute_paths(QConfig(env_options={"levels": "levels.json"}, bonus=("count(weight=0.02)",)))
    assert found.env_options == {"levels": str(tmp_path / "levels.json")}
    assert found.bonus == ("count(weight=0.02)",)
