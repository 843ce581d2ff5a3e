"""``palaestra dataset``: write tasks of an environment, or episodes that were played, as a data set.

Tasks become a folder: Parquet files for train and test, and a card. Episodes (--from) become a file of rows for
supervised fine-tuning, or with --pairs for preference training, as TRL's SFTTrainer and DPOTrainer and most other
trainers read them.

examples:
  palaestra dataset palaestra/Countdown-v0 --n 1000 --out countdown
  palaestra dataset palaestra/Arithmetic-v0 --n 500 --out sums --axis digits=1:2 terms=3
  palaestra dataset palaestra/Sudoku-v0 --n 500 --difficulty 0.5 --push me/sudoku --private
  palaestra dataset palaestra/StreamPrediction-v0 --n 300 --distinct 0.3 --out snippets
  palaestra dataset palaestra/Countdown-v0 --test 500 --lm-eval --out countdown
  lm_eval --include_path countdown --tasks palaestra_countdown --model ...
  palaestra dataset --from runs/first --out sft.jsonl
  palaestra dataset --from played.jsonl --against test.jsonl --out sft.jsonl    # without the questions of a test set
  palaestra dataset --from played.jsonl --min-reward 0.5 --format sharegpt --out sft.jsonl
  palaestra dataset --from runs/first played.jsonl --pairs --out pairs.parquet
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..agents.atomic import check_output, write_atomically
from ..envs.datasets.overlap import question_of, read_tests
from ..errors import InputError, needs_extra
from ..integrations.played_episodes import Layout, demonstrations, is_good, preferences
from .axes import parse_axes
from .options import parse_options

OF_EPISODES = ("format", "pairs", "min_reward", "system", "against")
"""Options that go with --from; all others but --out are for tasks."""


@dataclass(frozen=True)
class DatasetOptions:
    env: tyro.conf.Positional[str | None] = None
    """Environment id; see palaestra list envs."""
    from_: Annotated[tuple[Path, ...], tyro.conf.arg(name="from")] = ()
    """Runs, files of palaestra eval --out, or folders of either, whose good episodes are written."""
    pairs: bool = False
    """With --from: write pairs of a good and a bad reply to the same task (prompt, chosen, rejected) instead."""
    min_reward: float | None = None
    """With --from: minimum return of a good episode; by default those are good that succeeded."""
    format: Layout = "chat"
    """With --from: chat (messages), prompt-completion (a row for each reply), or sharegpt (conversations)."""
    system: str | None = None
    """With --from: system prompt, the first message of each row; by default that of the run, if it has one."""
    against: tuple[str, ...] = ()
    """With --from: test sets (files, folders or hub ids); rows that repeat one of their questions are left out."""
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
    distinct: float | None = None
    """Keep the largest set of tasks of which no two prompts share this part of their neighbouring words."""
    lm_eval: bool = False
    """Also write a task for lm_eval (lm-evaluation-harness), which evaluates the test split."""
    out: Path | None = None
    """Folder for the data set, new or empty; with --from a file, .jsonl or .parquet."""
    push: str | None = None
    """Data set on the Hugging Face Hub, user/name, to upload to; log in first with: hf auth login."""
    private: bool = False
    """With --push: make a new data set private."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = tyro.cli(DatasetOptions, args=argv, prog="palaestra dataset", description=__doc__)
    if options.from_:
        return _write_episodes(options)
    if options.env is None:
        raise InputError("give the id of an environment, or episodes by --from RUN_OR_FILE.")
    if given := _list_given(options, OF_EPISODES):
        raise InputError(f"{given} {'is' if ',' not in given else 'are'} for episodes; give some by --from.")
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
    more["distinct"] = options.distinct
    more |= kwargs
    if options.push is None:
        assert options.out is not None
        print(save(options.out, options.env, options.n, **more))
    else:
        print(push(options.push, options.env, options.n, private=options.private, **more))
    return 0


def _list_given(options: DatasetOptions, names: Sequence[str]) -> str:
    """Return the options among ``names`` that differ from their defaults, as they are typed."""
    defaults = DatasetOptions()
    changed = (name for name in names if getattr(options, name) != getattr(defaults, name))
    return ", ".join(f"--{name.replace('_', '-')}" if name != "env" else str(options.env) for name in changed)


def _write_episodes(options: DatasetOptions) -> int:
    """Write the rows of the episodes of ``--from``, and print their number and the file."""
    of_tasks = [one.name for one in fields(options) if one.name not in (*OF_EPISODES, "from_", "out")]
    if given := _list_given(options, of_tasks):
        raise InputError(f"{given} {'is' if ',' not in given else 'are'} for tasks of an environment, not for --from.")
    out = options.out
    if out is None or out.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"--out must be a file ending in .jsonl or .parquet for episodes, not {str(out)!r}.")
    check_output(out, "--out")
    episodes = list(_read_episodes(options.from_))
    make = preferences if options.pairs else demonstrations
    rows: list[dict[str, Any]] = []
    systems = {id(row): options.system if options.system is not None else system for row, system in episodes}
    for system in dict.fromkeys(systems.values()):
        own = [row for row, _ in episodes if systems[id(row)] == system]
        rows += make(own, options.format, min_reward=options.min_reward, system=system)
    good = sum(is_good(row, options.min_reward) is True for row, _ in episodes)
    every = len(rows)
    if options.against:
        tests = read_tests(options.against)
        rows = [row for row in rows if not tests.has(question_of(row))]
    if not rows:
        why = "no task has a good and a bad episode" if options.pairs else "none is good; lower --min-reward"
        why = "all rows repeat a question of --against" if every else why
        raise InputError(f"nothing to write of {len(episodes):,} episodes, {good:,} of them good: {why}.")
    if out.suffix == ".jsonl":
        write_atomically(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    else:
        with needs_extra("a Parquet file", "datasets"):
            from datasets import Dataset
        out.parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_list(rows).to_parquet(out)
    left_out = f"; {every - len(rows):,} rows that repeat a test question left out" if options.against else ""
    print(f"{out}: {len(rows):,} different rows of {len(episodes):,} episodes, {good:,} of them good{left_out}")
    return 0


def _read_episodes(paths: Sequence[Path]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Yield each episode, with environment and history, and the system prompt of its run."""
    from .report import iterate_rows, read_config
    from .view_episodes import find_files

    for file in find_files(paths):
        folder = file.path.parent
        config = read_config(folder) if (folder / "config.json").is_file() else {}
        for line, row in iterate_rows(file.path):
            if not isinstance(row.get("turns"), list):
                raise InputError(f"line {line} of {str(file.path)!r} is no episode: it has no list of turns.")
            yield {"env": file.env, "history": config.get("history"), **row}, config.get("system")
