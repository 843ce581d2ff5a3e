"""Processes of ``palaestra train --nproc``: started here or by torchrun, and restarted after one was lost."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from ..errors import InputError, MissingExtra
from .stopping import RECEIVED, SIGNALS, exit_code, note_signals

_GRACE = 2.0
"""Seconds that a process waits for the launcher to notice and report the loss of another process."""
_PRELOADED = ["transformers.modeling_utils", "palaestra.agents.grpo.learner", "palaestra.scripts.train"]
"""Modules that are imported once for all processes, if these are forked from one server process."""
_LOST = 75
"""Exit code of a process that has already reported that it lost another process."""
_STOPPED = tuple(128 + number for number in (signal.SIGINT, *SIGNALS))
"""Exit codes of a process that has already reported that Ctrl-C or another signal ended it at once."""


OPTIONS: dict[str, tuple[Any, Any, str]] = {
    "nproc": (
        int,
        1,
        "Processes on this machine that share the update, each with a copy of the model; the first one also plays the "
        "episodes and writes the files. A run can be resumed with another number, but is the same bit for bit only "
        "with the same number.",
    ),
    "shard": (
        bool,
        False,
        "With several processes, split the trained weights, their gradients and the optimiser's state over them "
        "(FSDP2), for models that do not fit into one. The first process also has a whole copy of the weights, to play "
        "with. A run can be resumed with or without it.",
    ),
    "max_restarts": (int, 0, "With --nproc, how often the run is resumed from its checkpoint after a process is lost."),
    "rank_timeout": (
        float,
        10.0,
        "With several processes, minutes that a process waits for the others before the run ends with an error.",
    ),
}
"""Options of ``palaestra train``: name -> (type, default, help)."""


@dataclass(frozen=True)
class RunProcesses:
    """Settings of the processes of a run: values of the options in `OPTIONS`."""

    nproc: int = 1
    shard: bool = False
    max_restarts: int = 0
    rank_timeout: float = 10.0

    def check(self, learner_shares: bool) -> None:
        """Raise InputError for a value out of range or an impossible combination.

        Args:
            learner_shares: True if the learner can train in several processes.
        """
        for name, value, least in (("nproc", self.nproc, 1), ("max-restarts", self.max_restarts, 0)):
            if value < least:
                raise InputError(f"--{name} must be at least {least}, got {value}.")
        if not 0 < self.rank_timeout < 1e5:
            raise InputError(f"--rank-timeout must be between 0 and 100000 minutes, got {self.rank_timeout}.")
        started = world_size()
        if started > 1 and self.nproc not in (1, started):
            raise InputError(f"torchrun has started {started} processes; leave --nproc {self.nproc} out.")
        if started > 1 and not learner_shares:
            raise InputError(f"this learner trains in one process, but torchrun has started {started}; start it alone.")
        if self.max_restarts and self.nproc == 1:
            raise InputError(
                f"--max-restarts {self.max_restarts} is of runs of several processes; give --nproc as well"
                + (", or --max-restarts of torchrun." if started > 1 else ".")
            )
        if self.shard and self.nproc == started == 1:
            raise InputError("--shard splits models over several processes; give --nproc 2 or more as well.")


def check_split(config: Any) -> None:
    """Raise InputError if a new run's configuration does not allow --shard: a warm-up, or --compile."""
    if config.model != "tiny" and (steps := config.warmup.most_steps(config.model)):
        raise InputError(
            f"a warm-up of {steps} steps trains the whole model in one process, which --shard is there to avoid; "
            "leave --shard out, or give --warmup.steps 0."
        )
    if config.compile:
        raise InputError("--compile does not reach layers that are split over processes; leave it or --shard out.")


def world_size() -> int:
    """Return the number of processes that torchrun started for this run; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1")) if "RANK" in os.environ else 1


def resume_command(folder: Path, shard: bool = False, processes: int = 1) -> str:
    """Return the command that continues a run with ``processes`` processes, or the current number if that is larger."""
    count = max(processes, world_size())
    shared = f" --nproc {count}" + " --shard" * shard if count > 1 else ""
    return f"palaestra train --resume {folder}{shared}"


def restarts() -> int:
    """Return the number of times that torchrun has restarted this run's processes after one was lost."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))


