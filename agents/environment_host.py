"""Host of environments in another process: holds environments by number and executes the calls made to them.

It runs as a program that serves one connection, or as a Ray actor, and imports no more than the environments need.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

CALLS = ("reset", "step", "oracle", "get_state", "set_state")
"""Methods of an environment that a client may call."""


class EnvironmentHost:
    """Environments by number, and the execution of requests to them, one request at a time."""

    def __init__(self) -> None:
        self._environments: dict[int, Any] = {}

    def request(self, number: int, call: str, arguments: tuple[Any, ...]) -> tuple[Any, Exception | None]:
        """Execute one call to an environment.

        Args:
            number: number of the environment, chosen by the client.
            call: "make" (creates it; ``arguments`` are an environment id and a mapping of its options), "drop" (deletes
                it), or one of `CALLS`.

        Returns:
            The result and None; or None and the exception that the call raised.
        """
        try:
            if call == "make":
                self._environments[number] = make(*arguments)
                return None, None
            if call == "drop":
                self._environments.pop(number, None)
                return None, None
            env = self._environments[number]
            if call == "reset":
                seed, options = arguments
                return env.reset(seed=seed, options=options), None
            return env.get_wrapper_attr(call)(*arguments), None
        except Exception as error:
            return None, _portable(error)
        except BaseException as error:  # an environment that calls sys.exit
            return None, RuntimeError(f"the environment raised {error!r}")

    def process(self) -> int:
        """Return the id of this process. A client calls it to wait until the process has started."""
        return os.getpid()


def make(env_id: str, arguments: Mapping[str, Any]) -> Any:
    """Make a Gymnasium environment with the given options, without the passive environment checker."""
    import gymnasium

    return gymnasium.make(env_id, disable_env_checker=True, **arguments)


def _portable(error: Exception) -> Exception:
    """Return the error itself if it can be pickled, else a plain error with the same message."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """Wait until the parent process has ended, then end this process, even if an environment hangs."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def main(descriptor: int, parent: int) -> None:
    """Serve requests on a connection until it is closed.

    Args:
        descriptor: file descriptor of the connection.
        parent: id of the parent process, with which this process ends.
    """
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)  # the run handles Ctrl-C and a closed terminal
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    connection, host = Connection(descriptor), EnvironmentHost()
    connection.send((host.process(), None))
    while True:
        try:
            answer = host.request(*connection.recv())
        except EOFError:
            return
        try:
            connection.send(answer)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            connection.send((None, RuntimeError(f"what the environment returned cannot be sent: {error}")))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
