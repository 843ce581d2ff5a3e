"""``palaestra dataset``: write tasks of an environment as a data set: Parquet files for train and test, and a card.

examples:
  palaestra dataset palaestra/Countdown-v0 --n 1000 --out countdown
  palaestra dataset palaestra/Arithmetic-v0 --n 500 --out sums --axis digits=1:2 terms=3
  palaestra dataset palaestra/Sudoku-v0 --n 500 --difficulty 0.5 --push me/sudoku --private
  palaestra dataset palaestra/Countdown-v0 --test 500 --lm-eval --out countdown
  lm_eval --include_path countdown --tasks palaestra_countdown --model ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from ..agents.atomic import check_output
from ..errors import InputError
from .axes import parse_axes
from .options import parse_options


@dataclass(frozen=True)
class DatasetOptions:
    env: tyro.conf.Positional[str]
    """Environment id; see palaestra list envs."""
    n: int = 1000
    """Number of tasks of the training split."""
    test: int | None = None
    """Number of tasks of the test split, none of which is in the training split; by default n / 5, 0 for none."""
    seed: int = 0
    """Seed of the first task; further tasks have the following seeds."""
    difficulty: float | None = None
    """Difficulty of all tasks, from 0 (easiest) to 1; by default drawn for each task."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Axes: name=value, name=low:high or name=choice,choice."""
    env_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Further arguments of the environment: name=value."""
    license: str = "mit"
    """Licence on the card; tasks from another data set must have the licence of that data set."""
    lm_eval: bool = False
    """Also write a task for lm_eval (lm-evaluation-harness), which evaluates the test split."""
    out: Path | None = None
    """Folder for the data set, new or empty."""
    push: str | None = None
    """Data set on the Hugging Face Hub, user/name, to upload to; log in first with: hf auth login."""
    private: bool = False
    """With --push: make a new data set private."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(DatasetOptions, args=argv, prog="palaestra dataset", description=__doc__)
    if (options.out is None) == (options.push is None):
        raise InputError("say where the data set goes: either --out FOLDER or --push USER/NAME.")
    if options.private and options.push is None:
        raise InputError("--private is of --push; leave it out.")
    check_output(options.out, "--out", folder=True)
    from ..integrations.core import make_text_env
    from ..integrations.datasets import push, save

    kwargs: dict[str, Any] = parse_options([text for group in options.env_option for text in group], "an environment")
    if texts := [text for group in options.axis for text in group]:
        with make_text_env(options.env, kwargs) as env:
            kwargs["axes"] = parse_axes(texts, env.unwrapped.param_space)  # type: ignore[attr-defined]
    if options.difficulty is not None:
        kwargs["difficulty"] = options.difficulty
    more = {"test": options.test, "seed": options.seed, "license": options.license, "lm_eval": options.lm_eval}
    more |= kwargs
    if options.push is None:
        assert options.out is not None
        print(save(options.out, options.env, options.n, **more))
    else:
        print(push(options.push, options.env, options.n, private=options.private, **more))
    return 0
