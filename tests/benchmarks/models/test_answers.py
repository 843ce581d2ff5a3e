"""Answers before and after a run, on a small model."""

from __future__ import annotations

import json

from palaestra.agents.grpo.learner import Learner
from palaestra.benchmarks.models import answers
from palaestra.benchmarks.models.answers import keep_answers
from palaestra.scripts.train import read_config


def test_both_sides_answer_the_same_held_out_tasks_once(small, tmp_path, monkeypatch):
    small.save(tmp_path / "model")
    task = "palaestra/Arithmetic-v0 --axis digits=1 terms=2 operations=+- --max-new-tokens 4 --shots 2"
    words = f"{task} --model {tmp_path / 'model'}"
    usual = "--warmup.steps 0 --teacher random --steps 1 --prompts 1 --samples 2 --final-episodes 1 --track --threads 1"
    learner = Learner.start(tmp_path / "run", read_config(f"{words} {usual}".split()))
    learner.run()
    learner.close()
    play, shots = answers.evaluate, []
    monkeypatch.setattr(
        answers, "evaluate", lambda *args, **given: shots.append(given["shots"]) or play(*args, **given)
    )
    rows = keep_answers(tmp_path / "run", 3)
    assert shots == [2, 2]
    assert len({row["question"] for row in rows}) == 3
    assert all(row["question"].count("?") == 1 for row in rows)
    for row in rows:
        assert int(row["reference"]) == eval(row["question"].partition("=")[0])
        assert {len(row[side]["actions"]) for side in ("before", "after")} == {1}
    kept = tmp_path / "run" / "answers.json"
    kept.write_text(json.dumps([*rows[:2], {"question": "kept"}]))
    assert keep_answers(tmp_path / "run", 3)[2] == {"question": "kept"}
