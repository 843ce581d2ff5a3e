"""``palaestra bench search``: value-guided search beside best of n and majority, for as many sampled tokens.

For each family and seed a tiny model learns to write worked steps, and a process reward model with the policy's own
weights learns to tell right steps from spoilt ones. Then searches solve the same held-out tasks with the same number of
tokens a task: majority of independent answers, the best of them by the model (best of n), and trees that the model
guides. The last column is the difference to best of n in points, with a 95 % interval over the seeds.

examples:
  palaestra bench search --seeds 1 --families sums
  palaestra bench search --seeds 10 --json searches.json --markdown searches.md
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.grpo.config import TrainConfig, WarmUp
from ..agents.reward_training import RewardModelConfig
from .harness import (
    UNWATCHED,
    check_least,
    check_names,
    format_markdown,
    make_table,
    read_options,
    require,
    run_to_end,
    write_json,
)


@dataclass(frozen=True)
class Family:
    """Tasks of an environment: axes of those that are learned from, and of those that are asked."""

    env: str
    learned: Mapping[str, Any]
    asked: Mapping[str, Any]


FAMILIES = {
    "sums": Family(
        "palaestra/Arithmetic-v0",
        {"terms": (3, 6), "digits": 1, "operations": "+"},
        {"terms": (5, 7), "digits": 1, "operations": "+"},
    ),
    "equations": Family("palaestra/LinearEquation-v0", {"size": (5, 12)}, {"size": (5, 12)}),
}
BEST_OF_N = "best of n"
SEARCHES = {
    "majority": "independent(budget={budget}, value='votes')",
    BEST_OF_N: "independent(budget={budget}, value={model})",
    "beam": "beam(budget={budget}, value={model})",
    "best first": "best_first(budget={budget}, value={model})",
    "mcts": "mcts(budget={budget}, value={model})",
}
"""Name -> search, with the places of its budget and of the process reward model."""


@dataclass(frozen=True)
class SearchOptions:
    families: tuple[str, ...] = tuple(FAMILIES)
    """Families of tasks."""
    seeds: int = 10
    """Number of seeds, each with a policy and a reward model of its own."""
    tasks: int = 64
    """Held-out tasks of a seed."""
    budget: int = 240
    """Tokens that a search may sample for a task."""
    steps: int = 500
    """Steps of 32 worked solutions from which a policy learns."""
    questions: int = 1000
    """Questions with right and spoilt solutions from which a reward model learns."""
    model_steps: int = 200
    """Optimiser steps of a reward model."""
    json: Path | None = None
    """Write the figures of each seed here as JSON."""
    markdown: Path | None = None
    """Write the table here in Markdown."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = read_options(SearchOptions, "search", argv, __doc__)
    check_least(options, 1, "seeds", "tasks", "budget", "steps", "questions", "model_steps")
    check_names("family", options.families, FAMILIES)
    require("the learner", "train", "torch", "transformers", "safetensors")
    runs: list[dict[str, Any]] = []
    with Console(stderr=True).status("") as status:
        for seed in range(options.seeds):
            for family in options.families:
                with tempfile.TemporaryDirectory() as folder:
                    runs.append(run_searches(Path(folder), family, options, seed, status.update))
                write_json(options.json, runs)
    head = ("family", "search", "solved", "tokens", f"points above {BEST_OF_N}")
    rows = summarise(runs)
    Console().print(make_table(head, rows, text=2))
    if options.markdown is not None:
        options.markdown.write_text(format_markdown(head, rows) + "\n", encoding="utf-8")
    return 0


def policy_config(family: Family, seed: int, steps: int) -> TrainConfig:
    """Return the configuration of a policy that learns to write worked steps."""
    return TrainConfig(
        env=family.env,
        axes=dict(family.learned),
        prompt_form="terse",
        recipe="sft",
        seed=seed,
        steps=steps,
        prompts=32,
        teacher="random",
        lr=3e-3,
        lr_schedule="cosine",
        warmup=WarmUp(steps=0),
        max_new_tokens=64,
        max_episode_tokens=64,
        context=160,
        final_episodes=16,
        **UNWATCHED,
    )


def judge_config(family: Family, policy: Path, options: SearchOptions, seed: int) -> RewardModelConfig:
    """Return the configuration of a process reward model with a policy's weights."""
    return RewardModelConfig(
        env=family.env,
        axes=dict(family.learned),
        objective="process",
        model=str(policy),
        questions=options.questions,
        seed=seed,
        steps=options.model_steps,
        eval_every=0,
        checkpoint_every=10**6,
    )


def run_searches(
    folder: Path, name: str, options: SearchOptions, seed: int, watch: Callable[[str], None]
) -> dict[str, Any]:
    """Train a policy and a reward model, and solve held-out tasks by each search.

    Returns:
        "family", "seed", and by the names of searches "solved", the share of tasks, and "tokens", sampled for a task.
    """
    from ..agents.evaluation.evaluate import evaluate
    from ..agents.grpo.learner import Learner
    from ..agents.language.language_agent import LanguageAgent
    from ..agents.reward_training.reward_model_run import RewardModelRun
    from ..agents.search.search_agent import SearchAgent

    family, solved, tokens = FAMILIES[name], dict[str, float](), dict[str, float]()
    watch(f"seed {seed}, {name}: policy")
    run_to_end(Learner, folder / "policy", policy_config(family, seed, options.steps))
    watch(f"seed {seed}, {name}: reward model")
    run_to_end(RewardModelRun, folder / "judge", judge_config(family, folder / "policy", options, seed))
    model = f'model(model="{folder / "judge"}")'
    for search, text in SEARCHES.items():
        watch(f"seed {seed}, {name}: {search}")
        agent = SearchAgent(
            LanguageAgent(folder / "policy"), text.format(budget=options.budget, model=repr(model)), seed
        )
        report = evaluate(agent, family.env, options.tasks, seed, axes=family.asked)
        assert report.usage is not None
        solved[search], tokens[search] = report.success.mean, report.usage.completion_tokens / options.tasks
    return {"family": name, "seed": seed, "solved": solved, "tokens": tokens}


def summarise(runs: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Return a row for each family and search: mean share of solved tasks, tokens of a task, and the mean difference to
    best of n in points with its 95 % interval over seeds (Student's t)."""
    from scipy import stats

    rows = []
    for family in dict.fromkeys(run["family"] for run in runs):
        own = [run for run in runs if run["family"] == family]
        for search in own[0]["solved"]:
            shares = np.array([run["solved"][search] for run in own])
            lead = 100 * (shares - np.array([run["solved"][BEST_OF_N] for run in own]))
            wide = (
                stats.t.ppf(0.975, len(own) - 1) * lead.std(ddof=1) / math.sqrt(len(own)) if len(own) > 1 else math.nan
            )
            tokens = np.mean([run["tokens"][search] for run in own])
            interval = "" if math.isnan(wide) else f" ({lead.mean() - wide:+.0f} to {lead.mean() + wide:+.0f})"
            above = "" if search == BEST_OF_N else f"{lead.mean():+.1f}{interval}"
            rows.append((family, search, f"{shares.mean():.0%}", f"{tokens:.0f}", above))
    return rows
