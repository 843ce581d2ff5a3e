"""The options of ``palaestra train`` in groups, so that ``--help`` can be read.

A dataclass for the command line is made from the configuration of a learner: its fields, with their types and the words
of its docstring, sorted into groups. Fields that no group names stand at the top; records keep a group of their own.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Annotated, Any, get_type_hints

import tyro

GROUPS: dict[str, tuple[str, ...]] = {
    "teacher": ("teacher", "pool"),
    "recipe": ("recipe", "kl", "minibatches", "epochs"),
    "model": (
        *("model", "teacher_model", "system", "lora", "dtype", "fp32_head", "gradient_checkpointing", "tf32"),
        "compile",
    ),
    "sampling": (
        "steps",
        "prompts",
        "samples",
        "temperature",
        "max_new_tokens",
        "max_episode_tokens",
        "context",
        "history",
        "shots",
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
"""Group -> fields of `grpo.TrainConfig`, in the order in which they are shown."""
_STUDENT_RUN = ("environments", "eval_every", "eval_episodes", "final_episodes", "checkpoint_every", "track", "seed")
_PPO: dict[str, tuple[str, ...]] = {
    "learning": (
        *("rollout", "epochs", "minibatch", "lr", "anneal", "discount", "decay", "clip", "value_clip"),
        *("value_weight", "entropy_weight", "max_grad_norm"),
    ),
    "network": ("hidden", "memory", "sequence"),
}
STUDENT_GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    "q": {"learning": ("rate", "discount", "explore", "explore_end", "explore_share", "initial")},
    "ppo": _PPO,
    "go-explore": {
        "exploration": (
            *("levels", "explore_actions", "repeat", "power", "explore_share"),
            *("move", "start_success", "later", "lag"),
        ),
        **_PPO,
    },
    "novelty-search": {
        "behaviours": ("levels", "behaviour", "surprise", "code_size", "relearn", "neighbours", "rewarded_above"),
        "search": (
            *("population", "offspring", "added", "mutation", "hidden"),
            *("emitters", "chunk", "emitter_population", "emitter_mutation", "patience"),
        ),
    },
}
"""The same of the configurations of students, by learner."""
_STUDENT_REST = {
    **{"q": ("log_every",), "ppo": ("threads", "device"), "go-explore": ("threads", "device")},
    "novelty-search": ("log_every",),
}


def groups_of(config: Any) -> dict[str, tuple[str, ...]]:
    """Return the groups of a configuration; of one that a package beside this one brings, none."""
    learner = getattr(config, "learner", None)
    if learner is None:
        return GROUPS
    if learner not in STUDENT_GROUPS:
        return {}
    return {**STUDENT_GROUPS[learner], "run": ("steps", *_STUDENT_RUN, *_STUDENT_REST[learner])}


_ABOUT = {
    "model": "Defaults of the other groups are those of the tiny model; for another model they follow its size and "
    "positions, and are printed when the run begins.",
    "stages": "Stages that replace the recipe's; palaestra list components shows what can stand in each.",
}


def make_form(config: Any, extra: Mapping[str, tuple[Any, Any, str]]) -> type[Any]:
    """Make the dataclass that the command line is parsed into.

    Args:
        config: supplies the defaults.
        extra: further options at the top: name -> (type, default, help).
    """
    hints, words = get_type_hints(type(config), include_extras=True), describe_fields(type(config))
    groups = groups_of(config)
    rows, records = [], []
    for name in _find_top_fields(config):
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            about = _ABOUT.get(name, words[name])
            records.append(_row(name, type(value), value, about, flat=name == "stages"))
        else:
            rows.append(_row(name, hints[name], value, words[name]))
    rows += [_row(name, kind, value, text) for name, (kind, value, text) in extra.items()]
    for group, names in groups.items():
        fields = [_row(name, hints[name], getattr(config, name), words[name]) for name in names]
        inner = dataclasses.make_dataclass(group, fields, frozen=True)
        rows.append(_row(group, inner, inner(), _ABOUT.get(group, ""), flat=True))
    rows += records
    return dataclasses.make_dataclass("TrainForm", rows, frozen=True)


def read_form(form: Any, config: Any) -> Any:
    """Make the configuration of a parsed form; fields that it does not show are those of ``config``."""
    values = {name: getattr(form, name) for name in _find_top_fields(config)}
    values |= {
        name: getattr(getattr(form, group), name) for group, names in groups_of(config).items() for name in names
    }
    return dataclasses.replace(config, **values)


def describe_fields(record: type[Any]) -> dict[str, str]:
    """Read what the ``Attributes`` of the docstrings of a dataclass and its bases say of each field; "" of fields that
    they leave out.
    """
    words = dict.fromkeys((field.name for field in dataclasses.fields(record)), "")
    for cls in reversed(record.__mro__):
        text = inspect.cleandoc(cls.__doc__ or "").partition("Attributes:\n")[2]
        for entry in re.split(r"\n(?=    \S)", f"\n{text}"):
            names, _, about = entry.strip().partition(": ")
            words |= {name: " ".join(about.split()) for name in names.split(", ") if name in words}
    return words


def list_options(config: Any) -> set[str]:
    """Return the options that set a configuration, without dashes in front: "lr-warmup", "warmup.steps"."""
    found = set()
    for name in (item.name for item in dataclasses.fields(config)):
        value = getattr(config, name)
        inner = [item.name for item in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        found |= {part if name == "stages" else f"{name}.{part}" for part in inner} or {name}
    return {name.replace("_", "-") for name in found}


def _find_top_fields(config: Any) -> list[str]:
    """Fields at the top: those of no group that the command line sets by one option."""
    hints = get_type_hints(type(config), include_extras=True)
    grouped = {name for names in groups_of(config).values() for name in names}
    hidden = {name for name, hint in hints.items() if tyro.conf.Suppress in getattr(hint, "__metadata__", ())}
    return [field.name for field in dataclasses.fields(config) if field.name not in grouped | hidden]


def _row(name: str, kind: Any, value: Any, text: str, flat: bool = False) -> tuple[str, Any, Any]:
    """Make a field; ``flat`` leaves the name of a group out of its options."""
    marks = (tyro.conf.arg(help=text), *((tyro.conf.OmitArgPrefixes,) if flat else ()))
    return name, Annotated[(kind, *marks)], dataclasses.field(default_factory=lambda: value)
