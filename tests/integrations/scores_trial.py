"""Scores that lm_eval and Inspect give to recorded replies, in an environment that has both: ``python scores_trial.py
FOLDER``. FOLDER has gsm8k.jsonl and mmlu.jsonl, data sets in those layouts whose rows have a "reply" besides. Prints a
line of JSON: rule -> one true or false for each row. Tasks and scorers are those projects' own, with the files in place
of the hub.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import lm_eval
import yaml
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice
from lm_eval import simple_evaluate
from lm_eval.api.model import LM
from lm_eval.api.task import ConfigurableTask

LM_EVAL_TASKS = {
    "gsm8k": ("gsm8k/gsm8k.yaml", "gsm8k"),
    "mmlu first line": ("mmlu/generative/_default_template_yaml", "mmlu"),
    "mmlu reasoning": ("mmlu/flan_cot_zeroshot/_mmlu_flan_cot_zeroshot_template_yaml", "mmlu"),
}


class Recorded(LM):
    """A model that replies what was recorded, up to the words at which a task stops."""

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        replies = []
        for request in requests:
            reply = request.doc["reply"]
            for word in request.args[1]["until"]:
                reply = reply.partition(word)[0]
            replies.append(reply)
        return replies

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        raise NotImplementedError


def score_by_lm_eval(folder: Path) -> dict[str, list[bool]]:
    found = {}
    for name, (place, file) in LM_EVAL_TASKS.items():
        config = yaml.safe_load((Path(lm_eval.__file__).parent / "tasks" / place).read_text(encoding="utf-8"))
        for left_out in (
            "tag",
            "dataset_name",
            "training_split",
            "validation_split",
            "fewshot_split",
            "fewshot_config",
        ):
            config.pop(left_out, None)
        data = {"data_files": {"test": str(folder / f"{file}.jsonl")}}
        config |= {"task": name, "dataset_path": "json", "dataset_kwargs": data, "test_split": "test", "num_fewshot": 0}
        outcome = simple_evaluate(model=Recorded(), tasks=[ConfigurableTask(config=config)], bootstrap_iters=0)
        for sample in sorted(outcome["samples"][name], key=lambda sample: sample["doc_id"]):
            found.setdefault(f"lm_eval {name}, {sample['filter']}", []).append(bool(sample["exact_match"] == 1.0))
    return found


def score_by_inspect(folder: Path) -> dict[str, list[bool]]:
    numbers, options, replies = [], [], []
    for line in (folder / "gsm8k.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        numbers.append(Sample(input=row["question"], target=row["answer"].rpartition("####")[2].strip()))
        replies.append(row["reply"])
    for line in (folder / "mmlu.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        options.append(Sample(input=row["question"], choices=row["choices"], target="ABCD"[row["answer"]]))
        replies.append(row["reply"])
    outputs = [ModelOutput.from_content("mockllm/model", reply) for reply in replies]
    for output in outputs:
        output.usage = ModelUsage()  # else tokens are counted, by a tokenizer that is downloaded
    found = {}
    for name, samples, solver, scorer in (
        ("gsm8k", numbers, generate(), match(numeric=True)),
        ("mmlu", options, multiple_choice(), choice()),
    ):
        own, outputs = outputs[: len(samples)], outputs[len(samples) :]
        model = get_model("mockllm/model", custom_outputs=own)
        task = Task(dataset=samples, solver=solver, scorer=scorer)
        (log,) = eval(task, model, max_samples=1, max_connections=1, display="none", log_dir=str(folder / "logs"))
        assert log.status == "success", log.error
        verdicts = [sample.scores[scorer_name].value == "C" for sample in log.samples for scorer_name in sample.scores]
        found[f"inspect {name}"] = verdicts
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    print(json.dumps(score_by_lm_eval(folder) | score_by_inspect(folder)))
