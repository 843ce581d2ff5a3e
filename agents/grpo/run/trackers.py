"""Trackers that show a run's metrics outside its folder: TensorBoard, Weights & Biases.

They receive rows of the logs and show points under grouped names ("reward/success", "policy/entropy", "time/train_s").
The run folder is the record: a tracker that fails is logged once and left out, and training continues. `TRACKERS`
registers them under the names of the configuration's ``track``.
"""

from __future__ import annotations

import importlib
import logging
import math
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ....errors import InputError, MissingExtra
from ....registry import Registry, take_callable

if TYPE_CHECKING:
    from ..config import TrainConfig

_log = logging.getLogger(__name__)

_REWARD = ("success", "reward", "shaping", "pass@", "zero_variance", "solved_share", "failed_share")
_EPISODE = ("length", "turns", "truncated", "hinted", "replayed", "episodes", "invalid_episodes", "tokens")
_GROUPS = ("reward", "episode", "policy", "time", "teacher", "evaluation", "stream")
_TIME = ("_s", "seconds")


class Tracker(Protocol):
    """Protocol of an object that shows a run's metrics while it trains."""

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        """Show the finite numbers of a log row. A step may come in several rows."""
        ...

    def close(self) -> None:
        """Finish after the last row."""
        ...


def add_groups(values: Mapping[str, Any]) -> dict[str, float]:
    """Prefix the finite numbers of a row with their group; names that have a group keep it, and "step" is left out."""
    return {
        _tag(name): float(value)
        for name, value in values.items()
        if name != "step" and isinstance(value, int | float) and math.isfinite(value)
    }


def _tag(name: str) -> str:
    head, slash, _ = name.partition("/")
    if slash and head.rstrip("0123456789") in _GROUPS:
        return name
    if name.startswith(_REWARD):
        return f"reward/{name}"
    if name.endswith(_TIME):
        return f"time/{name}"
    return f"{'episode' if name.startswith(_EPISODE) else 'policy'}/{name}"


def evaluation_values(row: Mapping[str, Any]) -> dict[str, float]:
    """Convert a row of ``evaluations.jsonl`` (see `logs.evaluation_row`) to values for `Tracker.log`."""
    found = {"success": row.get("success"), "greedy_success": row.get("greedy_success")}
    found["success_low"], found["success_high"] = row.get("ci") or (None, None)
    for name, part in {**row.get("environments", {}), **row.get("policies", {})}.items():
        found[f"success/{name}"] = part.get("success")
    for item in row.get("pass_at_k", ()):
        name = f"pass@{item['k']}"
        found[name] = item["value"]
        found[f"{name}_low"], found[f"{name}_high"] = item["ci"]
    return {f"evaluation/{name}": value for name, value in found.items() if value is not None}


class TensorBoardTracker:
    """Writes event files to ``folder``/tensorboard, for ``tensorboard --logdir``.

    Args:
        folder: folder of the run.
        step: step of the checkpoint that the run continues from; later steps logged by an earlier process are removed,
            as they are repeated.

    Raises:
        MissingExtra: tensorboard is not installed.
    """

    def __init__(self, folder: Path, step: int = 0):
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtra("TensorBoard", "train") from error
        self._writer = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1)

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        for tag, value in add_groups(values).items():
            self._writer.add_scalar(tag, value, step)
        # If the process is killed, the event files must have all steps up to its last checkpoint.
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WandbTracker:
    """Logs to Weights & Biases; its files are in ``folder``/wandb.

    A continued run keeps its id; Weights & Biases skips steps that are logged again.

    Args:
        project, name: project and display name of the run.
        folder: folder of the run.
        config: configuration to show with the metrics.
        mode: "online", "offline" (``wandb sync`` uploads later) or "disabled"; None: the environment variable
            WANDB_MODE, or else "online".

    Raises:
        MissingExtra: wandb is not installed.
    """

    def __init__(self, project: str, name: str, folder: Path, config: Mapping[str, Any], mode: Any = None):
        try:
            wandb: Any = importlib.import_module("wandb")
        except ImportError as error:
            raise MissingExtra("Weights & Biases", "wandb") from error
        id_file = folder / "wandb" / "id.txt"
        if not id_file.exists():
            id_file.parent.mkdir(parents=True, exist_ok=True)
            id_file.write_text(uuid.uuid4().hex[:12], encoding="utf-8")
        self._run = wandb.init(
            project=project,
            name=name,
            dir=str(folder),
            config=dict(config),
            mode=mode,
            id=id_file.read_text(encoding="utf-8").strip(),
            resume="allow",
            # Do not upload the process's output or its files.
            settings=wandb.Settings(silent=True, console="off", disable_code=True, disable_git=True),
        )

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        self._run.log(add_groups(values), step=step)

    def close(self) -> None:
        self._run.finish()


TRACKERS: Registry[Callable[[Any, Path, int], Tracker]] = Registry(
    "tracker", group="palaestra.trackers", take=take_callable
)
"""``factory(config, folder, step) -> Tracker``."""


@TRACKERS.register("tensorboard")
def _tensorboard(config: TrainConfig, folder: Path, step: int) -> Tracker:
    return TensorBoardTracker(folder, step)


@TRACKERS.register("wandb")
def _wandb(config: TrainConfig, folder: Path, step: int) -> Tracker:
    return WandbTracker("palaestra", folder.resolve().name, folder, config.to_json())


def trackers_for(config: Any, folder: Path, step: int = 0) -> list[Tracker]:
    """Make the trackers named in ``config.track``; their failures cannot stop the run.

    Args:
        config: configuration of a run of any learner.
        folder: folder of the run.
        step: step of the checkpoint that the run continues from, 0 for a new run.

    Raises:
        InputError: a name is not registered, or given twice.
        MissingExtra: the package of a tracker other than the default one is not installed.
    """
    names: tuple[str, ...] = tuple(config.track)
    factories = [TRACKERS[name] for name in names]
    if len(set(names)) < len(names):
        raise InputError(f"track names a tracker twice: {', '.join(names)}; name each once.")
    return [
        _FailsafeTracker(name, factory, config, folder, step) for name, factory in zip(names, factories, strict=True)
    ]


_DEFAULT = ("tensorboard",)
"""Trackers of runs that name none; they are left out if their package is not installed."""


class _FailsafeTracker:
    """Wrapper of a tracker that logs its first failure and ignores it from then on."""

    def __init__(self, name: str, factory: Callable[..., Tracker], config: Any, folder: Path, step: int):
        self._name = name
        self._tracker: Tracker | None = None
        try:
            self._tracker = factory(config, folder, step)
        except MissingExtra as error:
            if name not in _DEFAULT:
                raise
            _log.warning("%s Training goes on without it; the run folder has all figures.", error)
        except Exception as error:
            self._give_up(error)

    def log(self, step: int, values: Mapping[str, Any]) -> None:
        if self._tracker is not None:
            try:
                self._tracker.log(step, values)
            except Exception as error:
                self._give_up(error)

    def close(self) -> None:
        if self._tracker is not None:
            try:
                self._tracker.close()
            except Exception as error:
                self._give_up(error)
            self._tracker = None

    def _give_up(self, error: Exception) -> None:
        self._tracker = None
        _log.warning("The tracker %r failed and is left out from here on; training goes on: %s", self._name, error)
