"""Data sets of tasks: the same rows for the same seeds, which the environment plays again."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.integrations.core import TextEpisode
from palaestra.integrations.datasets import COLUMNS, push, save, to_dataset

from ..extras import needs

pytestmark = needs("datasets")


def test_rows_are_exact_by_seed_and_splits_share_no_task():
    train, again = (to_dataset("palaestra/Countdown-v0", 20, "train", seed=3, difficulty=0.5) for _ in range(2))
    assert tuple(train.column_names) == COLUMNS
    assert train.to_list() == again.to_list()
    assert train["seed"][:3] == [3, 4, 5]
    later = to_dataset("palaestra/Countdown-v0", 5, "train", seed=18, difficulty=0.5)
    assert (
        later.to_list()[:5] == to_dataset("palaestra/Countdown-v0", 20, "train", seed=3, difficulty=0.5).to_list()[15:]
    )
    test = to_dataset("palaestra/Countdown-v0", 20, "test", seed=3, difficulty=0.5)
    assert not set(train["task_id"]) & set(test["task_id"])


def test_a_folder_is_read_back_by_its_card_and_each_answer_earns_the_reward(tmp_path: Path):
    from datasets import load_dataset

    folder = save(tmp_path / "countdown", "palaestra/Countdown-v0", 5, axes={"count": [3, 4]})
    loaded = load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert {split: len(part) for split, part in loaded.items()} == {"train": 5, "test": 1}
    episode = TextEpisode()
    for split, part in loaded.items():
        for row in part:
            assert episode.begin(row) == row["prompt"]
            assert episode.result().task_id == row["task_id"]
            assert episode.env.unwrapped.split == split  # type: ignore[attr-defined]
            episode.act(row["answer"])
            assert episode.result().score == 1.0
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["countdown"]


def test_the_card_makes_the_rows_again(tmp_path: Path):
    from datasets import load_dataset

    folder = save(tmp_path / "data", "palaestra/Arithmetic-v0", 3, test=0, seed=2, digits=2)
    code = (folder / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    *imports, call = code.strip().splitlines()
    scope: dict[str, object] = {}
    exec("\n".join(imports), scope)
    rows = eval(call, scope).to_list()
    assert rows == load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache")).to_list()


def test_nothing_is_left_of_a_folder_that_could_not_be_made(tmp_path: Path):
    with pytest.raises(InputError, match="did you mean 'palaestra/Countdown-v0'"):
        save(tmp_path / "data", "palaestra/Countdwn-v0", 5)
    with pytest.raises(InputError, match="take palaestra/DoorKeyText-v0"):
        save(tmp_path / "data", "palaestra/DoorKey-v0", 5)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").touch()
    with pytest.raises(InputError, match="is not empty"):
        save(tmp_path / "data", "palaestra/Countdown-v0", 5)


def test_a_push_is_one_commit_of_the_saved_folder(monkeypatch: pytest.MonkeyPatch):
    from huggingface_hub import HfApi

    calls = []

    def create(self, repo, **options):
        calls.append(("create", repo, options["repo_type"], options["private"]))

    def upload(self, *, repo_id, repo_type, folder_path):
        names = sorted(path.name for path in Path(folder_path).iterdir())
        calls.append(("upload", repo_id, repo_type, names))
        return "https://huggingface.co/datasets/me/arithmetic"

    monkeypatch.setattr(HfApi, "create_repo", create)
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    assert push("me/arithmetic", "palaestra/Arithmetic-v0", 5, private=True).endswith("me/arithmetic")
    assert calls == [
        ("create", "me/arithmetic", "dataset", True),
        ("upload", "me/arithmetic", "dataset", ["README.md", "test.parquet", "train.parquet"]),
    ]
