"""Runs on several environments: one mixture to play, and metrics for each environment in it.

A configuration with several environments is played as palaestra/Mixture-v0, whose parameters name the environment of a
task. Training metrics and evaluations are split by that name; those of a single environment are not split.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....envs.family_space import FAMILY
from ....envs.mixture import read_parts
from ....errors import InputError, unknown_name
from ....schedules import schedule
from ...evaluation import environment_spec, wilson_interval
from ...prompt_form import add_prompt_form
from ..config import TrainConfig

MIXTURE = "palaestra/Mixture-v0"
if TYPE_CHECKING:
    from ..batch.trajectory import Group


def embed_prompts(env: Any, names: Sequence[str], tasks: int = 16, dimensions: int = 64) -> list[list[float]]:
    """Return an embedding of each environment of a mixture: the mean over ``tasks`` prompts of the shares of words in
    each of ``dimensions`` classes, by a hash that is the same in every process.

    Args:
        env: the mixture.
        names: names of its environments.
    """
    found = np.zeros((len(names), dimensions))
    for row, name in enumerate(names):
        for seed in range(tasks):
            prompt, _ = env.reset(seed=seed, options={"params": {FAMILY: name}})
            words = re.findall(r"[^\W\d_]+|\d|\S", prompt.lower())
            classes = [zlib.crc32(word.encode()) % dimensions for word in words]
            found[row] += np.bincount(classes, minlength=dimensions) / max(len(words), 1) / tasks
    return found.tolist()


def environment_of(config: TrainConfig) -> tuple[str, dict[str, Any]]:
    """Return the id and the arguments of a run's environment, or of the mixture of its environments.

    With several environments, the option ``"GSM8K.source"`` belongs to the environment GSM8K; options without a prefix
    belong to the mixture. The configuration's form of prompts is applied, if it names one.

    Raises:
        InputError: an environment is unknown, the prefix of an option is not an environment of the run, or a fixed pool
            of tasks is combined with a weight that follows a schedule.
    """
    for env_id in config.envs:
        environment_spec(env_id)
    axes = {"axes": config.axes} if config.axes else {}
    if len(config.envs) == 1:
        options = add_prompt_form(environment_spec(config.envs[0]), config.env_options, config.prompt_form)
        return config.envs[0], {**axes, **options}
    weights = config.env_weights or (1.0,) * len(config.envs)
    if config.pool and any(len(set(schedule(weight).bounds)) > 1 for weight in weights):
        raise InputError(
            f"a pool of {config.pool} fixed tasks cannot follow the weights {list(weights)!r}; leave --pool out, or "
            "give weights that stay the same."
        )
    entries: dict[str, dict[str, Any]] = {
        name: {"id": part.id, "name": name, "weight": weight, "options": {}}
        for (name, part), weight in zip(read_parts(list(config.envs)).items(), weights, strict=True)
    }
    shared: dict[str, Any] = {}
    for key, value in config.env_options.items():
        name, dot, option = key.partition(".")
        if not dot:
            shared[key] = value
        elif name not in entries:
            raise unknown_name("environment of this run", name, entries)
        else:
            entries[name]["options"][option] = value
    shared = add_prompt_form(environment_spec(MIXTURE), shared, config.prompt_form)
    return MIXTURE, {"envs": list(entries.values()), **axes, **shared}


def summarise_environments(groups: Sequence[Group]) -> dict[str, float]:
    """Return success, reward and length of each environment's valid episodes (``success/Arithmetic``), and the
    environment's share of the groups."""
    by_name: dict[str, list[Group]] = {}
    for group in groups:
        if group.trajectories:
            by_name.setdefault(str(group.trajectories[0].params[FAMILY]), []).append(group)
    summary: dict[str, float] = {}
    for name, own in sorted(by_name.items()):
        episodes = [t for group in own for t in group.valid if t.version >= 0]
        summary[f"share/{name}"] = len(own) / sum(map(len, by_name.values()))
        if episodes:
            summary[f"success/{name}"] = float(np.mean([t.success for t in episodes]))
            summary[f"reward/{name}"] = float(np.mean([t.env_return for t in episodes]))
            summary[f"length/{name}"] = float(np.mean([t.action_tokens for t in episodes]))
    return summary


def join_evaluations(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Merge the evaluation rows of several environments: success over all episodes, with a 95 % Wilson interval, and
    each row under "environments"."""
    first = next(iter(rows.values()))
    joined: dict[str, Any] = {name: first[name] for name in ("step", "split")}
    joined |= _pool(list(rows.values()), "success", "ci")
    if "greedy_success" in first:
        joined |= _pool(list(rows.values()), "greedy_success", "greedy_ci")
    bins: dict[tuple[float, float], list[Mapping[str, Any]]] = {}
    for row in rows.values():
        for part in row["by_difficulty"]:
            bins.setdefault((part["low"], part["high"]), []).append(part)
    joined["by_difficulty"] = [
        {"low": low, "high": high, **_pool(parts, "success", "ci")} for (low, high), parts in sorted(bins.items())
    ]
    own = ("step", "split")
    joined["environments"] = {
        name: {key: value for key, value in row.items() if key not in own} for name, row in rows.items()
    }
    return joined


def _pool(rows: Sequence[Mapping[str, Any]], share: str, interval: str) -> dict[str, Any]:
    """Return the share of successes over the episodes of all rows, with a 95 % Wilson interval."""
    episodes = sum(row["episodes"] for row in rows)
    won = sum(row[share] * row["episodes"] for row in rows if row["episodes"])
    pooled = wilson_interval(round(won), episodes)
    return {"episodes": episodes, share: pooled.mean, interval: [pooled.low, pooled.high]}
