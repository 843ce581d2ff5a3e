"""The trial of lm_eval, in an environment that has it: ``python lm_eval_trial.py FOLDER ADDRESS TASK TASK``.

What ``lm_eval --include_path FOLDER --tasks TASK,TASK --model local-chat-completions`` does, without the index of the
thousands of tasks that come with lm_eval, which would take most of the time. Prints the results as a line of JSON.
"""

from __future__ import annotations

import json
import sys

from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

if __name__ == "__main__":
    folder, address, *tasks = sys.argv[1:]
    found = simple_evaluate(
        model="local-chat-completions",
        model_args={"model": "solver", "base_url": address, "max_retries": 1},
        tasks=tasks,
        task_manager=TaskManager(include_path=folder, include_defaults=False),
        apply_chat_template=True,
    )
    print(json.dumps(found["results"]))
