"""``palaestra serve``: serve environments over OpenEnv's WebSocket protocol, for OpenEnv, TRL, verifiers and others.

Each connection has a separate environment. Clients choose seed, difficulty, params, axes and split, unless an option
below fixes them. They get observations, and the measurements in the state, but never a solution. The server accepts
only connections from this machine unless --host is given; set --token then, which clients must send.

examples:
  palaestra serve palaestra/Sokoban-v0
  palaestra serve palaestra/Wordle-v0 palaestra/Hangman-v0 --split train --difficulty 0.3
  palaestra serve palaestra/Countdown-v0 --host 0.0.0.0 --port 9000 --token "$TOKEN"
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tyro

from ..errors import InputError


@dataclass(frozen=True)
class ServeOptions:
    env: tyro.conf.Positional[tuple[str, ...]]
    """Environment ids; the first one is played unless a client's reset names another."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    token: str | None = None
    """Token that clients must send, as "Authorization: Bearer TOKEN" or ?token=TOKEN."""
    split: Literal["train", "test", "all"] | None = None
    """Split of all tasks; by default clients choose."""
    difficulty: float | None = None
    """Difficulty of all tasks; by default clients choose."""
    connections: int = 256
    """Most connections at the same time."""
    message_bytes: int = 2**24
    """Longest message in bytes."""
    idle_seconds: float = 600.0
    """Seconds without a message after which a connection is closed."""
    step_seconds: float = 60.0
    """Time limit of a reset or a step, in seconds; the connection is closed if it is exceeded."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until Ctrl-C or SIGTERM; return 0."""
    options = tyro.cli(ServeOptions, args=argv, prog="palaestra serve", description=__doc__)
    for name in ("connections", "message_bytes", "idle_seconds", "step_seconds"):
        if not (value := getattr(options, name)) > 0:
            raise InputError(f"--{name.replace('_', '-')} must be above 0, not {value:g}.")
    if not options.env:
        raise InputError("name at least one environment, such as palaestra/Sokoban-v0.")
    return asyncio.run(_serve(options))


async def _serve(options: ServeOptions) -> int:
    from ..integrations.openenv.server import OpenEnvServer, ServerLimits

    fixed: dict[str, Any] = {"split": options.split, "difficulty": options.difficulty}
    server = OpenEnvServer(
        options.env,
        {name: value for name, value in fixed.items() if value is not None},
        options.host,
        options.port,
        options.token,
        ServerLimits(options.connections, options.message_bytes, options.idle_seconds, options.step_seconds),
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_ in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_, stop.set)
    async with server:
        print(f"{', '.join(options.env)} at {server.address}    Ctrl-C ends it", flush=True)
        await stop.wait()
    print(f"served {server.served:,} connections.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    from .cli import run_guarded

    sys.exit(run_guarded(main, sys.argv[1:]))
