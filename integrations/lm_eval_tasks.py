"""Question environments as tasks of lm-evaluation-harness (lm_eval), as a folder for its ``--include_path``.

    palaestra dataset palaestra/Countdown-v0 --n 500 --test 500 --lm-eval --out countdown
    lm_eval --include_path countdown --tasks palaestra_countdown --apply_chat_template \
        --model local-chat-completions --model_args model=NAME,base_url=http://127.0.0.1:8000/v1/chat/completions

The folder is a data set (see `datasets`) with a task's YAML file and a small Python file that calls `load` and `score`
of this module. The test split is evaluated. Metrics: valid, the share of answers that could be judged; and the means of
success, reward and progress over the judged answers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .core import TextEpisode, has_one_answer, make_text_env

METRICS = ("success", "reward", "progress", "valid")
_FUNCTIONS = '''"""Written by palaestra dataset --lm-eval, for the YAML file beside it."""

from pathlib import Path

from palaestra.integrations import lm_eval_tasks


def load(**metadata):
    return lm_eval_tasks.load(Path(__file__).parent)


def score(doc, results):
    return lm_eval_tasks.score(doc, results)
'''


def name_of(env_id: str) -> str:
    """Return the task's name in lm_eval: palaestra_countdown for palaestra/Countdown-v0."""
    plain = re.sub(r"-v0$", "", env_id.rpartition(":")[2])
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", plain).lower()


def check_question(env_id: str, kwargs: Mapping[str, Any]) -> None:
    """Raise InputError if an episode of the environment has several turns."""
    with make_text_env(env_id, kwargs) as env:
        if not has_one_answer(env):
            raise InputError(
                f"an episode of {env_id} has several turns, which lm_eval cannot play; use Inspect for it."
            )


def write_task(folder: Path, env_id: str) -> None:
    """Write the task's YAML and Python files into the folder of a data set."""
    metrics = "".join(f"  - metric: {name}\n    aggregation: mean\n    higher_is_better: true\n" for name in METRICS)
    name = name_of(env_id)
    # Answers are read whole: lm_eval would cut them at a blank line.
    text = f"""task: {name}
custom_dataset: !function {name}_functions.load
test_split: test
output_type: generate_until
doc_to_text: prompt
doc_to_target: answer
process_results: !function {name}_functions.score
generation_kwargs:
  until: []
  do_sample: false
  max_gen_toks: 2048
metric_list:
{metrics}metadata:
  version: 1.0
"""
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / f"{name}_functions.py").write_text(_FUNCTIONS, encoding="utf-8")


def load(folder: Path) -> dict[str, Any]:
    """Read the test split in the folder, in the form that lm_eval requires: {"test": data set}."""
    from datasets import Dataset

    return {"test": Dataset.from_parquet(str(folder / "test.parquet"))}


def score(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """Judge the answer to a row and return its metrics. An answer that could not be judged gets only valid=0, so that
    it enters no other mean."""
    episode = TextEpisode()
    try:
        episode.begin(doc)
        episode.act(results[0] or "")
        result = episode.result()
    finally:
        episode.close()
    if not result.reward_valid:
        return {"valid": 0.0}
    found = {"reward": result.reward, "progress": result.progress, "valid": 1.0}
    return found if result.is_success is None else {"success": float(result.is_success), **found}
