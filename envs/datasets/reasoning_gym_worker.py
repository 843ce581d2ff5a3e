"""The worker process of palaestra/ReasoningGym-v0, which makes tasks and scores answers with Reasoning Gym.

The library's scorers evaluate text, and its generators may use global random generators and the order of sets. A
process with limits and a fixed hash seed makes both harmless, and gives the same tasks everywhere.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import random
from typing import Any

# Data sets with one answer whose scorer accepts any text that is not empty: answers are compared as text.
BY_TEXT = ("game_of_life_halting",)
# Metadata keys of an example answer, in data sets without a single gold answer.
EXAMPLES = ("example_correct_answer", "example_answer", "possible_answer")
# The last data set and its task, keyed by the job that made them.
_LAST: dict[str, tuple[Any, Any]] = {}


def answer_job(job: dict[str, Any]) -> Any:
    """Run a job and return its result.

    Args:
        job: ``do`` is "names" (all data sets), "levels" (the highest level of ``name``'s curriculum, None without one),
            "task" (question and gold answer for ``name``, ``config``, ``level``, ``seed``) or "score" (the score of
            ``answer`` for the task with these values).
    """
    from reasoning_gym.factory import DATASETS, create_curriculum, has_curriculum

    # Importing the package fills the list of data sets.
    importlib.import_module("reasoning_gym")
    if job["do"] == "names":
        return sorted(DATASETS)
    if job["do"] == "levels":
        if not has_curriculum(job["name"]):
            return None
        attributes = create_curriculum(job["name"]).attributes.values()
        return max((len(attribute.levels) - 1 for attribute in attributes), default=0)
    dataset, entry = _make_task(job)
    if job["do"] == "score":
        return float(dataset.score_answer(job["answer"], entry))
    from reasoning_gym.dataset import ProceduralDataset

    metadata = entry["metadata"]
    by_text = type(dataset).score_answer is ProceduralDataset.score_answer or job["name"] in BY_TEXT
    return {
        "question": entry["question"],
        "answer": str(entry["answer"]) if by_text else _find_gold_answer(dataset, entry),
        "by_text": by_text,
        "numbers": metadata.get("numbers") if job["name"] in ("countdown", "puzzle24") else None,
        "target": metadata.get("target", 24),
    }


def _find_gold_answer(dataset: Any, entry: Any) -> str | None:
    """Return an answer to which the data set's scorer gives full marks; None if the entry has none."""
    for holder, key in ((entry, "answer"), *((entry["metadata"], key) for key in EXAMPLES)):
        example = holder.get(key)
        if example is None:
            continue
        text = example if isinstance(example, str) else json.dumps(example)
        if dataset.score_answer(text, entry) >= 1.0:
            return text
    return None


def _make_task(job: dict[str, Any]) -> tuple[Any, Any]:
    import numpy as np
    from reasoning_gym.factory import DATASETS, create_curriculum

    key = repr([job[part] for part in ("name", "config", "level", "seed")])
    if key not in _LAST:
        config_class = DATASETS[job["name"]][1]
        # Seed every generator that a data set may use with the seed of the task.
        random.seed(job["seed"])
        np.random.seed(job["seed"] % 2**32)  # noqa: NPY002
        if job["level"] is None:
            config = config_class(**job["config"])
        else:
            curriculum = create_curriculum(job["name"])
            curriculum.set_global_level(job["level"])
            config = dataclasses.replace(curriculum.generate_configuration(), **job["config"])
        fields = {field.name for field in dataclasses.fields(config)}
        config = dataclasses.replace(config, **{k: v for k, v in (("seed", job["seed"]), ("size", 1)) if k in fields})
        dataset = DATASETS[job["name"]][0](config)
        _LAST.clear()
        _LAST[key] = (dataset, dataset[0])
    return _LAST[key]
