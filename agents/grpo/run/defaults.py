"""Defaults that depend on the model: learning rate, token budgets, context, precision and the form of prompts.

`TrainConfig` has the values of the tiny model. For any other model `choose_defaults` reads the model's configuration,
not its weights, and chooses values from size, number of positions and precision; the command line uses them in place of
`TrainConfig`'s, and `configure` does so from Python. `describe_defaults` lists the chosen values with reasons.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...language.chat_options import keep_date
from ...language.decoder import context_limit
from ...language.language_agent import find_weights, read_run_settings
from ...language.model import outline, resolve_device
from ...language.precision import bfloat16_cost
from ...language.tokenizer import ACTION, OBSERVATION
from ...prompt_form import FORM_OF_OLD_RUNS, PROMPT_FORMS, SENTENCES, TERSE
from ..config import TrainConfig

SMALL = 10_000_000
"""Largest number of parameters of a model that gets the tiny model's values."""
RATES = ((100_000_000, 1e-5), (300_000_000, 5e-6))
"""(largest number of parameters, learning rate of models up to this size), rising; larger models use `RATE`."""
RATE = 1e-6
CONTEXT, ANSWER = 4096, 1024
"""Largest context and largest limit on an action that are chosen, tokens."""
CPU_ANSWER = 64
"""Limit on an action on a CPU for models that can be trained there, up to the last size in `RATES`, tokens."""


@dataclass(frozen=True)
class ModelDefaults:
    """Values for fields of a `TrainConfig`, with a short reason for each.

    Attributes:
        parameters: number of weights of the model.
        values: field -> value.
        reasons: field -> reason, a few words.
    """

    parameters: int
    values: Mapping[str, Any]
    reasons: Mapping[str, str]


def choose_defaults(model: str, lora: int = 0, device: str = "auto") -> ModelDefaults:
    """Choose learning rate, token budgets, context and precision for a model.

    Large models use the learning rate of published GRPO runs (DeepSeekMath, arXiv 2402.03300, section 4.2: 1e-6), and
    smaller models a higher one: with 5e-6 SmolLM2-135M learns sums in some dozens of steps. Adapters use ten times the
    rate (Schulman, "LoRA without regret", 2025).

    Args:
        model: a value of `TrainConfig.model`, or the folder of a run.
        lora: rank of the adapters to train; 0 trains all weights.
        device: a value of `TrainConfig.device`.

    Raises:
        InputError: the model is unknown, or its architecture is not supported.
    """
    bare = outline(find_weights(model))
    count, positions = bare.num_parameters(), context_limit(bare)
    if count <= SMALL:
        tiny = TrainConfig()
        values = {name: getattr(tiny, name) for name in _NAMES}
        values["context"] = min(tiny.context, positions)
        return ModelDefaults(count, values, dict.fromkeys(_NAMES, "as for the tiny model"))
    rate = next((rate for most, rate in RATES if count <= most), RATE)
    context = min(positions, CONTEXT)
    on_cpu = resolve_device(device) == "cpu"
    longest = CPU_ANSWER if on_cpu and count <= RATES[-1][0] else ANSWER
    answer = min(longest, context // 2)
    stored = str(getattr(bare.config, "dtype", None) or "float32").removeprefix("torch.")
    half = stored in ("bfloat16", "float16") and not on_cpu
    single = ""
    if not half and stored != "float32":
        faster = bfloat16_cost() < 1
        single = ", which this processor multiplies faster (--dtype bfloat16) but rounds more" if faster else single
        single = single or ", and this processor gains nothing by it"
    return ModelDefaults(
        count,
        {
            "lr": 10 * rate if lora else rate,
            "max_new_tokens": answer,
            "max_episode_tokens": context,
            "context": context,
            "dtype": "bfloat16" if half else "float32",
        },
        {
            "lr": "usual for adapters of a model of this size" if lora else "usual for all weights of this many",
            "max_new_tokens": {ANSWER: "room for a worked answer", CPU_ANSWER: "what a CPU can bear"}.get(
                answer, "half of the context"
            ),
            "max_episode_tokens": "the context",
            "context": "of the model" if context == positions else f"the model has {positions}",
            "dtype": f"stored as {stored}{single}",
        },
    )


_NAMES = ("lr", "max_new_tokens", "max_episode_tokens", "context", "dtype")


def configure(model: str, **options: Any) -> TrainConfig:
    """Make a configuration for a model; ``options`` override the model's defaults."""
    if model == "tiny":
        return TrainConfig(**options)
    chosen = choose_defaults(model, options.get("lora", 0), options.get("device", "auto"))
    return TrainConfig(**{**chosen.values, "model": model, **options})


def precision_notices(config: TrainConfig) -> list[str]:
    """Return a notice if bfloat16 weights slow a run on this CPU down, else []."""
    if config.dtype != "bfloat16" or resolve_device(config.device) != "cpu" or (cost := bfloat16_cost()) < 1:
        return []
    return [
        f"on this processor products of bfloat16 take {cost:.1f} times as long as those of float32: take --dtype "
        "float32, which also rounds less."
    ]


def describe_defaults(config: TrainConfig) -> str:
    """Return a sentence on the values of a configuration that were chosen for the model and those set otherwise."""
    chosen = choose_defaults(config.model, config.lora, config.device)
    taken, other = [], []
    for name, value in chosen.values.items():
        mine = getattr(config, name)
        if mine == value:
            taken.append(f"{name} {value} ({chosen.reasons[name]})")
        else:
            other.append(f"{name} {mine} (by default {value})")
    text = f"The model {config.model} has {chosen.parameters:,} parameters"
    text += f"; chosen for it: {', '.join(taken)}" if taken else ""
    return f"{text}; set otherwise: {', '.join(other)}." if other else f"{text}."


def choose_prompt_form(config: TrainConfig) -> str:
    """Choose the form of a run's prompts: of the environment's options, the configuration and the run that the model
    comes from, the first that sets one; else terse for character-level models and sentences for all others."""
    if (asked := config.env_options.get("prompt")) in PROMPT_FORMS:
        return str(asked)
    if config.prompt_form is not None:
        return config.prompt_form
    if own := read_run_settings(config.model):
        return str(own.get("prompt_form", FORM_OF_OLD_RUNS))
    tokenizer = Path(config.model) / "tokenizer.json"
    is_of_characters = config.model == "tiny" or (tokenizer.is_file() and _has_markers(tokenizer))
    return TERSE if is_of_characters else SENTENCES


def _has_markers(file: Path) -> bool:
    """Return True if the tokenizer in a file has the special tokens of the character-level model."""
    try:
        added = json.loads(file.read_text(encoding="utf-8"))["added_tokens"]
        return {OBSERVATION, ACTION} <= {token["content"] for token in added}
    except (ValueError, KeyError, TypeError):
        return False  # loading the model reports the error in the file


def take_open_values(config: TrainConfig, saved: TrainConfig) -> TrainConfig:
    """Return ``config`` with open values (device "auto", threads 0, no prompt form ...) taken from a saved run."""
    return dataclasses.replace(
        config,
        threads=config.threads or saved.threads,
        device=saved.device if config.device == "auto" else config.device,
        prompt_form=config.prompt_form or saved.prompt_form,
        chat_options=keep_date(config.chat_options, saved.chat_options),
    )
