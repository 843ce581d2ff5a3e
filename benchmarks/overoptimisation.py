"""``palaestra bench overoptimisation``: the true reward of a policy that is trained against a reward model.

A tiny model is warmed up on sums, a reward model is trained on its right and wrong answers, and GRPO goes on with the
reward model's score as the only reward. The verifier's verdict on the same answers is written down beside it. Both rise
at first; where the true reward falls while the score still rises, the policy exploits the model (Gao et al., arXiv
2210.10760). Ensembles are combined as in arXiv 2310.02743; a renewed model is trained again on the policy's own newest
answers, twice in a run.

examples:
  palaestra bench overoptimisation
  palaestra bench overoptimisation --only one worst-of-four --seeds 1 --steps 200 --figure curve.svg
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..agents.grpo.config import TrainConfig, WarmUp
from ..agents.grpo.recipes import StageOverrides
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

ENV, AXES = "palaestra/Arithmetic-v0", {"digits": 1, "terms": 2}
VARIANTS: dict[str, dict[str, Any]] = {
    "one": {},
    "mean-of-four": {"members": 4},
    "worst-of-four": {"members": 4, "combine": "worst"},
    "renewed": {"segments": 3},
}
"""Variant -> number of models, their combination, and number of reward models one after another."""
_KL = 1e-6  # coefficient of a penalty that only measures the divergence


@dataclass(frozen=True)
class OveroptimisationOptions:
    only: tuple[str, ...] = ()
    """Variants to try; all by default."""
    seeds: int = 3
    """Number of seeds, of policy and reward model alike."""
    steps: int = 300
    """Steps of GRPO against a reward model."""
    questions: int = 200
    """Questions whose answers the reward model is trained on."""
    model_steps: int = 200
    """Optimiser steps of a reward model."""
    model: str = "policy"
    """Model with the reward's head: policy (the warmed-up policy's weights), ngrams, or tiny (new weights)."""
    start: float = 0.4
    """Share of right answers at which the policy's warm-up ends."""
    window: int = 10
    """Steps over which curves are averaged."""
    json: Path | None = None
    """Write the curves here as JSON."""
    markdown: Path | None = None
    """Write the table here in Markdown."""
    figure: Path | None = None
    """Draw the curves here."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    from rich.console import Console

    options = read_options(OveroptimisationOptions, "overoptimisation", argv, __doc__)
    check_least(options, 1, "seeds", "steps", "questions", "model_steps", "window")
    check_names("variant", options.only, VARIANTS)
    require("the learner", "train", "torch", "transformers", "safetensors")
    runs: list[dict[str, Any]] = []
    with Console(stderr=True).status("") as status:
        for seed in range(options.seeds):
            with tempfile.TemporaryDirectory() as folder:
                runs += run_variants(Path(folder), options, seed, status.update)
            write_json(options.json, runs)
    rows = summarise(runs, options.window)
    head = ("reward", "true, start", "highest", "at step", "at KL", "end", "score, start", "end")
    Console().print(make_table(head, rows, text=1))
    if options.markdown is not None:
        options.markdown.write_text(format_markdown(head, rows) + "\n", encoding="utf-8")
    if options.figure is not None:
        draw(runs, options.window, options.figure)
    return 0


def policy_config(model: str, seed: int, steps: int, start: float, shaping: str | None) -> TrainConfig:
    """Return the configuration of a policy: of its warm-up for "tiny", else of its training from a run's folder."""
    return TrainConfig(
        env=ENV,
        axes=AXES,
        prompt_form="terse",
        model=model,
        seed=seed,
        steps=steps,
        teacher="random",
        stages=StageOverrides(shaping=shaping, regularisers=f"kl_k3(coefficient={_KL})"),
        warmup=WarmUp(target=start) if model == "tiny" else WarmUp(steps=0),
        max_new_tokens=8,
        max_episode_tokens=8,
        context=128,
        final_episodes=64,
        **UNWATCHED,
    )


