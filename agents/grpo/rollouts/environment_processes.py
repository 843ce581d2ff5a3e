"""Environments in separate processes, on this machine or in a Ray cluster, so that a crash does not end the run.

If a process is lost, its environments are recreated in another process, and their current episodes replayed there.
Environments are deterministic, so the episodes continue unchanged. If a replay differs, or the same call loses its
process repeatedly, the call fails and the episode is invalid.
"""

from __future__ import annotations

import itertools
import logging
import os
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import gymnasium

from ....checks import check_count
from ....errors import InputError
from ... import environment_host
from ...engines.ray_cluster import LOCAL, Cluster
from ...environment_host import CALLS, EnvironmentHost, make
from .environment_workers import StepTimeout

_logger = logging.getLogger(__name__)
_LOSSES = 3
"""Losses of a process during one call after which the call fails."""
_PATIENCE = 300.0
"""Time limit for the start of a process, seconds."""


class EnvironmentLostError(RuntimeError):
    """An environment could not be restored after its process was lost."""


class HostLostError(Exception):
    """A process has ended; ``during`` is True if it ended while it served the request."""

    def __init__(self, reason: str, during: bool):
        super().__init__(reason)
        self.during = during


class ProcessHost:
    """Process on this machine that holds environments."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        program = [sys.executable, "-m", environment_host.__name__]

        with theirs:
            # Output of the process is discarded, errors are shown.
            self._process = subprocess.Popen(
                [*program, str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # The process must find the same modules of environments as this one.
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._connection = Connection(ours.detach())
        self._end = weakref.finalize(self, _kill, self._process, self._connection)
        self._lock = threading.Lock()
        self._started = False

    @property
    def alive(self) -> bool:
        return self._end.alive and self._process.poll() is None

    @property
    def process(self) -> int:
        """Process id."""
        return self._process.pid

    def request(self, number: int, call: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        """Send a call to an environment and return its result; see `EnvironmentHost.request`.

        Args:
            number: number of the environment in the process.
            seconds: time limit of the call; 0 for none.

        Raises:
            HostLostError: the process has ended.
            StepTimeout: the call exceeded the limit; its process has been killed.
            Exception: any exception of the environment.
        """
        with self._lock:
            if not self.alive:
                raise HostLostError(self._describe_end(), during=False)
            try:
                if not self._started:
                    self._receive(_PATIENCE)
                    self._started = True
                self._connection.send((number, call, arguments))
                value, error = self._receive(seconds)
            except (EOFError, OSError) as lost:
                self.kill()
                raise HostLostError(self._describe_end(), during=True) from lost
        if error is not None:
            raise error
        return value

    def kill(self) -> None:
        """Kill the process."""
        self._end()

    def _receive(self, seconds: float) -> Any:
        if not self._connection.poll(seconds or None):
            self.kill()
            raise StepTimeout(f"an environment took more than {seconds:g} s, the limit of --env-seconds")
        return self._connection.recv()

    def _describe_end(self) -> str:
        code = self._process.poll() or 0
        return f"process {self._process.pid} " + (f"was ended by signal {-code}" if code < 0 else "ended")


def _kill(process: subprocess.Popen[bytes], connection: Connection) -> None:
    process.kill()
    process.wait()
    connection.close()


class RayHost:
    """Actor of a Ray cluster that holds environments; same interface as `ProcessHost`."""

    def __init__(self, cluster: Cluster):
        self._ray, self._name = cluster.ray, cluster.describe()
        kind = self._ray.remote(EnvironmentHost)
        self._actor = kind.options(num_cpus=1, max_restarts=0, scheduling_strategy="SPREAD").remote()
        self.process, self.alive = 0, True  # the number of the process is 0 until it has started
        self._lock = threading.Lock()

    def request(self, number: int, call: str, arguments: tuple[Any, ...], seconds: float) -> Any:
        with self._lock:
            if not self.alive:
                raise HostLostError("an actor was lost", during=False)
            if not self.process:
                started = self._actor.process.remote()
                if not self._ray.wait([started], timeout=_PATIENCE)[0]:
                    self.kill()
                    raise InputError(
                        f"{self._name} had no room for a process of environments (1 CPU) for {_PATIENCE:g} seconds; "
                        "start nodes with: ray start --address=HOST:PORT, and go on with --resume."
                    )
                self.process = self._get(started)
            answer = self._actor.request.remote(number, call, arguments)
            if not self._ray.wait([answer], timeout=seconds or None)[0]:
                self.kill()
                raise StepTimeout(f"an environment took more than {seconds:g} s, the limit of --env-seconds")
            value, error = self._get(answer)
        if error is not None:
            raise error
        return value

    def _get(self, answer: Any) -> Any:
        try:
            return self._ray.get(answer)
        except self._ray.exceptions.RayTaskError:
            raise
        except self._ray.exceptions.RayError as lost:
            self.kill()
            raise HostLostError(str(lost).strip().splitlines()[0], during=True) from lost

    def kill(self) -> None:
        if self.alive:
            self.alive = False
            self._ray.kill(self._actor)


class EnvironmentProcesses:
    """Pool of processes that hold environments; each starts when it is first needed.

    Args:
        count: number of processes, at least 1.
        seconds: time limit of one call of an environment; 0 for none.
        address: address of the Ray cluster that runs the processes; None or "local" for this machine.
    """

    def __init__(self, count: int, seconds: float = 0.0, address: str | None = None):
        check_count("env_processes", count, 1)
        self.count, self.seconds = count, seconds
        self._address = None if address == LOCAL else address
        self._cluster: Cluster | None = None
        self._hosts: list[Any] = [None] * count
        self._users: list[weakref.WeakSet[ProcessEnvironment]] = [weakref.WeakSet() for _ in range(count)]
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def environment(self, env_id: str, arguments: Mapping[str, Any]) -> ProcessEnvironment:
        """Return a new environment that runs in one of the processes."""
        return ProcessEnvironment(self, next(self._numbers), env_id, arguments)

    def assign(self, env: ProcessEnvironment) -> Any:
        """Return a process for an environment without one: the process with the fewest environments."""
        with self._lock:
            for users in self._users:
                users.discard(env)
            place = min(range(self.count), key=lambda i: len(self._users[i]))
            if self._hosts[place] is None or not self._hosts[place].alive:
                if self._address is not None and self._cluster is None:
                    self._cluster = Cluster(self._address)
                self._hosts[place] = ProcessHost() if self._cluster is None else RayHost(self._cluster)
            self._users[place].add(env)
            return self._hosts[place]

    @property
    def hosts(self) -> list[Any]:
        """The processes that have started, each a `ProcessHost` or `RayHost`."""
        return [host for host in self._hosts if host is not None]

    def close(self) -> None:
        """Kill all processes."""
        with self._lock:
            for host in self.hosts:
                host.kill()
            if self._cluster is not None:
                self._cluster.close()
                self._cluster = None


class ProcessEnvironment(gymnasium.Env[Any, Any]):
    """Environment that runs in another process.

    Attributes other than `CALLS`, such as the parameter space or the current task, are read from a copy in this
    process, to which the episode so far is replayed first.
    """

    def __init__(self, processes: EnvironmentProcesses, number: int, env_id: str, arguments: Mapping[str, Any]):
        self._processes, self._number = processes, number
        self._made = (env_id, dict(arguments))
        self._twin = make(*self._made)
        self.spec, self.metadata = self._twin.spec, self._twin.metadata
        self.observation_space, self.action_space = self._twin.observation_space, self._twin.action_space
        # The episode so far: (name, arguments, result) of each call that changes the state.
        self._played: list[tuple[str, tuple[Any, ...], Any]] = []
        self._repeated = 0  # number of these calls that were replayed in the copy
        self._host: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self._played, self._repeated = [], 0
        return self._change("reset", seed, options)

    def step(self, action: Any) -> Any:
        return self._change("step", action)

    def set_state(self, state: Any) -> None:
        # The state replaces everything played after the reset.
        del self._played[1:]
        self._repeated = min(self._repeated, 1)
        self._change("set_state", state)

    def get_state(self) -> Any:
        return self._ask("get_state", ())

    def oracle(self) -> Any:
        return self._ask("oracle", ())

    def has_wrapper_attr(self, name: str) -> bool:
        return self._twin.has_wrapper_attr(name)

    def get_wrapper_attr(self, name: str) -> Any:
        if name == "has_reset":
            return bool(self._played)
        if name in CALLS and self._twin.has_wrapper_attr(name):
            return getattr(self, name)
        return self._follow().get_wrapper_attr(name)

    @property
    def unwrapped(self) -> Any:
        return self._follow().unwrapped

    def close(self) -> None:
        self._twin.close()
        if self._host is not None and self._host.alive:
            self._host.request(self._number, "drop", (), 0.0)

    def _follow(self) -> Any:
        """Replay the episode so far in the copy of this process and return the copy."""
        for call, arguments, _ in self._played[self._repeated :]:
            if call == "reset":
                self._twin.reset(seed=arguments[0], options=arguments[1])
            else:
                self._twin.get_wrapper_attr(call)(*arguments)
        self._repeated = len(self._played)
        return self._twin

    def _change(self, call: str, *arguments: Any) -> Any:
        value = self._ask(call, arguments)
        self._played.append((call, arguments, _comparable(value)))
        return value

    def _ask(self, call: str, arguments: tuple[Any, ...]) -> Any:
        losses = 0
        while True:
            try:
                host = self._host
                if host is None or not host.alive:
                    host = self._bring_back()
                return host.request(self._number, call, arguments, self._processes.seconds)
            except HostLostError as error:
                self._host = None
                losses += error.during
                if losses == _LOSSES:
                    raise EnvironmentLostError(
                        f"{self._made[0]} lost its process {losses} times at the same place ({error}); its episode "
                        "counts for nothing."
                    ) from error
                if error.during:
                    _logger.warning("an environment was lost (%s); its episode is played again from its log", error)

    def _bring_back(self) -> Any:
        """Recreate the environment in a process and replay the episode so far; return the process.

        Raises:
            EnvironmentLostError: the replay returned other results.
        """
        host = self._processes.assign(self)
        host.request(self._number, "make", self._made, 0.0)
        for call, arguments, seen in self._played:
            if _comparable(host.request(self._number, call, arguments, self._processes.seconds)) != seen:
                raise EnvironmentLostError(
                    f"{self._made[0]} lost its process, and its episode was another one when it was played again; it "
                    "counts for nothing."
                )
        self._host = host
        return host


def _comparable(value: Any) -> Any:
    """Return the part of a call's result that must be equal when the call is repeated: all except the info."""
    return value[:-1] if isinstance(value, tuple) else None
