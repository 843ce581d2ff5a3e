"""Files of a run: configuration, JSON-lines logs, checkpoints. A run can be read and continued after any interruption.

Each row of a log is appended by a single write. A checkpoint is written under another name and renamed once it is
complete. When a run is resumed, log rows after the checkpoint are removed, because the same steps write them again.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ....errors import BaseModelError, InputError, unknown_name
from ...atomic import write_atomically
from ..config import TrainConfig
from .lock import LOCK, RunLock, check_unlocked

LOGS = ("metrics", "timings", "proposals", "evaluations", "trajectories", "notices")
KEPT_CHECKPOINTS = 2
DEFAULT_LEARNER = "grpo"
"""Learner of runs whose configuration names none."""
POLICIES = "policies"
"""Folder of a checkpoint with a folder for each policy besides the run's own."""
_CHECKPOINTS, _WARM_UP, _BEST = "checkpoints", "warmup", "best"
_NEARLY_NOTHING = 1 << 20
"""Bytes of free space below which a disk counts as full."""


class RunConfig(Protocol):
    """Configuration that defines a run of any learner."""

    def to_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Any: ...


C = TypeVar("C", bound=RunConfig)


def newest_checkpoint(run: Path) -> Path | None:
    """Return the checkpoint with the highest step, or None."""
    found = _checkpoints(run)
    return found[-1] if found else None


def find_checkpoint(run: Path, which: str = "newest") -> Path:
    """Return the folder of a checkpoint.

    Args:
        which: "newest", "best" (the policy of the best evaluation so far; a run cannot be resumed from it), a step, or
            the name of a policy of ``--policies``, whose folder in the newest checkpoint is returned.

    Raises:
        InputError: the run has no such checkpoint.
    """
    if which == "best":
        found = run / _CHECKPOINTS / _BEST
        if not found.is_dir():
            raise InputError(f"the run {str(run)!r} has no best checkpoint, as it was never evaluated; take 'newest'.")
        return found
    if which == "newest":
        newest = newest_checkpoint(run)
        if newest is None:
            raise InputError(f"the run {str(run)!r} has no checkpoint yet; train it further or give a model folder.")
        return newest
    steps = {str(_step_of(path)): path for path in _checkpoints(run)}
    newest = newest_checkpoint(run)
    known = steps | ({place.name: place for place in (newest / POLICIES).glob("*")} if newest is not None else {})
    if which not in known:
        raise unknown_name(f"checkpoint of {str(run)!r}", which, ["newest", "best", *known])
    return known[which]


def _checkpoints(run: Path, kind: str = _CHECKPOINTS) -> list[Path]:
    """Return complete checkpoints, oldest first."""
    found = [path for path in (run / kind).glob("step-*") if path.suffix != ".partial"]
    return sorted(found, key=lambda path: (len(path.name), path.name))


def _step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


@contextmanager
def checkpoint_errors(checkpoint: Path) -> Iterator[None]:
    """Convert errors of reading a damaged checkpoint to an InputError with the remedy, within the context.

    BaseModelError passes through: a missing or different base model is no fault of the checkpoint.
    """
    from pickle import UnpicklingError

    try:
        from safetensors import SafetensorError
    except ImportError:  # a learner without torch has no use for it
        SafetensorError = ValueError
    try:
        yield
    except BaseModelError:
        raise
    except (OSError, ValueError, RuntimeError, KeyError, EOFError, UnpicklingError, SafetensorError) as error:
        # Some of these errors have no text, and some a page of it.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"the checkpoint {str(checkpoint)!r} cannot be read ({reason}); remove it to resume from an older one."
        ) from error


