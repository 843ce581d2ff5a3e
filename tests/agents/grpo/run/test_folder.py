"""The best checkpoint of a run."""

from __future__ import annotations

import os

import pytest
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.run.folder import RunFolder, find_checkpoint, newest_checkpoint, write_folder
from palaestra.errors import InputError


@pytest.fixture
def run(tmp_path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", TrainConfig())


def keep(run: RunFolder, step: int, success: float, text: str) -> None:
    with run.best_checkpoint(step, success) as place:
        (place / "weights").write_text(text)


def test_the_newer_best_takes_the_place_of_the_older_one(run):
    assert run.best_success() is None
    keep(run, 0, 0.25, "old")
    keep(run, 50, 0.5, "new")
    assert run.best_success() == 0.5
    assert (find_checkpoint(run.path, "best") / "weights").read_text() == "new"
    assert sorted(path.name for path in (run.path / "checkpoints").iterdir()) == ["best", "best-000050"]
    assert newest_checkpoint(run.path) is None


def test_a_best_checkpoint_that_could_not_be_written_leaves_the_older_one(run):
    keep(run, 0, 0.25, "old")

    def fail() -> None:
        with run.best_checkpoint(50, 0.5) as place:
            (place / "weights").write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert run.best_success() == 0.25
    assert (find_checkpoint(run.path, "best") / "weights").read_text() == "old"


def test_every_file_is_on_the_disk_before_its_folder_has_its_name(tmp_path, monkeypatch):
    place, kept = tmp_path / "step", set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: kept.add((os.fstat(descriptor).st_ino, place.exists())))
    with write_folder(place) as partial:
        (partial / "inner").mkdir()
        for name in ("weights", "inner/state"):
            (partial / name).write_text(name)
    assert kept == {((place / name).stat().st_ino, False) for name in ("weights", "inner/state")}


def test_checkpoints_are_found_by_name_and_by_step(run):
    with pytest.raises(InputError, match="no checkpoint yet"):
        find_checkpoint(run.path)
    with pytest.raises(InputError, match="never evaluated"):
        find_checkpoint(run.path, "best")
    for step in (5, 10):
        with run.checkpoint(step) as place:
            (place / "weights").write_text(str(step))
    assert (find_checkpoint(run.path) / "weights").read_text() == "10"
    assert (find_checkpoint(run.path, "5") / "weights").read_text() == "5"
    with pytest.raises(InputError, match=r"'7'.*'newest', 'best', '5', '10'|unknown checkpoint"):
        find_checkpoint(run.path, "7")
