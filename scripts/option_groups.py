"""The options of ``palaestra train`` in groups, so that ``--help`` can be read.

A dataclass for the command line is made from the configuration of a learner: its fields, with their types and the words
of its docstring. The options that most runs set come first, and ``--help`` shows only these; the others follow in
groups. Each record has a separate group.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, get_type_hints

import tyro

from ..errors import InputError

FIRST = (
    *("env", "model", "steps", "prompts", "samples", "max_new_tokens", "lr", "teacher", "recipe", "system", "axis"),
    *("env_option", "seed", "out", "resume", "learner"),
)
"""The options that most runs set, of any learner, in the order of need."""
GROUPS: dict[str, tuple[str, ...]] = {
    "sampling": ("temperature", "max_episode_tokens", "context", "history", "shots", "max_overlong"),
    "practice": ("pool",),
    "update": ("kl", "minibatches", "epochs"),
    "optimiser": ("lr_warmup", "lr_schedule", "lr_end", "weight_decay", "beta2", "max_grad_norm"),
    "run": (
        *("eval_every", "eval_episodes", "final_episodes", "checkpoint_every", "keep_trajectories", "track"),
        *("device", "threads", "packer", "token_budget"),
    ),
    "weights": (
        *("teacher_model", "vocabulary", "lora", "dtype", "fp32_head", "gradient_checkpointing", "tf32"),
        "compile",
    ),
    "processes": ("engine", "ray", "workers", "staleness", "env_workers", "env_processes", "env_seconds"),
}
"""Group -> fields of `grpo.TrainConfig`, in the order in which they are shown."""
_STUDENT_RUN = ("environments", "eval_every", "eval_episodes", "final_episodes", "checkpoint_every", "track")
_PPO: dict[str, tuple[str, ...]] = {
    "learning": (
        *("rollout", "epochs", "minibatch", "anneal", "discount", "decay", "clip", "value_clip"),
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


_POSITIONAL = "the first argument"
OTHER_NAMES = {
    "learning-rate": "--lr",
    **dict.fromkeys(("batch-size", "per-device-train-batch-size", "train-batch-size"), "--prompts times --samples"),
    **dict.fromkeys(("num-generations", "group-size", "n-generations", "rollout-n"), "--samples"),
    **dict.fromkeys(("max-completion-length", "max-response-length", "max-length", "max-tokens"), "--max-new-tokens"),
    **dict.fromkeys(("max-prompt-length", "max-seq-length", "max-model-len"), "--context"),
    **dict.fromkeys(("max-steps", "total-timesteps", "num-steps", "num-train-epochs", "total-epochs"), "--steps"),
    **dict.fromkeys(("output-dir", "logdir", "save-dir"), "--out"),
    **dict.fromkeys(("model-name", "model-name-or-path", "pretrained"), "--model"),
    **dict.fromkeys(("beta", "kl-coef", "kl-coefficient", "init-kl-coef"), "--kl"),
    **dict.fromkeys(("loss-type", "algorithm", "algo"), "--recipe"),
    **dict.fromkeys(("num-iterations", "ppo-epochs", "n-epochs"), "--epochs"),
    **dict.fromkeys(("gradient-accumulation-steps", "micro-batch-size"), "--token-budget"),
    **dict.fromkeys(("warmup-steps", "warmup-ratio", "lr-warmup-steps"), "--lr-warmup"),
    **dict.fromkeys(("lr-scheduler-type", "lr-scheduler"), "--lr-schedule"),
    **dict.fromkeys(("report-to", "logger", "wandb"), "--track"),
    **dict.fromkeys(("save-steps", "save-freq", "save-interval"), "--checkpoint-every"),
    **dict.fromkeys(("eval-steps", "eval-freq", "test-freq"), "--eval-every"),
    **dict.fromkeys(("use-vllm", "vllm"), "--engine vllm"),
    **dict.fromkeys(("bf16", "fp16", "torch-dtype"), "--dtype"),
    **dict.fromkeys(("use-peft", "lora-r", "lora-rank"), "--lora"),
    **dict.fromkeys(("reward-funcs", "reward-func", "reward-function"), "--reward"),
    **dict.fromkeys(("dataset", "dataset-name", "train-file"), "--env-option source=FILE"),
    **dict.fromkeys(("env", "env-id"), _POSITIONAL),
    **dict.fromkeys(("fsdp", "deepspeed"), "--shard"),
    **dict.fromkeys(("num-processes", "nproc-per-node"), "--nproc"),
    **dict.fromkeys(("system-prompt", "system-message"), "--system"),
    **dict.fromkeys(("resume-from-checkpoint", "load"), "--resume"),
    "gamma": "--discount",
    **dict.fromkeys(("gae-lambda", "lam"), "--decay"),
    "n-steps": "--rollout",
    **dict.fromkeys(("ent-coef", "entropy-coef"), "--entropy-weight"),
    **dict.fromkeys(("vf-coef", "value-coef"), "--value-weight"),
    **dict.fromkeys(("clip-range", "clip-coef"), "--clip"),
}
"""Names of options in TRL, verl, OpenRLHF, Stable-Baselines3 and CleanRL -> their names here."""


def refuse_other_names(arguments: Iterable[str], known: Collection[str]) -> None:
    """Raise InputError for an option by the name that another library gives it.

    Args:
        arguments: the command line.
        known: the options that there are, without dashes in front.
    """
    for word in arguments:
        option = word[2:].partition("=")[0].replace("_", "-") if word.startswith("--") else ""
        ours = OTHER_NAMES.get(option, "")
        first = ours.split()[0].removeprefix("--") if ours else ""
        if (first in known and option not in known) or ours == _POSITIONAL:
            raise InputError(
                f"there is no --{option}: that is {ours} here; palaestra train --help-all has every option."
            )


def groups_of(config: Any) -> dict[str, tuple[str, ...]]:
    """Return the groups of a configuration; of one that a package beside this one brings, none."""
    learner = getattr(config, "learner", None)
    if learner is None:
        return GROUPS
    if learner not in STUDENT_GROUPS:
        return {}
    return {**STUDENT_GROUPS[learner], "run": (*_STUDENT_RUN, *_STUDENT_REST[learner])}


_ABOUT = {
    "weights": "Defaults of all groups are those of the tiny model; for another model they follow its size and "
    "positions, and are printed when the run begins.",
    "stages": "Stages that replace the recipe's; palaestra list components shows what can stand in each.",
}


def make_form(config: Any, extra: Mapping[str, tuple[Any, Any, str]], short: bool = False) -> type[Any]:
    """Make the dataclass that the command line is parsed into.

    Args:
        config: supplies the defaults.
        extra: further options: name -> (type, default, help).
        short: show no options in the help but `FIRST`.
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
    rows.sort(key=lambda row: FIRST.index(row[0]) if row[0] in FIRST else len(FIRST))
    for group, names in groups.items():
        fields = [_row(name, hints[name], getattr(config, name), words[name]) for name in names]
        inner = dataclasses.make_dataclass(group, fields, frozen=True)
        rows.append(_row(group, inner, inner(), _ABOUT.get(group, ""), flat=True))
    rows += records
    if short:
        rows = [(name, kind if name in FIRST else tyro.conf.Suppress[kind], field) for name, kind, field in rows]
    return dataclasses.make_dataclass("TrainForm", rows, frozen=True)


