"""Command-line options of ``palaestra train``, made from a learner's configuration and grouped for ``--help``.

`make_form` makes a dataclass with the fields, types and descriptions of the configuration, which tyro parses. The
options that most runs set come first, and ``--help`` shows only these; the others follow in the groups that they
declare. Each nested record of the configuration is a separate group.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Annotated, Any, get_type_hints

import tyro

from ..checks import declared_options
from ..errors import InputError

FIRST = (
    *("env", "model", "steps", "prompts", "samples", "max_new_tokens", "lr", "teacher", "recipe", "system", "axis"),
    *("env_option", "seed", "out", "resume", "learner"),
)
"""Options of any learner that most runs set, in the order of ``--help``."""
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
"""Name of an option in TRL, verl, OpenRLHF, Stable-Baselines3 or CleanRL -> its name in this package."""


def refuse_other_names(arguments: Iterable[str], known: Collection[str]) -> None:
    """Raise InputError for an option that has another library's name (see `OTHER_NAMES`).

    Args:
        arguments: the command line.
        known: names of the existing options, without leading dashes.
    """
    for word in arguments:
        option = word[2:].partition("=")[0].replace("_", "-") if word.startswith("--") else ""
        ours = OTHER_NAMES.get(option, "")
        first = ours.split()[0].removeprefix("--") if ours else ""
        if (first in known and option not in known) or ours == _POSITIONAL:
            raise InputError(
                f"there is no --{option}: that is {ours} here; palaestra train --help-all has every option."
            )


def groups_of(config: Any) -> dict[str, list[str]]:
    """Return heading -> names of the options that declare this heading (``group``), in the order of declaration."""
    groups: dict[str, list[str]] = {}
    for name, declared in declared_options(type(config)).items():
        if declared.group:
            groups.setdefault(declared.group, []).append(name)
    return groups


_ABOUT = {
    "weights": "Defaults in all groups are those of the tiny model; for another model they follow its size and "
    "context, and are printed when the run begins.",
    "stages": "Components that replace the recipe's; palaestra list components shows the choices of each stage.",
}


def make_form(
    config: Any,
    extra: Mapping[str, tuple[Any, Any, str]],
    short: bool = False,
    named: Set[str] | None = None,
) -> type[Any]:
    """Make the dataclass into which the command line is parsed.

    Args:
        config: configuration with the defaults.
        extra: options that are not part of the configuration: name -> (type, default, help).
        short: True shows only the options in `FIRST` in the help.
        named: if given, the form has these options alone (see `named_options`), besides positional ones.
    """

    def has(name: str, *parts: str) -> bool:
        return named is None or name in named or not named.isdisjoint(parts)

    hints, words = get_type_hints(type(config), include_extras=True), describe_fields(type(config))
    groups = groups_of(config)
    rows, records = [], []
    for name in _find_top_fields(config):
        value = getattr(config, name)
        if dataclasses.is_dataclass(value):
            about, prefix = _ABOUT.get(name, words[name]), "" if name == "stages" else f"{name}."
            if has(name, *(prefix + part.name for part in dataclasses.fields(value))):
                records.append(_row(name, type(value), value, about, flat=name == "stages"))
        elif has(name) or tyro.conf.Positional in getattr(hints[name], "__metadata__", ()):
            rows.append(_row(name, hints[name], value, words[name]))
    rows += [_row(name, kind, value, text) for name, (kind, value, text) in extra.items() if has(name)]
    rows.sort(key=lambda row: FIRST.index(row[0]) if row[0] in FIRST else len(FIRST))
    for group, names in groups.items():
        fields = [_row(name, hints[name], getattr(config, name), words[name]) for name in names if has(name)]
        if not fields:
            continue
        inner = dataclasses.make_dataclass(group, fields, frozen=True)
        rows.append(_row(group, inner, inner(), _ABOUT.get(group, ""), flat=True))
    rows += records
    if short:
        rows = [(name, kind if name in FIRST else tyro.conf.Suppress[kind], field) for name, kind, field in rows]
    return dataclasses.make_dataclass("TrainForm", rows, frozen=True)


def named_options(arguments: Iterable[str], known: Collection[str]) -> set[str] | None:
    """Return the options of a command line by the names of their fields, such as "lr_warmup" and "warmup.steps". Return
    None if it asks for help, or has an option that is not ``known``: the form must then have all of them.

    A form of few options is parsed in a fraction of the time.
    """
    found = set()
    for word in arguments:
        if word.startswith("--") or word == "-h":
            name = word[2:].partition("=")[0].replace("-", "_")
            place, dot, last = name.rpartition(".")
            name = name if name in known else f"{place}{dot}{last.removeprefix('no_')}"
            if name not in known:
                return None
            found.add(name)
    return found


def read_form(form: Any, config: Any) -> Any:
    """Make the configuration from a parsed form; fields that the form does not show are taken from ``config``."""
    values = {name: getattr(form, name, getattr(config, name)) for name in _find_top_fields(config)}
    values |= {
        name: getattr(getattr(form, group, config), name, getattr(config, name))
        for group, names in groups_of(config).items()
        for name in names
    }
    return dataclasses.replace(config, **values)


def describe_fields(record: type[Any]) -> dict[str, str]:
    """Return field -> description, from ``says`` of its option or from the section "Attributes" in the docstrings of
    the dataclass and its bases; "" for fields without a description."""
    words = dict.fromkeys((field.name for field in dataclasses.fields(record)), "")
    for cls in reversed(record.__mro__):
        text = inspect.cleandoc(cls.__doc__ or "").partition("Attributes:\n")[2]
        for entry in re.split(r"\n(?=    \S)", f"\n{text}"):
            names, _, about = entry.strip().partition(": ")
            words |= {name: " ".join(about.split()) for name in names.split(", ") if name in words}
    return words | {name: declared.says for name, declared in declared_options(record).items()}


def list_options(config: Any) -> set[str]:
    """Return the names of the options of a configuration, without leading dashes: "lr-warmup", "warmup.steps"."""
    found = set()
    for name in (item.name for item in dataclasses.fields(config)):
        value = getattr(config, name)
        inner = [item.name for item in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
        found |= {part if name == "stages" else f"{name}.{part}" for part in inner} or {name}
    return {name.replace("_", "-") for name in found}


def _find_top_fields(config: Any) -> list[str]:
    """Return the fields that are neither in a group nor hidden from the command line."""
    hints = get_type_hints(type(config), include_extras=True)
    grouped = {name for names in groups_of(config).values() for name in names}
    hidden = {name for name, hint in hints.items() if tyro.conf.Suppress in getattr(hint, "__metadata__", ())}
    return [field.name for field in dataclasses.fields(config) if field.name not in grouped | hidden]


def _row(name: str, kind: Any, value: Any, text: str, flat: bool = False) -> tuple[str, Any, Any]:
    """Make a field for `dataclasses.make_dataclass`; ``flat`` omits the field's name as a prefix of nested options."""
    marks = (tyro.conf.arg(help=text), *((tyro.conf.OmitArgPrefixes,) if flat else ()))
    return name, Annotated[(kind, *marks)], dataclasses.field(default_factory=lambda: value)
