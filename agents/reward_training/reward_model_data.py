"""Training data of reward models: preference pairs or labelled steps, and those that are held out."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.datasets.sources import read_source
from ...envs.judging.solution_pairs import SolutionPair, draw_pairs_of
from ...envs.param_env import make_task_env
from ...errors import InputError
from ...rewards.models import Preference, StepLabel, read_pairs, read_step_labels
from ..atomic import write_atomically
from ..evaluation import environment_spec, evaluate
from ..prompt_form import add_prompt_form
from .reward_model_config import FLAWS, PROCESS, RewardModelConfig

Items = list[Preference] | list[StepLabel]
_HELD_OUT_SEED = 1 << 20
_FILES = ("pairs", "held-out")


@dataclasses.dataclass(frozen=True)
class RewardModelData:
    """Data of a run.

    Attributes:
        train, held_out: pairs, or labelled steps.
        groups: for each held-out question, the (prompt, response, success) of every attempt of a player; () without
            a player.
    """

    train: Any
    held_out: Any
    groups: Sequence[Sequence[tuple[str, str, bool]]] = ()


def gather(config: RewardModelConfig, folder: Path) -> RewardModelData:
    """Make the data of a new run, and write it to ``pairs.jsonl`` and ``held-out.jsonl`` in its folder.

    Raises:
        InputError: a file cannot be read, or there are no pairs to learn from or none to hold out.
    """
    if config.pairs:
        rows = [row for file in config.pairs for _, row in read_source(file)]
        known = read_step_labels(rows, config.min_segment) if config.objective == PROCESS else read_pairs(rows)
        # A prompt is held out by its content, so that no prompt is on both sides.
        hidden = [zlib.crc32(item.prompt.encode("utf-8", "replace")) % 1000 < 1000 * config.held_out for item in known]
        parts = [[item for item, out in zip(known, hidden) if out == wanted] for wanted in (False, True)]
    else:
        count = (config.questions, max(4, round(config.held_out * config.questions)))
        parts = [_answer(config, split, n, folder) for split, n in zip(("train", "test"), count)]
    for name, part, side in zip(_FILES, parts, ("to learn from", "to hold out")):
        if not part:
            raise InputError(
                f"there are no pairs {side}: take more questions or attempts, a player that succeeds at some and fails "
                "at others, or a file with more prompts."
            )
        rows = [json.dumps(dataclasses.asdict(item), ensure_ascii=False) + "\n" for item in part]
        write_atomically(folder / f"{name}.jsonl", rows)
    return reopen(config, folder)


def reopen(config: RewardModelConfig, folder: Path) -> RewardModelData:
    """Read the data that `gather` wrote."""
    kind = StepLabel if config.objective == PROCESS else Preference
    train, held_out = ([kind(**row) for _, row in read_source(str(folder / f"{name}.jsonl"))] for name in _FILES)
    groups: dict[str, list[tuple[str, str, bool]]] = {}
    played = folder / "attempts-test.jsonl"
    for _, row in read_source(str(played)) if played.is_file() else ():
        texts = (str(row["turns"][0]["observation"]), str(row["turns"][-1]["action"]))
        groups.setdefault(row["task_id"], []).append((*texts, bool(row["is_success"])))
    whole = [group for group in groups.values() if len(group) == config.attempts]
    return RewardModelData(train, held_out, whole)


def flip_labels(pairs: Sequence[Preference], share: float, seed: int) -> list[Preference]:
    """Swap the responses of a random ``share`` of the pairs."""
    chosen = set(np.random.default_rng(seed).choice(len(pairs), round(share * len(pairs)), replace=False).tolist())
    return [
        dataclasses.replace(pair, chosen=pair.rejected, rejected=pair.chosen) if n in chosen else pair
        for n, pair in enumerate(pairs)
    ]


@contextmanager
def _environment(config: RewardModelConfig, split: str) -> Iterator[gym.Env[Any, Any]]:
    spec = environment_spec(config.env)
    env = make_task_env(spec, split=split, axes=config.axes or None, **_options(config))
    try:
        yield env
    finally:
        env.close()


def _options(config: RewardModelConfig) -> dict[str, Any]:
    return add_prompt_form(environment_spec(config.env), config.env_options, config.form)


def _answer(config: RewardModelConfig, split: str, count: int, folder: Path) -> Items:
    """Return the pairs or labelled steps of ``count`` questions of a split."""
    seed = config.seed + (_HELD_OUT_SEED if split == "test" else 0)
    if config.player == FLAWS:
        with _environment(config, split) as env:
            drawn = draw_pairs_of(env, count, seed)
        if config.objective != PROCESS:
            return [Preference(pair.question, pair.right, pair.wrong) for pair in drawn]
        return list(_label_lines(drawn))
    out = folder / f"attempts-{split}.jsonl"
    evaluate(
        *(config.player, config.env, count, seed, split),
        axes=config.axes or None,
        env_kwargs=_options(config),
        samples=config.attempts,
        out=out,
    )
    rows = [row for _, row in read_source(str(out))]
    return read_step_labels(rows, config.min_segment) if config.objective == PROCESS else read_pairs(rows)


def _label_lines(pairs: Iterable[SolutionPair]) -> Iterator[StepLabel]:
    """Label the lines of solutions: right before the first wrong line, wrong from there on."""
    for pair in pairs:
        for text, wrong in ((pair.right, None), (pair.wrong, pair.line)):
            lines = text.split("\n")
            for n in range(len(lines)):
                yield StepLabel(pair.question, "\n".join(lines[: n + 1]), wrong is None or n < wrong, n, len(lines))