def run_variants(
    folder: Path, options: OveroptimisationOptions, seed: int, watch: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Warm one policy up, and train it against the reward models of each variant.

    Returns:
        for each variant "variant", "seed", "accuracy" of the reward models on held-out answers, and per step "true",
        "proxy" and "kl" in nats a token (None where the reference is a later policy than the first).
    """
    from ..agents.grpo.learner import Learner
    from ..agents.reward_training.reward_model_run import RewardModelRun

    watch(f"seed {seed}: warm-up")
    run_to_end(Learner, folder / "policy", policy_config("tiny", seed, 0, options.start, None))
    found = []
    for variant in options.only or VARIANTS:
        how = {"members": 1, "combine": "mean", "segments": 1, **VARIANTS[variant]}
        row: dict[str, Any] = {"variant": variant, "seed": seed, "accuracy": [], "true": [], "proxy": [], "kl": []}
        policy, answers = folder / "policy", list[str]()
        for segment in range(how["segments"]):
            watch(f"seed {seed}: {variant}, part {segment + 1} of {how['segments']}")
            name = f"{variant}-{segment}"
            judge = run_to_end(
                RewardModelRun, folder / f"judge-{name}", judge_config(policy, options, seed, how["members"])
            )
            answers.append(str(judge.folder.path / "attempts-train.jsonl"))
            if segment:  # all answers so far, the earlier policies' too
                config = dataclasses.replace(judge.config, pairs=tuple(answers))
                judge = run_to_end(RewardModelRun, folder / f"joint-{name}", config)
            row["accuracy"].append(json.loads(last_line(judge.folder.path / "evaluations.jsonl"))["success"])
            place, combine = str(judge.folder.path), how["combine"]
            shaping = f"reward-model(model={place!r}, combine={combine!r}, alone=true)"
            config = policy_config(str(policy), seed, options.steps // how["segments"], options.start, shaping)
            run = run_to_end(Learner, folder / name, config)
            policy = run.folder.path
            for step in run.folder.read("metrics", 1, config.steps):
                row["true"].append(step["success"])
                row["proxy"].append(step["shaping/reward-model"])
                row["kl"].append(None if segment else step.get("kl"))
        found.append(row)
    return found


def judge_config(policy: Path, options: OveroptimisationOptions, seed: int, members: int) -> RewardModelConfig:
    """Return the configuration of a reward model that learns from a policy's answers."""
    return RewardModelConfig(
        env=ENV,
        axes=AXES,
        prompt_form="terse",
        player=str(policy),
        questions=options.questions,
        held_out=0.25,
        model=str(policy) if options.model == "policy" else options.model,
        members=members,
        seed=seed,
        steps=options.model_steps,
        eval_every=0,
        checkpoint_every=10**6,
    )


def last_line(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[-1]


def smooth(values: Sequence[float | None], window: int) -> np.ndarray:
    """Return means over windows of ``window`` steps that do not overlap; NaN for unknown values."""
    array = np.array([np.nan if value is None else value for value in values], float)
    window = min(window, len(array))
    return array[: len(array) // window * window].reshape(-1, window).mean(1)


def summarise(runs: Sequence[Mapping[str, Any]], window: int) -> list[tuple[str, ...]]:
    """Return a row for each variant: means over the seeds of the true reward at the start, at its highest and at the
    end, of the step and the KL divergence of the highest, and of the score at the start and at the end."""
    rows = []
    for variant in dict.fromkeys(run["variant"] for run in runs):
        cells = []
        for run in (run for run in runs if run["variant"] == variant):
            true, proxy, kl = (smooth(run[name], window) for name in ("true", "proxy", "kl"))
            best = int(true.argmax())
            cells.append((true[0], true[best], (best + 0.5) * window, kl[best], true[-1], proxy[0], proxy[-1]))
        means = np.mean(cells, axis=0)
        formats = ("{:.0%}", "{:.0%}", "{:.0f}", "{:.2f}", "{:.0%}", "{:.2f}", "{:.2f}")
        rows.append((variant, *("" if np.isnan(x) else f.format(x) for f, x in zip(formats, means))))
    return rows


def draw(runs: Sequence[Mapping[str, Any]], window: int, path: Path) -> None:
    """Draw true reward and score over the steps, a panel for each variant, with a thin line for each seed."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(run["variant"] for run in runs))
    figure = Figure(figsize=(3.2 * len(names), 2.8))
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names):
        for curve, label, colour in (("proxy", "score of the reward model", "#b8c4ce"), ("true", "true", "#1f6f8b")):
            lines = [smooth(run[curve], window) for run in runs if run["variant"] == name]
            steps = (np.arange(len(lines[0])) + 0.5) * window
            for line in lines:
                panel.plot(steps, line, color=colour, linewidth=0.6, alpha=0.6)
            panel.plot(steps, np.mean(lines, axis=0), color=colour, linewidth=2, label=label)
        panel.set(title=name, xlabel="step", ylim=(0, 1))
    panels[0].set_ylabel("reward")
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, bbox_inches="tight")