class RunFolder:
    """Folder of a run. Open it with `create` or `reopen`."""

    def __init__(self, path: Path):
        self.path = path
        self._lock: RunLock | None = None

    def lock(self) -> None:
        """Lock the folder against other runs until `unlock`.

        Raises:
            InputError: another run is in progress in the folder.
        """
        if self._lock is None:
            self._lock = RunLock(self.path)

    def unlock(self) -> None:
        """Release the lock; no effect without one."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @contextmanager
    def unlock_after_error(self) -> Iterator[None]:
        """Release the lock if the block raises."""
        try:
            yield
        except BaseException:
            self.unlock()
            raise

    @classmethod
    def create(cls, path: Path, config: RunConfig) -> RunFolder:
        """Create a run in a new or empty folder, and lock the folder.

        Raises:
            InputError: the folder is not empty, or cannot be written.
        """
        cls.check_free(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            run = cls(path)
            run.lock()
            with run.unlock_after_error():
                cls._check_empty(path)  # another run may have begun there meanwhile
                run.write_config(config)
        except OSError as error:
            raise InputError(
                f"the run folder {str(path)!r} cannot be written: {error.strerror}; choose another --out."
            ) from error
        return run

    @staticmethod
    def check_free(path: Path) -> None:
        """Raise InputError if the folder is not empty or another run is in progress there; nothing is written."""
        check_unlocked(path)
        RunFolder._check_empty(path)

    @staticmethod
    def _check_empty(path: Path) -> None:
        if path.exists() and (not path.is_dir() or any(inside.name != LOCK for inside in path.iterdir())):
            remedy = f"continue it with --resume {path}" if (path / "config.json").is_file() else "choose another --out"
            raise InputError(f"the run folder {str(path)!r} exists and is not empty; {remedy}, or remove it.")

    @classmethod
    def reopen(cls, path: Path, kind: type[C] = TrainConfig, lock: bool = False) -> tuple[RunFolder, C]:
        """Open an existing run; return its folder and its configuration, of type ``kind``.

        Args:
            kind: class of the configuration.
            lock: lock the folder, to continue this run.

        Raises:
            InputError: the folder contains no run, a run of another learner or version, or, with ``lock``, a run in
                progress.
        """
        found, wanted = read_learner(path), getattr(kind, "learner", DEFAULT_LEARNER)
        if found != wanted:
            raise InputError(f"{str(path)!r} is a run of the learner {found!r}, but one of {wanted!r} is needed here.")
        run = cls(path)
        if lock:
            run.lock()
        with run.unlock_after_error(), _config_errors(path):
            return run, kind.from_json(_read_config(path))

    def write_config(self, config: RunConfig) -> None:
        """Store the configuration; called again on a resume, which may raise the number of steps."""
        write_atomically(self.path / "config.json", json.dumps(config.to_json(), indent=2) + "\n")

    def append(self, log: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to ``<log>.jsonl`` in one write; numbers that are not finite become null, as JSON has none."""
        text = "".join(json.dumps(_finite(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        if text:
            with (self.path / f"{log}.jsonl").open("a", encoding="utf-8") as file:
                file.write(text)

    @contextmanager
    def measure_time(self, step: int, name: str) -> Iterator[None]:
        """Append the wall-clock seconds of the block to ``timings.jsonl``, under ``name``."""
        begun = time.perf_counter()
        yield
        self.append("timings", [{"step": step, name: time.perf_counter() - begun}])

    def read(self, log: str, first: int, last: int) -> list[dict[str, Any]]:
        """Return the rows of a log for the steps ``first`` to ``last``, both included."""
        path = self.path / f"{log}.jsonl"
        rows = map(json.loads, _complete_rows(path)) if path.exists() else ()
        return [row for row in rows if first <= row["step"] <= last]

    def rewind(self, step: int) -> None:
        """Remove log rows after ``step`` and incomplete rows."""
        for log in LOGS:
            path = self.path / f"{log}.jsonl"
            if path.exists():
                write_atomically(
                    path, [line + "\n" for line in _complete_rows(path) if json.loads(line)["step"] <= step]
                )

    @contextmanager
    def checkpoint(self, step: int, keep: Collection[int] = ()) -> Iterator[Path]:
        """Open a folder for a checkpoint; it is renamed when the block ends. Then old checkpoints, and those of the
        warm-up, are removed.

        Args:
            keep: steps of checkpoints to keep besides the newest KEPT_CHECKPOINTS.
        """
        place = self.path / _CHECKPOINTS / f"step-{step:06d}"
        with write_folder(place) as partial:
            yield partial
        for old in _checkpoints(self.path)[:-KEPT_CHECKPOINTS]:
            if _step_of(old) not in keep:
                shutil.rmtree(old)
        shutil.rmtree(self.path / _WARM_UP, ignore_errors=True)

    @contextmanager
    def warm_up_checkpoint(self, step: int) -> Iterator[Path]:
        """Open a folder for the state of the warm-up, as `checkpoint` does; the first `checkpoint` removes it."""
        with write_folder(self.path / _WARM_UP / f"step-{step:06d}") as partial:
            yield partial
        for old in _checkpoints(self.path, _WARM_UP)[:-1]:
            shutil.rmtree(old)

    def newest_warm_up(self) -> Path | None:
        """Return the newest state of a warm-up in progress, or None."""
        found = _checkpoints(self.path, _WARM_UP)
        return found[-1] if found else None

    def best_success(self) -> float | None:
        """Return the evaluation success of the best checkpoint; None if there is none."""
        path = self.path / _CHECKPOINTS / _BEST / "best.json"
        return float(json.loads(path.read_text(encoding="utf-8"))["success"]) if path.is_file() else None

    @contextmanager
    def best_checkpoint(self, step: int, success: float) -> Iterator[Path]:
        """Open a folder for the policy of the best evaluation; it replaces the former best when the block ends."""
        link = self.path / _CHECKPOINTS / _BEST
        place = link.with_name(f"{_BEST}-{step:06d}")
        with write_folder(place) as partial:
            yield partial
            (partial / "best.json").write_text(json.dumps({"step": step, "success": success}), encoding="utf-8")
        fresh = link.with_suffix(".partial")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(place.name, target_is_directory=True)
        fresh.replace(link)
        for old in link.parent.glob(f"{_BEST}-*"):
            if old != place:
                shutil.rmtree(old)


def is_run(folder: Path) -> bool:
    """Return True if the folder belongs to a run."""
    return (folder / "checkpoints").is_dir() and (folder / "config.json").is_file()


def refuse_changes(run: Path, config: Any, saved: Any, free: Collection[str]) -> None:
    """Raise InputError if a configuration differs from the saved one in fields other than ``free``."""
    same = dataclasses.replace(config, **{name: getattr(saved, name) for name in free})
    if differences := same.differences(saved):
        raise InputError(
            f"{str(run)!r} was started with another configuration ({'; '.join(differences)}); resume without these "
            "options, or start a new run."
        )


def read_learner(run: Path) -> str:
    """Return the name of the learner that trained a run.

    Raises:
        InputError: the folder contains no run.
    """
    with _config_errors(run):
        return str(_read_config(run).get("learner", DEFAULT_LEARNER))


def _read_config(run: Path) -> dict[str, Any]:
    return json.loads((run / "config.json").read_text(encoding="utf-8"))


@contextmanager
def _config_errors(run: Path) -> Iterator[None]:
    """Convert errors of reading a run's configuration to an InputError, within the context."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{str(run)!r} is not a run folder (no readable config.json); start one with --out."
        ) from error


@contextmanager
def write_folder(place: Path) -> Iterator[Path]:
    """Open a folder under a temporary name; when the block ends, it is flushed to the disk and renamed to ``place``.

    If the block raises, the folder is removed, and a full disk raises OSError.
    """
    partial = place.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                with file.open("rb") as handle:
                    os.fsync(handle.fileno())
        shutil.rmtree(place, ignore_errors=True)
        partial.rename(place)
    except BaseException as error:
        full = shutil.disk_usage(partial).free < _NEARLY_NOTHING
        shutil.rmtree(partial, ignore_errors=True)
        if full and isinstance(error, Exception) and not isinstance(error, OSError):
            # Writers of tensors raise other errors when the disk is full.
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place)) from error
        raise


def _finite(value: Any) -> Any:
    """Return the data with numbers that are not finite replaced by None."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _complete_rows(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            json.loads(line)
        except ValueError:
            continue
        yield line
