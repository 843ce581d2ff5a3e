"""Answers of a run's policy and of its initial model to the same held-out tasks."""

from __future__ import annotations

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym

from ...agents.atomic import write_atomically
from ...agents.evaluation import evaluate
from ...agents.evaluation.environment_spec import environment_spec
from ...agents.evaluation.episodes import EpisodePlan
from ...agents.grpo.config import TrainConfig
from ...agents.grpo.run.folder import RunFolder
from ...agents.language.language_agent import LanguageAgent
from ...agents.prompt_form import add_prompt_form
from ..harness import read_lines

SEED = 7
"""Seed of the tasks, different from the seed of the run's own evaluations."""


def compare_answers(run: Path, tasks: int) -> list[dict[str, Any]]:
    """Play held-out tasks greedily with the initial model of a run and with its newest checkpoint.

    Returns:
        One row per task with "question" (the first observation, without worked examples), "reference" (None if the
        environment tells none), "before" and "after"; the last two have "actions", the texts of the turns, and
        "success".
    """
    _, config = RunFolder.reopen(run)
    assert isinstance(config, TrainConfig)
    limits = {"max_new_tokens": config.max_new_tokens, "max_episode_tokens": config.max_episode_tokens}
    shared: dict[str, Any] = {**limits, "context": config.context, "system": config.system, "temperature": 0.0}
    shared["chat_options"] = config.chat_options
    played = []
    for model in (config.model, run):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "episodes.jsonl"
            evaluate(
                LanguageAgent(model, **shared),
                config.envs[0],
                tasks,
                SEED,
                axes=config.axes,
                env_kwargs=config.env_options,
                history=config.history,
                shots=config.shots,
                out=out,
            )
            played.append(read_lines(out))
    name = config.envs[0]
    options = add_prompt_form(environment_spec(name), config.env_options, config.prompt_form)
    with closing(gym.make(name, disable_env_checker=True, split="test", **options)) as env:
        plan = EpisodePlan(env, name, tasks, SEED, None, config.axes)
        drawn = [plan.begin(index) for index in range(tasks)]
        questions = [env.reset(seed=record.seed, options=own)[0] for record, own in drawn]
    rows = []
    for question, *sides in zip(questions, *played, strict=True):
        before, after = (
            {"actions": [turn["action"] for turn in one["turns"]], "success": one["is_success"]} for one in sides
        )
        reference = sides[0].get("reference")
        rows.append({"question": question, "reference": reference, "before": before, "after": after})
    return rows


def keep_answers(run: Path, tasks: int) -> list[dict[str, Any]]:
    """Compare answers by `compare_answers` once; later calls read them from answers.json in the run's folder."""
    place = run / "answers.json"
    if place.is_file() and len(kept := json.loads(place.read_text(encoding="utf-8"))) >= tasks:
        return kept[:tasks]
    rows = compare_answers(run, tasks)
    write_atomically(place, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    return rows
