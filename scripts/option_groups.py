"""The options of ``palaestra train`` in groups, so that ``--help`` can be read.

A dataclass for the command line is made from `TrainConfig`: its fields, with their types and the words of its
docstring, sorted into groups. Fields that no group names stand at the top, and records keep a group of their own.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

import tyro

from ..agents.grpo.config import TrainConfig

GROUPS: dict[str, tuple[str, ...]] = {
    "teacher": ("teacher", "pool"),
    "recipe": ("recipe", "kl", "minibatches", "epochs"),
    "model": ("model", "teacher_model", "system", "lora", "dtype", "fp32_head", "gradient_checkpointing"),
    "sampling": (
        "steps",
        "prompts",
        "samples",
        "temperature",
        "max_new_tokens",
        "max_episode_tokens",
        "context",
        "history",
        "max_overlong",
        "engine",
    ),
    "optimiser": ("lr", "lr_warmup", "lr_schedule", "lr_end", "weight_decay", "beta2", "max_grad_norm"),
    "run": (
        "eval_every",
        "eval_episodes",
        "final_episodes",
        "checkpoint_every",
        "keep_trajectories",
        "track",
        "seed",
        "device",
        "threads",
        "packer",
        "token_budget",
    ),
}
"""Group -> fields of `TrainConfig`, in the order in which they are shown."""
_ABOUT = {
    "model": "Defaults of the other groups are those of the tiny model; for another model they follow its size and "
    "positions, and are printed when the run begins.",
    "stages": "Stages that replace the recipe's; palaestra list components shows what can stand in each.",
}


def make_form(config: TrainConfig, extra: Mapping[str, tuple[Any, Any, str]]) -> type[Any]:
    """Make the dataclass that the command line is parsed into.

    Args:
        config: supplies the defaults.
        extra: further options at the top: name -> (type, default, help).
    """
    hints, words = get_type_hints(TrainConfig, include_extras=True), describe_fields(TrainConfig)
    rows, records = [], []
    for name in _find_top_fields():
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            about = _ABOUT.get(name, words[name])
            records.append(_row(name, type(value), value, about, flat=name == "stages"))
        else:
            rows.append(_row(name, hints[name], value, words[name]))
    rows += [_row(name, kind, value, text) for name, (kind, value, text) in extra.items()]
    for group, names in GROUPS.items():
        fields = [_row(name, hints[name], getattr(config, name), words[name]) for name in names]
        inner = dataclasses.make_dataclass(group, fields, frozen=True)
        rows.append(_row(group, inner, inner(), _ABOUT.get(group, ""), flat=True))
    rows += records
    return dataclasses.make_dataclass("TrainForm", rows, frozen=True)


def read_form(form: Any, config: TrainConfig) -> TrainConfig:
    """Make the configuration of a parsed form; fields that it does not show are those of ``config``."""
    values = {name: getattr(form, name) for name in _find_top_fields()}
    values |= {name: getattr(getattr(form, group), name) for group, names in GROUPS.items() for name in names}
    return dataclasses.replace(config, **values)


def describe_fields(record: type[Any]) -> dict[str, str]:
    """Read what the ``Attributes`` of a dataclass's docstring say of each field; "" of fields that they leave out."""
    words = dict.fromkeys((field.name for field in dataclasses.fields(record)), "")
    text = inspect.cleandoc(record.__doc__ or "").partition("Attributes:\n")[2]
    for entry in re.split(r"\n(?=    \S)", f"\n{text}"):
        names, _, about = entry.strip().partition(": ")
        words |= {name: " ".join(about.split()) for name in names.split(", ") if name in words}
    return words


def _find_top_fields() -> list[str]:
    """Fields at the top: those of no group that the command line sets by one option."""
    hints = get_type_hints(TrainConfig, include_extras=True)
    grouped = {name for names in GROUPS.values() for name in names}
    hidden = {name for name, hint in hints.items() if tyro.conf.Suppress in getattr(hint, "__metadata__", ())}
    return [field.name for field in dataclasses.fields(TrainConfig) if field.name not in grouped | hidden]


def _row(name: str, kind: Any, value: Any, text: str, flat: bool = False) -> tuple[str, Any, Any]:
    """Make a field; ``flat`` leaves the name of a group out of its options."""
    marks = (tyro.conf.arg(help=text), *((tyro.conf.OmitArgPrefixes,) if flat else ()))
    return name, Annotated[(kind, *marks)], dataclasses.field(default_factory=lambda: value)
