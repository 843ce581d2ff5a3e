"""``palaestra bench serve``: latency and throughput of `palaestra serve`, and its resources over many sessions.

The server is a separate process; the players run in this one. Two figures: the time from a step's message to its answer
while all sessions play, each waiting for a random time before a step; and the largest number of steps per second,
without waits. Then sessions follow one another (connect, reset, step, leave; a third of them leave by a broken
connection), and the server's memory, threads and open files are compared with their values after the first hundred
sessions.

examples:
  palaestra bench serve
  palaestra bench serve --env palaestra/Wordle-v0 --sessions 200 --think 0.2 --seconds 20
  palaestra bench serve --in-a-row 10000 --json serve.json
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_count, check_number
from ..errors import InputError
from .harness import make_table, read_options, require, write_json

WARM = 100
"""Number of sessions after which resources are first measured, for comparison."""
_AT_ONCE = 8
_SPARE = 256
"""Spare connections of the server for broken sessions that it has not noticed yet."""


@dataclass(frozen=True)
class ServeBenchOptions:
    env: str = "palaestra/GuessNumber-v0"
    """Id of an environment whose actions are text."""
    action: str = "1"
    """Action of every player at every step."""
    sessions: int = 200
    """Number of sessions that play at once."""
    think: float = 0.5
    """Mean seconds between an answer and the next step."""
    seconds: float = 10.0
    """Seconds of play."""
    in_a_row: int = 1000
    """Number of sessions that follow one another."""
    seed: int = 0
    """Seed of the tasks and of the waits."""
    json: Path | None = None
    """Write the figures here as JSON."""


@dataclass(frozen=True)
class Latencies:
    """Latencies of steps under load.

    p50, p99, longest: milliseconds. rate: steps per second. processor: the server's CPU use, 1 for one full core.
    """

    p50: float
    p99: float
    longest: float
    rate: float
    processor: float


@dataclass(frozen=True)
class ServerResources:
    """Resources that the server holds: megabytes of memory, number of threads, number of open files."""

    megabytes: float
    threads: int
    files: int


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return its exit code."""
    from rich.console import Console

    options = read_options(ServeBenchOptions, "serve", argv, __doc__)
    check_count("--sessions", options.sessions, 1)
    check_count("--in-a-row", options.in_a_row)
    check_number("--think", options.think, 0.0)
    check_number("--seconds", options.seconds, above=0.0)
    if not Path("/proc/self/stat").is_file():
        raise InputError("palaestra bench serve reads /proc, which this system does not have; run it on Linux.")
    require("palaestra bench serve", "serve", "websockets")
    console = Console()
    with start_server(options.env, options.sessions + _SPARE) as (process, address):
        with console.status(f"{options.sessions} sessions, each thinking"):
            thinking = asyncio.run(measure_latencies(process, address, options, options.think))
        with console.status(f"{options.sessions} sessions without a pause"):
            pressing = asyncio.run(measure_latencies(process, address, options, 0.0))
        with console.status(f"{options.in_a_row:,} sessions in a row"):
            began = time.perf_counter()
            before, after = asyncio.run(measure_resources(process, address, options))
            took = time.perf_counter() - began
    rows = []
    for name, found in ((f"thinking {options.think:g} s", thinking), ("without a pause", pressing)):
        milliseconds = (f"{value:.1f}" for value in (found.p50, found.p99, found.longest))
        rows.append((name, *milliseconds, f"{found.rate:,.0f}", f"{found.processor:.2f}"))
    head = ("", "p50 ms", "p99 ms", "longest ms", "steps/s", "server's processors")
    title = f"palaestra serve {options.env}, {options.sessions} sessions at once"
    console.print(make_table(head, rows, text=1, title=title))
    console.print(
        f"{options.in_a_row:,} sessions in a row, {options.in_a_row / took:,.0f}/s: {before.megabytes:.1f} to "
        f"{after.megabytes:.1f} MB, {before.threads} to {after.threads} threads, {before.files} to {after.files} files."
    )
    latencies = {"thinking": asdict(thinking), "pressing": asdict(pressing)}
    write_json(options.json, latencies | {"before": asdict(before), "after": asdict(after), "seconds": took})
    return 0


