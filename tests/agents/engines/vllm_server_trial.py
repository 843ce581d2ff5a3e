"""Run by the tests of the engine of a vLLM server in vLLM's own environment: ``vllm_server_trial.py FOLDER``.

A server takes long to load, so that one does for as much as it can before it is killed. It writes what it has seen to
FOLDER/seen.json, and the tests say what must hold of it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from palaestra.agents.engines import checkpoint
from palaestra.agents.engines.engine import ENGINES
from palaestra.agents.engines.serving import Serving
from palaestra.agents.language.model import LanguageModel
from vllm_trial import CONTEXT, LINE, build, conform, gaps, refuse, rows, train, update

KIND: Any = ENGINES["vllm-server"]


def played(run: Path) -> list[Any]:
    """What was played: validity, success and actions of the episodes that are kept, and the outcome of each task."""
    episodes = [
        [row["reward_valid"], row["is_success"], [turn["action"] for turn in row["turns"]]]
        for row in rows(run, "trajectories")
    ]
    return [episodes, [[row["n"], row["success"], row["length"]] for row in rows(run, "proposals")]]


def members(group: int) -> list[int]:
    """The living processes of a process group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of) == group and state != "Z":
                found.append(int(stat.parent.name))
    return sorted(found)


def children(pid: int) -> list[int]:
    return [int(child) for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]


@contextlib.contextmanager
def killed_in_step(engine: Any, version: int) -> Iterator[list[int]]:
    """Kill the server of ``engine`` once, when some answers of a step have come and others are in flight."""
    finish, in_flight = KIND._finish, []

    def kill_once(self: Any, number: int, answer: Any) -> Any:
        done = finish(self, number, answer)
        if self._version == version and not in_flight and len(self._sessions) > 1:
            in_flight.append(len(self._sessions))
            for child in children(engine.process.process.pid):
                os.kill(child, signal.SIGKILL)
        return done

    KIND._finish = kill_once
    try:
        yield in_flight
    finally:
        KIND._finish = finish


def said(line: str) -> list[Any]:
    """The exit code of a run and what it wrote to standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as written:
        code = train(line)
    print(written.getvalue())
    return [code, " ".join(written.getvalue().split())]


def end_trainer(folder: Path, number: int) -> list[Any]:
    """Send a signal to a run whose server loads: its server's processes before, and those left of them after."""
    line = f"{LINE} --model {folder / 'qwen'} --engine vllm-server --out {folder / f'ended-{number}'}"
    temporary = folder / f"temporary-{number}"
    temporary.mkdir()
    command = [sys.executable, "-m", "palaestra.scripts.cli", "train", *line.split()]
    trainer = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)}, start_new_session=True)
    guards: list[int] = []
    until = time.monotonic() + 120
    while time.monotonic() < until and trainer.poll() is None and not (guards and len(members(guards[0])) > 1):
        guards = [child for child in children(trainer.pid) if "server_guard" in _command(child)]
        time.sleep(0.1)
    time.sleep(2)
    before = len(members(guards[0])) if guards else 0
    while trainer.poll() is None and time.monotonic() < until + 60:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(trainer.pid, number)
        time.sleep(0.5)
    left = members(guards[0])
    until = time.monotonic() + 20
    while left and time.monotonic() < until:
        time.sleep(0.1)
        left = members(guards[0])
    return [before, left, [path.name for path in temporary.glob("palaestra-vllm-*")]]


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text()
    return ""


def try_server(folder: Path, seen: dict[str, Any]) -> None:
    for family in ("qwen", "llama"):
        build(family).save(folder / family)
    language = LanguageModel.load(folder / "qwen")
    engine = KIND.serve(language, 8, CONTEXT, cache_gb=0.1)
    begun = time.monotonic()
    engine.load_weights(0)
    seen["load"] = time.monotonic() - begun
    seen["conformance"] = conform(engine, language)
    seen["update"] = update(engine, language, checkpoint.vocabulary_of(language))

    # The same server at its address, as a user names it.
    shared, url = engine._folder, engine.url
    other = KIND.serve(LanguageModel.load(folder / "llama"), 8, CONTEXT, url=url, folder=str(folder / "other"))
    seen["other model"] = refuse(lambda: other.load_weights(0))
    longer = KIND.serve(language, 8, CONTEXT + 3, url=url, folder=str(shared))
    seen["too short"] = refuse(lambda: longer.load_weights(0))
    options = f"--engine vllm-server --engine-option url={url} folder={shared} patience=2"
    line = f"{LINE} --model {folder / 'qwen'}"
    with killed_in_step(engine, 1) as in_flight:
        seen["lost"] = said(f"{line} {options} --out {folder / 'lost'}")
    seen["lost in flight"], seen["lost gaps"] = in_flight, gaps(folder / "lost")
    seen["left of the first"] = members(engine.process.process.pid)

    # An engine with a server of its own starts it again, first for the resumed run, then in mid-step.
    real_open, processes = Serving.open, [engine.process]

    def open_same(self: Serving, *arguments: Any) -> Any:
        self._kept = engine
        return real_open(self, *arguments)

    Serving.open = open_same  # type: ignore[method-assign]
    keep, KIND.shut_down = KIND.shut_down, lambda self: None
    own = "--engine vllm-server --engine-option cache_gb=0.1"
    seen["resumed"] = train(f"--resume {folder / 'lost'} {own}")
    seen["resumed gaps"], seen["resumed played"] = gaps(folder / "lost"), played(folder / "lost")
    processes.append(engine.process)
    seen["plain"] = train(f"{line} {own} --out {folder / 'plain'}")
    with killed_in_step(engine, 1) as in_flight:
        seen["served"] = train(f"{line} {own} --out {folder / 'served'}")
    seen["in flight"], seen["served gaps"] = in_flight, gaps(folder / "served")
    processes.append(engine.process)
    seen["plain played"], seen["served played"] = played(folder / "plain"), played(folder / "served")
    Serving.open, KIND.shut_down = real_open, keep  # type: ignore[method-assign]
    engine.shut_down()
    seen["servers"] = len({one.process.pid for one in processes})
    seen["left"] = [pid for one in processes for pid in members(one.process.pid)]
    seen["folder left"] = shared.exists()
    for number in (signal.SIGKILL, signal.SIGINT):
        seen[f"trainer ended by {number.name}"] = end_trainer(folder, number)


if __name__ == "__main__":
    where, record = Path(sys.argv[1]), {}
    try:
        try_server(where, record)
    except BaseException:
        record["error"] = traceback.format_exc()
    record["seconds of processor"] = sum(os.times()[:4])
    (where / "seen.json").write_text(json.dumps(record, indent=1))