def check_gpus(device: str, processes: int) -> bool:
    """Return True if the processes of a run with this device run on GPUs, one each.

    Args:
        device: "auto", "cpu", "cuda" or "cuda:NUMBER".
        processes: number of processes to start on this machine, if torchrun has started none.

    Raises:
        InputError: the device is one particular GPU, or this machine has too few GPUs.
    """
    import torch

    if device.startswith("cuda:"):
        raise InputError(f"several processes need a GPU each, but --device {device} is one; give --device cuda or cpu.")
    if not (device == "cuda" or (device == "auto" and torch.cuda.is_available())):
        return False
    wanted = int(os.environ["LOCAL_WORLD_SIZE"]) if world_size() > 1 else processes
    if wanted > torch.cuda.device_count():
        raise InputError(
            f"{wanted} processes need a GPU each, but this machine has {torch.cuda.device_count()}; start fewer of "
            "them, or train with --device cpu."
        )
    return True


def take_part(processes: RunProcesses, cuda: bool, folder: Path, run: Callable[[Any], int] | None = None) -> int:
    """Run this process's part of a run: rank 0 leads, the other ranks follow.

    Args:
        processes: settings of the processes.
        cuda: True if the run is on GPUs, one per process.
        folder: folder of the run, for the message about a lost process.
        run: function of the leader's `agents.grpo.ranks.leader.Ranks` that returns the exit code; only used in the
            process of rank 0.

    Returns:
        The exit code. After a lost process, or Ctrl-C in the middle of a step, this process exits without returning.
    """
    from ..agents.grpo.ranks.channel import LostRank

    try:
        if run is not None and os.environ["RANK"] == "0":
            return _lead(processes, cuda, run)
        # Needed for the models, and imported while the leader parses the command line.
        import transformers.modeling_utils  # noqa: F401

        from ..agents.grpo.ranks.channel import RankChannel
        from ..agents.grpo.ranks.follower import Follower
        from ..agents.grpo.ranks.sharded import ShardedFollower

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the leader decides when the run ends
        note_signals()
        channel = RankChannel(processes.rank_timeout, cuda)
        (ShardedFollower if processes.shard else Follower)(channel).serve()
        channel.leave()
        return 0
    except LostRank as lost:
        code = _LOST
        note_signals()
        # If the launcher has noticed the loss, it ends this process and prints the message for all.
        if not RECEIVED.wait(_GRACE):
            _say(
                f"process {os.environ['RANK']} ends, as another process of the run {lost}; {_remedy(folder, processes)}"
            )
    except KeyboardInterrupt as stop:
        code = exit_code(stop)
        _say(f"stopped in the middle of a step; {_remedy(folder, processes)}")
    # Without the usual clean-up, which would wait for lost processes, or for processes that wait for this one.
    sys.stdout.flush()
    os._exit(code)


def _lead(processes: RunProcesses, cuda: bool, run: Callable[[Any], int]) -> int:
    from ..agents.grpo.ranks.channel import RankChannel
    from ..agents.grpo.ranks.leader import Ranks
    from ..agents.grpo.ranks.sharded import ShardedRanks

    signal.signal(signal.SIGINT, signal.default_int_handler)
    _stop_without_launcher()
    if restarts():
        _say(f"a process of the run was lost; it goes on from what is complete (start {restarts() + 1}).")
    channel = RankChannel(processes.rank_timeout, cuda)
    ranks = ShardedRanks(channel) if processes.shard else Ranks(channel)
    try:
        code = run(ranks)
    except (InputError, MissingExtra, OSError):
        ranks.stop()
        channel.leave()
        raise
    ranks.stop()
    channel.leave()
    return code