@contextlib.contextmanager
def start_server(env_id: str, connections: int) -> Iterator[tuple[int, str]]:
    """Run `palaestra serve` while the context is open, and yield its process id and its address.

    Raises:
        InputError: the server does not start.
    """
    command = [sys.executable, "-m", "palaestra.scripts.serve", env_id, "--port", "0"]
    command += ["--connections", str(connections)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        if " at http" not in line:
            raise InputError(f"palaestra serve {env_id} did not start; it says why above.")
        try:
            yield server.pid, line.partition(" at ")[2].split()[0].replace("http", "ws", 1) + "/ws"
        finally:
            server.send_signal(signal.SIGINT)


async def measure_latencies(process: int, address: str, options: ServeBenchOptions, think: float) -> Latencies:
    """Let all sessions play for ``options.seconds``, with mean waits of ``think`` seconds, and time their steps."""
    generators = np.random.SeedSequence(options.seed).spawn(options.sessions)
    ready, times = asyncio.Barrier(options.sessions + 1), []

    async def play(number: int) -> None:
        rng = np.random.default_rng(generators[number])
        async with _connect(address) as socket:
            await _ask(socket, "reset", {"seed": number})
            await ready.wait()
            await asyncio.sleep(rng.uniform(0.0, think))
            until = time.perf_counter() + options.seconds
            while (began := time.perf_counter()) < until:
                answer = await _ask(socket, "step", {"action": options.action})
                times.append(time.perf_counter() - began)
                if answer["done"]:
                    await _ask(socket, "reset", {"seed": int(rng.integers(2**31))})
                if think:
                    await asyncio.sleep(rng.uniform(0.0, 2.0 * think))

    async with asyncio.TaskGroup() as group:
        for number in range(options.sessions):
            group.create_task(play(number))
        await ready.wait()
        began, used = time.perf_counter(), _processor_seconds(process)
    took = time.perf_counter() - began
    milliseconds = np.quantile(1000.0 * np.array(times), (0.5, 0.99, 1.0)).tolist()
    return Latencies(*milliseconds, rate=len(times) / took, processor=(_processor_seconds(process) - used) / took)


async def measure_resources(
    process: int, address: str, options: ServeBenchOptions
) -> tuple[ServerResources, ServerResources]:
    """Play sessions one after another, `_AT_ONCE` in parallel. Return the server's resources after `WARM` sessions and
    at the end."""
    turns = iter(range(options.in_a_row))

    async def play(count: int) -> None:
        for number in turns:
            async with _connect(address) as socket:
                await _ask(socket, "reset", {"seed": number})
                await _ask(socket, "step", {"action": options.action})
                if number % 3 == 0:
                    socket.transport.abort()
            count -= 1
            if not count:
                return

    async def play_all(count: int) -> ServerResources:
        await asyncio.gather(*(play(count) for _ in range(_AT_ONCE)))
        await asyncio.sleep(0.5)
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        files = len(os.listdir(f"/proc/{process}/fd"))
        return ServerResources(int(status["VmRSS"].split()[0]) / 1024, int(status["Threads"]), files)

    before = await play_all(max(WARM // _AT_ONCE, 1))
    return before, await play_all(options.in_a_row)


def _connect(address: str) -> Any:
    from websockets.asyncio.client import connect

    return connect(address, proxy=None, compression=None, close_timeout=10.0, open_timeout=60.0)


async def _ask(socket: Any, kind: str, data: dict[str, Any]) -> dict[str, Any]:
    await socket.send(json.dumps({"type": kind, "data": data}))
    answer = json.loads(await socket.recv())
    if answer["type"] == "error":
        raise InputError(f"the server refuses a {kind}: {answer['data']['message']}")
    return answer["data"]


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
