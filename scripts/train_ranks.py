"""``palaestra train --nproc``: the processes of a run, started here or by torchrun, and what becomes of lost ones."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import InputError, MissingExtra

_GRACE = 2.0
"""Seconds that the leader waits for its launcher to notice which process was lost, and to say so."""


def check_options(processes: int, most_restarts: int, minutes: float) -> None:
    """Raise InputError for a value out of range."""
    for name, value, least in (("nproc", processes, 1), ("max-restarts", most_restarts, 0)):
        if value < least:
            raise InputError(f"--{name} must be at least {least}, got {value}.")
    if not 0 < minutes < 1e5:
        raise InputError(f"--rank-timeout must be between 0 and 100000 minutes, got {minutes}.")


def world_size() -> int:
    """Number of processes that torchrun started for this run; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def restarts() -> int:
    """How often torchrun has started this run's processes again after one of them was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def take_part(minutes: float, cuda: bool, run: Callable[[Any], int]) -> int:
    """Lead a run in the process of rank 0, follow in the others.

    Args:
        minutes: how long a process waits for the others' share of the work.
        cuda: the run is on GPUs, one a process.
        run: the leader's part, given its `agents.grpo.ranks.leader.Ranks`; returns the exit code.
    """
    from ..agents.grpo.ranks.channel import Channel, LostRank

    try:
        channel = Channel(minutes, cuda)
        if channel.rank:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader decides when the run ends
            from ..agents.grpo.ranks.follower import Follower

            Follower(channel).serve()
            channel.leave()
            return 0
        signal.signal(signal.SIGINT, signal.default_int_handler)
        from ..agents.grpo.ranks.leader import Ranks

        ranks = Ranks(channel)
        try:
            code = run(ranks)
        except (InputError, MissingExtra, OSError):
            ranks.stop()
            channel.leave()
            raise
        ranks.stop()
        channel.leave()
        return code
    except LostRank as lost:
        time.sleep(_GRACE)
        if os.environ.get("RANK") == "0":
            print(f"palaestra: another process of this run {lost}; {_remedy()}", file=sys.stderr)
        sys.stderr.flush()
        # Without the usual clean-up, which would wait for the lost process.
        os._exit(1)


def launch(arguments: Sequence[str], processes: int, most_restarts: int) -> int:
    """Start ``palaestra train`` with these arguments in several processes on this machine and wait for them.

    Returns:
        The exit code of the leader; 1 if a process was lost.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, cores // processes)))
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=most_restarts,
        logs_specs=DefaultLogsSpecs(log_dir=os.devnull),
        signals_to_handle="SIGTERM,SIGHUP,SIGQUIT",
        shutdown_timeout=10,
    )
    # Ctrl-C reaches the leader as well, which ends the run after its step.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return elastic_launch(config, _work)(list(arguments))[0]
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        how = f"was killed by {failure.signal_name()}" if failure.exitcode < 0 else f"ended with {failure.exitcode}"
        after = f" after {most_restarts} restarts" if most_restarts else ""
        print(
            f"palaestra: process {rank} of {processes} (pid {failure.pid}) {how}{after}; {_remedy()}", file=sys.stderr
        )
        return 1
    except SignalException as error:
        print(f"palaestra: ended by {error.sigval.name}; {_remedy()}", file=sys.stderr)
        return 128 + error.sigval
    finally:
        signal.signal(signal.SIGINT, before)


def _work(arguments: list[str]) -> int:
    """One process of a run."""
    from . import train
    from .cli import run_guarded

    return run_guarded(train.main, arguments)


def _remedy() -> str:
    return "what was complete is kept: continue with palaestra train --resume FOLDER."
