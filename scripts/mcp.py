"""``palaestra mcp``: an environment as a server of the Model Context Protocol, for any agent that calls its tools.

The environment's actions are tools with typed arguments; ``reset`` begins an episode and returns the task, which is
also a prompt and a resource. Each session has a separate environment. Over HTTP, the server listens only on this
machine unless --host is given; with --token, it refuses clients without the token.

examples:
  palaestra mcp palaestra/ToolUse-v0 --difficulty 0.3
  palaestra mcp palaestra/Wordle-v0 --transport http --port 8000
  palaestra mcp palaestra/SQLExplorer-v0 --split test --seed 7
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import tyro

from ..agents.evaluation import environment_spec
from ..errors import InputError
from .axes import parse_axes
from .options import parse_options

# Options of --transport http.
_HTTP = ("host", "port", "token", "sessions", "idle_seconds")


@dataclass(frozen=True)
class McpOptions:
    env: tyro.conf.Positional[str]
    """Environment id; "module:id" imports the module first."""
    transport: Literal["stdio", "http"] = "stdio"
    """stdio: one session over standard input and output; http: any number of sessions, at /mcp."""
    difficulty: float | None = None
    """Difficulty of all tasks, from 0 to 1; by default clients choose."""
    axis: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Restrict axes: name=value, name=low:high or name=choice,choice."""
    env_option: tyro.conf.UseAppendAction[tuple[tuple[str, ...], ...]] = ()
    """Further arguments of the environment: name=value, such as engine=duckdb; a value may be JSON."""
    split: Literal["train", "test", "all"] | None = None
    """Split of the tasks."""
    seed: int | None = None
    """Seed of each session's first episode; by default, another task each time."""
    host: str | None = None
    """http: address to listen at; 127.0.0.1 by default."""
    port: int | None = None
    """http: port to listen at, 8000 by default; 0 takes a free one."""
    token: str | None = None
    """http: token that clients must send, as "Authorization: Bearer TOKEN"."""
    sessions: int | None = None
    """http: maximum number of sessions at a time, 256 by default."""
    idle_seconds: float | None = None
    """http: seconds without a request after which a session ends, 600 by default."""
    step_seconds: float = 60.0
    """Time limit of a reset or a step, in seconds; after a longer one, the episode is lost."""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until the client ends, Ctrl-C or SIGTERM; return 0."""
    options = tyro.cli(McpOptions, args=argv, prog="palaestra mcp", description=__doc__)
    for name in ("sessions", "idle_seconds", "step_seconds"):
        if (value := getattr(options, name)) is not None and not value > 0:
            raise InputError(f"--{name.replace('_', '-')} must be above 0, not {value:g}.")
    given = [name for name in _HTTP if getattr(options, name) is not None]
    if given and options.transport == "stdio":
        names = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InputError(f"{names} needs --transport http; a server over standard input and output has one session.")
    if options.seed is not None and options.seed < 0:
        raise InputError(f"--seed must not be negative, but it is {options.seed}.")
    return asyncio.run(_serve(options))


async def _serve(options: McpOptions) -> int:
    from ..integrations.core import make_text_env
    from ..integrations.mcp_server import HttpLimits, McpEnvironment

    env_id = environment_spec(options.env).id
    kwargs: dict[str, Any] = parse_options((text for group in options.env_option for text in group), "an environment")
    if texts := [text for group in options.axis for text in group]:
        env = make_text_env(env_id, kwargs)
        kwargs["axes"] = parse_axes(texts, env.unwrapped.param_space)  # type: ignore[attr-defined]
        env.close()
    kwargs |= {name: value for name in ("split", "difficulty") if (value := getattr(options, name)) is not None}
    server = McpEnvironment(env_id, kwargs, options.seed, options.step_seconds)
    loop = asyncio.get_running_loop()
    if options.transport == "stdio":
        serving = asyncio.ensure_future(server.serve_stdio())
        for signal_ in (signal.SIGINT, signal.SIGTERM):
            # A thread waits for the next line of standard input, and nothing else ends it.
            loop.add_signal_handler(signal_, lambda: (serving.cancel(), loop.call_later(1.0, os._exit, 0)))
        await serving
        return 0
    stop = asyncio.Event()
    for signal_ in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_, stop.set)  # until the server runs, which then listens to signals itself
    http = {name: value for name in _HTTP if (value := getattr(options, name)) is not None}
    limits = HttpLimits(**{name: http.pop(name) for name in ("sessions", "idle_seconds") if name in http})
    await server.serve_http(
        **http,
        limits=limits,
        on_start=lambda address: print(f"{env_id} at {address}    Ctrl-C ends it", flush=True),
        stop=stop,
    )
    print(f"served {server.served:,} sessions.", file=sys.stderr)
    return 0