def launch(
    command: Callable[[Sequence[str]], int], arguments: Sequence[str], processes: RunProcesses, cuda: bool, folder: Path
) -> int:
    """Start a run in several processes on this machine and wait for them.

    Args:
        command: main function of ``palaestra train``, which the leader calls with ``arguments``.
        processes, cuda, folder: see `take_part`.

    Returns:
        The exit code of the leader; 1 if a process was lost, 128 + the number of a signal that ended the run at once.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    def forward(number: int, frame: FrameType | None) -> None:
        for child in multiprocessing.active_children():
            if child.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, number)

    # The leader ends the run after its step. Ctrl-C reaches the leader directly, other signals are forwarded.
    before = {signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None)}
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            before[number] = signal.signal(number, forward)
    try:
        given = (command, list(arguments), processes, cuda, folder)
        return run_in_processes(_work, given, processes.nproc, processes.max_restarts, cuda)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode not in (_LOST, *_STOPPED):
            how = f"was killed by {failure.signal_name()}" if failure.exitcode < 0 else f"ended with {failure.exitcode}"
            most = processes.max_restarts
            after = f" after {most} restart{'s' * (most > 1)}" if most else ""
            _say(f"process {rank} of {processes.nproc} (pid {failure.pid}) {how}{after}; {_remedy(folder, processes)}")
        return failure.exitcode if failure.exitcode in _STOPPED else 1
    except SignalException as error:
        _say(f"ended by {error.sigval.name}; {_remedy(folder, processes)}")
        return 128 + error.sigval
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_in_processes(
    work: Callable[[Any], Any], argument: Any, processes: int, most_restarts: int = 0, cuda: bool = False
) -> Any:
    """Call a function in several processes on this machine, with the environment variables that torchrun sets.

    Args:
        work: function defined at the top level of a module, so that it can be pickled.
        argument: argument of ``work``.
        processes: number of processes.
        most_restarts: most restarts of all processes after one was lost.
        cuda: True if the processes use GPUs.

    Returns:
        The result of the process of rank 0.

    Raises:
        torch.distributed.elastic.multiprocessing.errors.ChildFailedError: a process failed or was killed.
        torch.distributed.elastic.multiprocessing.api.SignalException: a signal ended this process.
    """
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    # Torch reports lost processes in tables and warnings. Each of its loggers has a level that must be set separately.
    own = ("torch.distributed.elastic", "torch.multiprocessing")
    logs = [logging.getLogger(name) for name in sorted(logging.root.manager.loggerDict) if name.startswith(own)]
    levels = [log.level for log in logs]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = os.environ.get("OMP_NUM_THREADS")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        # GPUs cannot be used in a fork of a process that has queried them. The path of the fork server's socket, 32
        # characters longer than the path of the temporary folder, must be shorter than 108 characters.
        start_method="spawn" if cuda or len(os.fsencode(tempfile.gettempdir())) > 70 else "forkserver",
        max_restarts=most_restarts,
        logs_specs=DefaultLogsSpecs(log_dir=os.devnull),
        signals_to_handle="SIGQUIT",
        shutdown_timeout=3,
    )
    os.environ["OMP_NUM_THREADS"] = threads or str(max(1, cores // processes))
    multiprocessing.set_forkserver_preload(_PRELOADED)
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        return elastic_launch(config, _call)(work, argument)[0]
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)
        if threads is None:
            del os.environ["OMP_NUM_THREADS"]


def _call(work: Callable[[Any], Any], argument: Any) -> Any:
    """Call ``work`` in one of the processes, which then ends with the launcher."""
    result = work(argument)
    launcher = multiprocessing.parent_process()
    assert launcher is not None

    def end_with_launcher() -> None:
        launcher.join()
        os._exit(1)

    # Torch keeps this process alive until the launcher has received the result; a killed launcher never does.
    threading.Thread(target=end_with_launcher, daemon=True).start()
    return result


def _work(given: tuple[Callable[[Sequence[str]], int], list[str], RunProcesses, bool, Path]) -> int:
    """Run one process of a run; return the exit code."""
    command, arguments, processes, cuda, folder = given
    try:
        if os.environ["RANK"] != "0":
            return take_part(processes, cuda, folder)
        from .cli import run_guarded

        return run_guarded(command, arguments)
    except Exception:
        # The launcher only receives the exit code.
        traceback.print_exc()
        raise


def _stop_without_launcher() -> None:
    """Stop this run after its step if the process that started it has ended."""
    parent, launcher = multiprocessing.parent_process(), os.getppid()
    if parent is not None and parent.pid == launcher:
        return  # torch has already requested a signal from the system for this case

    def watch() -> None:
        if parent is not None:  # this process is a fork of one that ends with the last of its forks
            parent.join()
        while parent is None and os.getppid() == launcher:
            time.sleep(1.0)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, name="launcher", daemon=True).start()


def _say(sentence: str) -> None:
    print(f"palaestra: {sentence}", file=sys.stderr, flush=True)


def _remedy(folder: Path, processes: RunProcesses) -> str:
    """Return a sentence with the command that continues the run."""
    if not (folder / "config.json").is_file():
        return "nothing was complete yet: type the same command again."
    return f"what was complete is kept; continue with: {resume_command(folder, processes.shard, processes.nproc)}"
