"""Rows of the GPU benchmark that are runs of ``palaestra train``, with evaluation, checkpoints and a resume.

The model has random weights and ends its answers with a constant probability, so that their lengths are geometric. The
reward is the share of lower-case letters, which is almost never equal within a group.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs import Game, IntAxis, ParamSpace, Transition
from ...errors import MissingExtra
from ..harness import read_lines
from ..learner.our_side import ENV, LETTERS, register_task, stop_after, widen_tokenizer
from ..learner.trl_side import lower_case_share
from .setup import GAP_HALF, GAP_SINGLE, Figure, Setup

TURNS_ENV = "benchmark/LetterTurns-v0"
_TURNS = 3
_STEPS, _EVERY = 4, 2
"""Number of steps of a run, and of steps between its evaluations and checkpoints."""


class LetterTurns(Game):
    """Random letters at each of several turns; the reward of a turn is the action's share of lower-case letters."""

    param_space = ParamSpace([IntAxis("letters", 3, 4000), IntAxis("tokens", 1, 4096)])
    max_turns = _TURNS

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        texts = tuple("".join(rng.choice(list(LETTERS), params["letters"])) for _ in range(_TURNS))
        return texts, params["tokens"], 0

    def observe(self, state: Any) -> str:
        texts, _, turn = state
        return texts[min(turn, _TURNS - 1)]

    def act(self, state: Any, action: str) -> Transition:
        texts, tokens, turn = state
        share, last = lower_case_share(action, tokens) / _TURNS, turn + 1 == _TURNS
        progress = (turn + 1) / _TURNS
        return Transition((texts, tokens, turn + 1), last, last and share > 0.2, progress, {"letters": share})

    def oracle(self, state: Any) -> str:
        return "a" * state[1]


def measure_run(setup: Setup, name: str, resume: bool = False, turns: bool = False) -> list[Figure]:
    """Make a short run and return figures from its log.

    Args:
        name: name of the run in the table; if it begins with "--", it is also the run's command-line options.
        resume: also resume from the last checkpoint, for the number of steps between two checkpoints.
        turns: play tasks of several turns.
    """
    options = name.split() if name.startswith("--") else []
    if "--lora" in options and importlib.util.find_spec("peft") is None:
        return [Figure(f"palaestra train, {name}", note="missing: peft is not here")]
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as place:
        folder = Path(place)
        _write_model(setup, folder / "model")
        setup.begin_peak()
        begun = time.perf_counter()
        _train([*_task(setup, turns), *_options(setup, folder), *options])
        took = time.perf_counter() - begun
        out = folder / "run"
        lines = _read_run(setup, name, out, took)
        if (peak := setup.peak_gb()) is not None:
            lines.append(Figure(f"peak memory of the run, {name}", peak, "GB"))
        if resume:
            gc.collect()
            _train(["--resume", str(out), "--steps", str(_STEPS + _EVERY)])
            steps = [line["step"] for line in read_lines(out / "metrics.jsonl")]
            whole = steps == [*range(1, _STEPS + _EVERY + 1)]
            lines.append(Figure(f"steps after a resume, {name}", float(whole * _EVERY), "", float(_EVERY)))
    return lines


def _write_model(setup: Setup, folder: Path) -> None:
    """Write a model folder with random weights of the shape."""
    from ...agents.language.model import LanguageModel
    from ...agents.language.tokenizer import character_tokenizer

    sizes = setup.sizes
    tokenizer = widen_tokenizer(character_tokenizer(), sizes.model["vocab_size"])
    model = setup.make_model()
    model.config.eos_token_id = model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.config.pad_token_id = tokenizer.pad_token_id
    stop_after(model, tokenizer.eos_token_id, max(2, sizes.new // 3))
    LanguageModel.of(model.cpu(), tokenizer).save(folder)


def _task(setup: Setup, turns: bool) -> list[str]:
    register_task()
    if TURNS_ENV not in gym.registry:
        gym.register(TURNS_ENV, entry_point=f"{__name__}:{LetterTurns.__name__}")
    sizes = setup.sizes
    axes = [f"letters={max(3, sizes.prompt - 2)}", f"tokens={sizes.new}", *([] if turns else ["flat=0.0"])]
    return [TURNS_ENV if turns else ENV, "--axis", *axes]


def _options(setup: Setup, folder: Path) -> list[str]:
    sizes = setup.sizes
    most = _TURNS * (sizes.prompt + sizes.new) + 16
    values = {
        "model": folder / "model",
        "out": folder / "run",
        "device": setup.device,
        "steps": _STEPS,
        "prompts": sizes.prompts,
        "samples": sizes.samples,
        "max-new-tokens": sizes.new,
        "max-episode-tokens": _TURNS * sizes.new,
        "context": most,
        "teacher": "random",
        "eval-every": _EVERY,
        "eval-episodes": 4 * sizes.prompts,
        "final-episodes": 4 * sizes.prompts,
        "checkpoint-every": _EVERY,
        "lr": 1e-6,
        "lr-warmup": 0,
    }
    words = [word for name, value in values.items() for word in (f"--{name}", str(value))]
    return [*words, "--track"]


def _train(words: list[str]) -> None:
    """Run ``palaestra train`` in this process. Packages of its report may be missing, as the report is not needed here.

    Raises:
        RuntimeError: the exit code is not 0.
    """
    from ...scripts.train import main

    with contextlib.suppress(MissingExtra):
        if code := main(words):
            raise RuntimeError(f"palaestra train ended with exit code {code}.")


def _read_run(setup: Setup, name: str, out: Path, took: float) -> list[Figure]:
    """Return the figures of a run's log."""
    metrics, timings = read_lines(out / "metrics.jsonl"), read_lines(out / "timings.jsonl")
    first, *later = [line for line in timings if "rollout_s" in line]  # the first one allocates, captures and compiles
    evaluated = sum(line.get("evaluation_s", 0.0) for line in timings)
    rolled, trained = ([line[key] for line in later] for key in ("rollout_s", "train_s"))
    step = statistics.median(a + b for a, b in zip(rolled, trained, strict=True))
    tokens = statistics.fmean(line["tokens"] for line in metrics[1:])
    note = (
        f"sampling {statistics.median(rolled):.3g} s, update {statistics.median(trained):.3g} s, first step "
        f"{first['rollout_s'] + first['train_s']:.3g} s, {tokens:,.0f} tokens a step; the run took {took:.3g} s, "
        f"{evaluated:.3g} s of it evaluations"
    )
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    lines = [
        Figure(f"palaestra train, {name}: step", step, "s", note=note),
        Figure(f"palaestra train, {name}: tokens", tokens / step, "tokens/s"),
    ]
    gaps = [line["sampler_gap"] for line in metrics if line.get("sampler_gap") is not None]
    if gaps:
        most: float | None = GAP_HALF if config["dtype"] == "bfloat16" else GAP_SINGLE
        if config["staleness"]:
            most = None  # no bound: the sampler's weights are older
        lines.append(Figure(f"sampler and trainer, {name}", max(gaps), "nats a token", most, most=True))
    return lines
