"""A run on disk: configuration, JSON-lines logs, checkpoints. Whatever happens, what is there can be read and
continued.

Rows are appended whole, one write a row. A checkpoint is written beside its place and renamed into it. On resuming,
rows past the checkpoint are cut off, because the same steps will write them again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import InputError
from ..atomic import write_atomically
from .config import TrainConfig

LOGS = ("metrics", "timings", "proposals", "evaluations", "trajectories")
KEPT_CHECKPOINTS = 2


def newest_checkpoint(run: Path) -> Path | None:
    """The checkpoint of the highest step, or None."""
    found = sorted(path for path in (run / "checkpoints").glob("step-*") if path.suffix != ".partial")
    return found[-1] if found else None


class RunFolder:
    """An open run. Use `create` or `reopen`."""

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def create(cls, path: Path, config: TrainConfig) -> RunFolder:
        """Start a run in a new or empty folder.

        Raises:
            InputError: the folder holds something already, or cannot be written.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            remedy = f"continue it with --resume {path}" if (path / "config.json").is_file() else "choose another --out"
            raise InputError(f"the run folder {str(path)!r} exists and is not empty; {remedy}, or remove it.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            run = cls(path)
            run.write_config(config)
        except OSError as error:
            raise InputError(
                f"the run folder {str(path)!r} cannot be written: {error.strerror}; choose another --out."
            ) from error
        return run

    @classmethod
    def reopen(cls, path: Path) -> tuple[RunFolder, TrainConfig]:
        """Open an existing run and its configuration.

        Raises:
            InputError: there is no run.
        """
        try:
            data = json.loads((path / "config.json").read_text())
        except (OSError, ValueError) as error:
            raise InputError(
                f"{str(path)!r} is not a run folder (no readable config.json); start one with --out."
            ) from error
        return cls(path), TrainConfig.from_json(data)

    def write_config(self, config: TrainConfig) -> None:
        """Store the configuration (a resumed run may have got more steps)."""
        write_atomically(self.path / "config.json", json.dumps(config.to_json(), indent=2) + "\n")

    def append(self, log: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to ``<log>.jsonl`` in one write."""
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if text:
            with (self.path / f"{log}.jsonl").open("a", encoding="utf-8") as file:
                file.write(text)

    def rewind(self, step: int) -> None:
        """Drop log rows after ``step``, and a row that was cut off in the middle."""
        for log in LOGS:
            path = self.path / f"{log}.jsonl"
            if path.exists():
                write_atomically(
                    path, [line + "\n" for line in _complete_rows(path) if json.loads(line)["step"] <= step]
                )

    @contextmanager
    def checkpoint(self, step: int) -> Iterator[Path]:
        """A folder to write a checkpoint into; it takes its name when the block ends, and older ones go."""
        place = self.path / "checkpoints" / f"step-{step:06d}"
        partial = place.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            yield partial
            for file in partial.iterdir():
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
            shutil.rmtree(place, ignore_errors=True)
            partial.rename(place)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        kept = sorted(path for path in place.parent.glob("step-*") if path.suffix != ".partial")
        for old in kept[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)


def _complete_rows(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            json.loads(line)
        except ValueError:
            continue
        yield line
