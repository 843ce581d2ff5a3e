"""Tasks of an environment as a Hugging Face data set, for other trainers, for sharing and for inspection.

    from palaestra.integrations.datasets import push, save, to_dataset

    data = to_dataset("palaestra/Countdown-v0", n=1000, split="test", difficulty=0.5)
    data[0]["prompt"], data[0]["answer"]
    save("countdown", "palaestra/Countdown-v0", n=1000)        # a folder: train and test as Parquet, and a card
    push("me/countdown", "palaestra/Countdown-v0", n=1000)     # the same, to the Hub

Every row has the seed, arguments and options of its episode, from which `palaestra.integrations.core.TextEpisode`
replays the episode exactly: the reward is computed by the environment, not by comparison with the answer. On the
command line:
``palaestra dataset palaestra/Countdown-v0 --out countdown``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..agents.atomic import check_output
from ..checks import check_count
from ..envs.curation import most_different
from ..errors import InputError, needs_extra
from .core import COLUMNS, make_samples, write_object
from .lm_eval_tasks import check_question, write_task

SPLITS = ("train", "test")


def to_dataset(
    env_id: str, n: int, split: str = "train", *, seed: int = 0, distinct: float | None = None, **kwargs: Any
) -> Any:
    """Make a ``datasets.Dataset`` of the n episodes with the seeds from ``seed`` on; the columns are `core.COLUMNS`.

    Args:
        env_id: an id with text observations and actions.
        n: number of rows, at least 1.
        split: "train", "test" or "all". Train and test have no task in common.
        seed: seed of the first episode.
        distinct: keep of these rows the largest set of which no two prompts overlap by this share or more, see
            `curation.most_different`; None keeps all.
        **kwargs: arguments of the environment.

    Raises:
        InputError: an unknown id, or an argument that does not fit.
    """
    with needs_extra("a data set", "datasets"):
        from datasets import Dataset, Features, Value
    check_count("n", n, low=1)
    rows = list(make_samples(env_id, n, split, seed, kwargs))
    if distinct is not None:
        rows = [rows[number] for number in most_different([row["prompt"] for row in rows], distinct)]
    kinds = {"seed": "int64", "difficulty": "float64"}
    features = Features({name: Value(kinds.get(name, "string")) for name in COLUMNS})
    return Dataset.from_list(rows, features=features)


def save(
    folder: str | Path,
    env_id: str,
    n: int,
    *,
    test: int | None = None,
    seed: int = 0,
    license: str = "mit",
    lm_eval: bool = False,
    distinct: float | None = None,
    **kwargs: Any,
) -> Path:
    """Write ``train.parquet``, ``test.parquet`` and a data-set card into a new folder and return its path.

    Args:
        folder: the folder, which must be empty or not exist.
        env_id: an id with text observations and actions.
        n: number of episodes of the training split.
        test: number of episodes of the test split; None takes a fifth of n, 0 leaves the split out.
        seed: seed of the first episode of each split.
        license: licence on the card; environments that read another data set inherit that data set's licence.
        distinct: see `to_dataset`.
        lm_eval: also write a task of lm-evaluation-harness over the test split; see `lm_eval_tasks`.
        **kwargs: arguments of the environment, without the split.

    Raises:
        InputError: see `to_dataset` and `lm_eval_tasks.check_question`; or the folder is in use. On failure nothing is
            left in the folder.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} exists and is not empty; choose another folder, or remove it.")
    check_output(folder, "folder", folder=True)
    counts = {
        "train": check_count("n", n, low=1),
        "test": max(1, n // 5) if test is None else check_count("test", test),
    }
    if lm_eval:
        check_question(env_id, kwargs)
        if not counts["test"]:
            raise InputError("lm_eval evaluates the test split, which has no task; give test a number above 0.")
    folder.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        parts = {}
        for split, count in counts.items():
            if count:
                parts[split] = to_dataset(env_id, count, split, seed=seed, distinct=distinct, **kwargs)
                parts[split].to_parquet(place / f"{split}.parquet")
        sizes = {split: len(part) for split, part in parts.items()}
        drawn = {split: count for split, count in counts.items() if count}
        card = describe(env_id, sizes, seed, license, kwargs, drawn, distinct)
        (place / "README.md").write_text(card, encoding="utf-8")
        if lm_eval:
            write_task(place, env_id)
        place.chmod(0o755)
        if folder.exists():
            folder.rmdir()
        os.replace(place, folder)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return folder


def push(repo: str, env_id: str, n: int, *, private: bool = False, **options: Any) -> str:
    """Upload the files of `save` to the Hugging Face Hub, in one commit; return the data set's address.

    Args:
        repo: "user/name".
        env_id, n: as for `save`.
        private: make a new data set private.
        **options: further arguments of `save`.

    Raises:
        InputError: see `save`.
        huggingface_hub.errors.HfHubHTTPError: the Hub refuses; log in with ``hf auth login``.
    """
    with needs_extra("a data set", "datasets"):
        from huggingface_hub import HfApi
    hub = HfApi()
    with tempfile.TemporaryDirectory() as parent:
        folder = save(Path(parent, "data"), env_id, n, **options)
        hub.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        commit = hub.upload_folder(repo_id=repo, repo_type="dataset", folder_path=folder)
    return str(commit.repo_url if hasattr(commit, "repo_url") else commit)


def describe(
    env_id: str,
    counts: Mapping[str, int],
    seed: int,
    license: str,
    kwargs: Mapping[str, Any],
    drawn: Mapping[str, int] | None = None,
    distinct: float | None = None,
) -> str:
    """Write the data-set card: YAML for the Hub, then a description of the rows and the calls that recreate them.

    Args:
        counts: rows of each split.
        drawn: rows of each split before those were chosen that are ``distinct``; None: all were kept.
    """
    from .. import __version__

    name = env_id.rpartition("/")[2]
    files = "\n".join(f"  - split: {split}\n    path: {split}.parquet" for split in counts)
    sizes = ", ".join(f"{count} {split}" for split, count in counts.items())
    given = {**({} if distinct is None else {"distinct": distinct}), **kwargs}
    arguments = "".join(f", {key}={value!r}" for key, value in given.items())
    asked = (drawn or counts).items()
    calls = "\n".join(f'to_dataset("{env_id}", {n}, "{split}", seed={seed}{arguments})' for split, n in asked)
    return f"""---
license: {license}
configs:
- config_name: {name}
  data_files:
{files}
tags:
- reinforcement-learning
- palaestra
---
# {env_id}

Episodes of the environment `{env_id}` of palaestra {__version__}, with the arguments
`{write_object("kwargs", kwargs)}`: {sizes}. The splits have no task in
common: a task belongs to one by a hash of its content.

| column | holds |
| --- | --- |
| prompt | what the agent reads first |
| answer | the first action of the reference solver, which is one solution of perhaps many; empty where there is none |
| env, seed, kwargs, options | the episode, as `palaestra.integrations.core.TextEpisode` plays it again |
| task_id, params, difficulty | of the task |

Made, and made again exactly, with `palaestra=={__version__}` by

```python
from palaestra.integrations.datasets import to_dataset

{calls}
```

A reward is computed by the environment:

```python
from palaestra.integrations.core import TextEpisode

episode = TextEpisode()
episode.begin(row)
episode.act(reply)
print(episode.result().score)
```
"""