def read_form(form: Any, config: Any) -> Any:
    """Make the configuration from a parsed form; fields that the form does not show are taken from ``config``."""
    values = {name: getattr(form, name) for name in _find_top_fields(config)}
    values |= {
        name: getattr(getattr(form, group), name) for group, names in groups_of(config).items() for name in names
    }
    return dataclasses.replace(config, **values)


def describe_fields(record: type[Any]) -> dict[str, str]:
    """Read the description of each field from the ``Attributes`` in the docstrings of a dataclass and its bases; ""
    for fields without one.
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
    """Return the fields at the top level: fields without a group that are set by a single option."""
    hints = get_type_hints(type(config), include_extras=True)
    grouped = {name for names in groups_of(config).values() for name in names}
    hidden = {name for name, hint in hints.items() if tyro.conf.Suppress in getattr(hint, "__metadata__", ())}
    return [field.name for field in dataclasses.fields(config) if field.name not in grouped | hidden]


def _row(name: str, kind: Any, value: Any, text: str, flat: bool = False) -> tuple[str, Any, Any]:
    """Make a field; ``flat`` leaves the name of a group out of its options."""
    marks = (tyro.conf.arg(help=text), *((tyro.conf.OmitArgPrefixes,) if flat else ()))
    return name, Annotated[(kind, *marks)], dataclasses.field(default_factory=lambda: value)
