"""A study of AgentLab on our benchmark: its generic agent with two models of a scripted endpoint; one line of JSON for
each episode."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import Any


def play(folder: Path, benchmark: dict[str, Any]) -> None:
    """Play the tasks of ``make_benchmark(*ids, **arguments)`` with the models "solver" and "idle"."""
    from agentlab.agents.generic_agent import AGENT_4o_MINI  # pyright: ignore[reportMissingImports]
    from agentlab.experiments.study import Study  # pyright: ignore[reportMissingImports]
    from palaestra.integrations import browsergym_tasks

    browsergym_tasks.use_chromium()
    agents = []
    for name in ("solver", "idle"):
        agent = copy.deepcopy(AGENT_4o_MINI)
        agent.chat_model_args.model_name = agent.agent_name = name
        agents.append(agent)
    made = browsergym_tasks.make_benchmark(*benchmark.pop("ids"), **benchmark)
    study = Study(agents, made, logging_level_stdout=40)
    study.make_dir(folder)
    study.run(n_jobs=1, parallel_backend="sequential", n_relaunch=1)
    results, *_ = study.get_results(also_save=False)
    for _, row in results.reset_index().iterrows():
        told = {name: row[name] for name in ("env.task_name", "agent.chat_model.model_name", "cum_reward")}
        ends = {name: bool(row[name]) for name in ("terminated", "truncated")}
        print(json.dumps({**told, **ends, "steps": int(row["n_steps"]), "error": row["err_msg"]}), flush=True)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    # AgentLab imports BrowserGym's WebArena, which asks nltk for data that nothing here uses.
    (home / "nltk" / "tokenizers" / "punkt_tab").mkdir(parents=True)
    # Tokens of prompts are counted by the vocabulary in litellm's package, in place of one to be downloaded.
    litellm = Path(str(importlib.metadata.distribution("litellm").locate_file("litellm")))
    os.environ |= {
        "NLTK_DATA": str(home / "nltk"),
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "TIKTOKEN_CACHE_DIR": str(litellm / "litellm_core_utils" / "tokenizers"),
        "AGENTLAB_EXP_ROOT": str(home / "results"),
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": sys.argv[2],
    }
    play(home, json.loads(sys.argv[3]))
