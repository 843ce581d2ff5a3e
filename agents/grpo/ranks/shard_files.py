"""Checkpoint files to which each process writes its shards, by torch.distributed.checkpoint.

They contain the moments of the optimiser, single-precision masters of half-precision weights, and a reference with its
own weights, under the names of the weights. Any number of processes can read them, each its own shards; `load_whole`
reads everything into one process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

SHARDS = "shards"
"""Name of the subfolder of a checkpoint."""
MOMENTS = ("exp_avg", "exp_avg_sq")
MASTER, STEP, REFERENCE = "master", "step", "reference"


def write_shards(folder: Path, tensors: dict[str, Any], group: dist.ProcessGroup) -> None:
    """Write this process's shards of the tensors; all processes of ``group`` must call it together.

    Raises:
        OSError: one of the processes could not write.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.state_dict_saver import save

    try:
        save(tensors, checkpoint_id=folder, process_group=group)
    except CheckpointException as error:  # not an Exception by itself
        raise OSError(f"{folder}: {_first_reason(error)}") from None


def read_shards(folder: Path, tensors: dict[str, Any], group: dist.ProcessGroup | None) -> None:
    """Read this process's shards of the tensors in place; all processes of ``group`` must call it together.

    With ``group`` None, one process reads whole tensors.

    Raises:
        OSError: one of the processes cannot read the files, or some tensors in them.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.state_dict_loader import load

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.distributed is disabled")
            load(tensors, checkpoint_id=folder, process_group=group, no_dist=group is None)
    except CheckpointException as error:
        raise OSError(f"{folder}: {_first_reason(error)}") from None


def _first_reason(error: Any) -> str:
    """Return the error of the failed process of lowest rank."""
    rank = min(error.failures)
    return f"process {rank}: {error.failures[rank][0]}"


def names_in(folder: Path) -> frozenset[str]:
    """Return the names of the tensors in a folder of shards."""
    from torch.distributed.checkpoint.filesystem import FileSystemReader

    return frozenset(FileSystemReader(folder).read_metadata().state_dict_metadata)


def moment_tensors(optimizer: torch.optim.Optimizer, weights: Iterable[tuple[str, Tensor]]) -> dict[str, Any]:
    """Return AdamW's state by names of weights, without weights that never had a gradient."""
    found: dict[str, Any] = {}
    for name, weight in weights:
        if state := optimizer.state.get(weight):
            found |= {f"{key}/{name}": state[key] for key in (STEP, *MOMENTS)}
    return found


def empty_moments(weight: Tensor) -> dict[str, Tensor]:
    """Return AdamW's state of a weight, filled with zeros to be read into."""
    step = torch.zeros((), device=weight.device if weight.is_cuda else "cpu")
    return {STEP: step, **{key: torch.zeros_like(weight) for key in MOMENTS}}


def load_whole(folder: Path, model: Any, optimizer: torch.optim.Optimizer, reference: Any) -> None:
    """Read shards into a model's optimiser and a reference (or None) that are whole in this process.

    Raises:
        OSError: the files cannot be read.
        KeyError: a tensor is missing.
    """
    stored, state = names_in(folder), optimizer.state_dict()
    masters = state.get("masters", [])
    inner = state["inner"] if masters else state
    tensors, moments = reference_tensors(reference), dict[int, Any]()
    for number, (name, weight) in enumerate(trained_weights(model)):
        # Files are read into these tensors, which `load_state_dict` then gives to the optimiser.
        stepped = weight
        if masters and masters[number] is not None:
            stepped = tensors[f"{MASTER}/{name}"] = masters[number]
        if f"{STEP}/{name}" in stored:
            moments[number] = empty_moments(stepped)
            tensors |= {f"{key}/{name}": value for key, value in moments[number].items()}
    check_stored(tensors, stored)
    read_shards(folder, tensors, None)
    inner["state"] = moments
    optimizer.load_state_dict(state)


def trained_weights(model: Any) -> list[tuple[str, Tensor]]:
    """Return (name, weight) of the trained weights, in the order of the optimiser."""
    return [(name, weight) for name, weight in model.named_parameters() if weight.requires_grad]


def reference_tensors(reference: Any) -> dict[str, Any]:
    """Return the weights of a reference under the names used in files; {} if it is None."""
    found = {} if reference is None else dict(reference.named_parameters())
    return {f"{REFERENCE}/{name}": weight.detach() for name, weight in found.items()}


def check_stored(wanted: Mapping[str, Any], stored: frozenset[str]) -> None:
    """Raise KeyError if a tensor of ``wanted`` is not in the files."""
    if missing := sorted(set(wanted) - stored):
        raise KeyError(f"{missing[0]!r} is not in it, nor are {len(missing) - 1} others")
