"""Run by the tests of the engine of a vLLM server in vLLM's own environment: ``vllm_server_trial.py FOLDER``.

A server takes long to load, so that one does for all but what is seen of the second one, which comes when the first is
killed. It writes what it has seen to FOLDER/seen.json, and the tests say what must hold of it. Then it kills itself.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from palaestra.agents.engines import checkpoint
from palaestra.agents.engines.engine import ENGINES
from palaestra.agents.engines.gap import measure_gap
from palaestra.agents.engines.policy_engine import PolicyEngine
from palaestra.agents.language.model import LanguageModel
from palaestra.scripts.cli import main
from process_groups import children, members
from vllm_trial import CONTEXT, LINE, build, conform, gaps, refuse, rows, swap, train, update, without_reports

KIND: Any = ENGINES["vllm-server"]
TEMPLATE = "{% for message in messages %}{{ message['content'] }}\n{% endfor %}"
"""What the server's model is asked in a chat: the text of the messages alone."""


def played(run: Path) -> list[Any]:
    """What was played: validity, success and actions of the episodes that are kept, and the outcome of each task."""
    episodes = [
        [row["reward_valid"], row["is_success"], [turn["action"] for turn in row["turns"]]]
        for row in rows(run, "trajectories")
    ]
    return [episodes, [[row["n"], row["success"], row["length"]] for row in rows(run, "proposals")]]


class Relay:
    """A port of its own that leads to a server, until it is cut, or lets nothing through."""

    def __init__(self, target: int):
        self._target, self._sockets = target, []
        self._open = threading.Event()
        self._open.set()
        self._listener = self._listen(0)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def hold(self) -> None:
        """Let nothing through; what comes meanwhile is kept."""
        self._open.clear()

    def let_go(self) -> None:
        self._open.set()

    def mend(self) -> None:
        self._sockets = []
        self._listener = self._listen(int(self.url.rpartition(":")[2]))

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                pair = [listener.accept()[0], socket.create_connection(("127.0.0.1", self._target))]
                self._sockets += pair
                for source, sink in (pair, pair[::-1]):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._open.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def in_step(version: int, act: Callable[[], Any]) -> Iterator[list[int]]:
    """Act once, when some answers of a step with these weights have come and others are in flight: how many are."""
    finish, in_flight = KIND._finish, []

    def act_once(self: Any, number: int, answer: Any) -> Any:
        done = finish(self, number, answer)
        if self._version == version and not in_flight and len(self._sessions) > 1:
            in_flight.append(len(self._sessions))
            act()
        return done

    KIND._finish = act_once
    try:
        yield in_flight
    finally:
        KIND._finish = finish


@contextlib.contextmanager
def at_recovery(act: Callable[[], Any]) -> Iterator[None]:
    """Act when a server counts as lost."""
    recover = KIND._recover

    def act_first(self: Any, error: Exception) -> None:
        act()
        recover(self, error)

    KIND._recover = act_first
    try:
        yield
    finally:
        KIND._recover = recover


def said(line: str) -> list[Any]:
    """The exit code of a run and what it wrote to standard error."""
    with contextlib.redirect_stderr(io.StringIO()) as written:
        code = train(line)
    print(written.getvalue())
    return [code, " ".join(written.getvalue().split())]


def refuse_others(language: LanguageModel, folder: Path, url: str, seen: dict[str, Any]) -> None:
    """What does not fit a server is refused; who uses it meanwhile samples from its own weights alone."""
    user = KIND.serve(language, 8, CONTEXT, url=url, folder=str(folder / "user"))
    user.load_weights(0)
    recover, user.losses = user._recover, []
    user._recover = lambda error: (user.losses.append(str(error)), recover(error))
    other = KIND.serve(LanguageModel.load(folder / "llama"), 8, CONTEXT, url=url, folder=str(folder / "other"))
    seen["other model"] = refuse(lambda: other.load_weights(0))
    seen["gap after the other model"] = measure_gap(user, language, checkpoint.vocabulary_of(language))
    seen["losses after the other model"] = user.losses
    longer = KIND.serve(language, 8, CONTEXT + 3, url=url, folder=str(folder / "longer"))
    seen["too short"] = refuse(lambda: longer.load_weights(0))
    for engine in (user, other, longer):
        engine.shut_down()


def chat(folder: Path, url: str) -> list[Any]:
    """Play an environment with the server behind the agent of endpoints: exit code, scores and what was played."""
    played, scores = folder / "chat.jsonl", folder / "chat.json"
    line = "eval palaestra/Arithmetic-v0 --agent openai:policy --episodes 4 --max-new-tokens 6 --agent-option retries=0"
    code = main([*line.split(), "--base-url", f"{url}/v1", "--out", str(played), "--json", str(scores)])
    return [code, json.loads(scores.read_text()), [json.loads(text) for text in played.read_text().splitlines()]]


def try_server(folder: Path, seen: dict[str, Any]) -> None:
    begun = time.monotonic()

    def lap(name: str) -> None:
        seen[f"seconds until {name}"] = round(time.monotonic() - begun, 1)

    build("qwen").save(folder / "qwen")
    language = LanguageModel.load(folder / "qwen")
    adapted = LanguageModel.load(folder / "qwen").with_lora(2)
    engine = KIND.serve(adapted, 8, CONTEXT, cache_gb=0.1)  # with room for adapters
    engine.follow(language)
    # This first server can chat as well, which a run does not need.
    arguments = engine._arguments
    chatting = [one for one in arguments if one not in ("--tokens-only", "--skip-tokenizer-init")]
    talk = ["--enable-scale-out", f"--tokenizer={folder / 'qwen'}", f"--chat-template={TEMPLATE}"]
    engine._arguments = [*chatting, *talk]
    with ThreadPoolExecutor(1) as background:
        loading = background.submit(engine.load_weights, 0)
        build("llama").save(folder / "llama")
        build("qwen", num_hidden_layers=3).save(folder / "deeper")
        loading.result()
    engine._arguments = arguments
    lap("the server has loaded")
    first = engine.process.process.pid
    seen["chat"] = chat(folder, engine.url)
    lap("the chat is over")
    seen["conformance"] = conform(engine, language)
    seen["update"] = update(engine, language, checkpoint.vocabulary_of(language))
    seen["adapters"] = swap(engine, adapted, checkpoint.vocabulary_of(language))
    relay = Relay(int(engine.url.rpartition(":")[2]))
    refuse_others(language, folder, relay.url, seen)
    lap("it conforms")

    # A run with this server as its own, which nothing disturbs.
    real_open = PolicyEngine.open

    def open_same(self: PolicyEngine, *arguments: Any) -> Any:
        self._kept = self._kept or engine
        return real_open(self, *arguments)

    PolicyEngine.open = open_same  # type: ignore[method-assign]
    keep, KIND.shut_down = KIND.shut_down, lambda self: None
    line, own = f"{LINE} --lora 2 --model {folder / 'qwen'}", "--engine vllm-server --engine-option cache_gb=0.1"
    seen["plain"] = train(f"{line} {own} --out {folder / 'plain'}")
    seen["plain played"] = played(folder / "plain")
    lap("the plain run is over")

    # The same with the server at an address, which becomes unreachable; then it hangs.
    PolicyEngine.open = real_open  # type: ignore[method-assign]
    there = f"--engine vllm-server --engine-option url={relay.url} folder={folder / 'shared'}"
    with in_step(1, relay.cut) as seen["lost in flight"]:
        seen["lost"] = said(f"{line} {there} patience=6 --out {folder / 'lost'}")
    seen["lost gaps"] = gaps(folder / "lost")
    relay.mend()
    with in_step(1, relay.hold) as seen["hanging in flight"], at_recovery(relay.let_go):
        seen["resumed"] = said(f"--resume {folder / 'lost'} {there} stall=6")
    seen["resumed gaps"], seen["resumed played"] = gaps(folder / "lost"), played(folder / "lost")
    lap("the run at an address is over")

    # The same with a server of its own, which is killed.
    PolicyEngine.open = open_same  # type: ignore[method-assign]
    with in_step(1, lambda: [os.kill(child, signal.SIGKILL) for child in children(first)]) as seen["in flight"]:
        seen["served"] = train(f"{line} {own} --out {folder / 'served'}")
    seen["served gaps"], seen["served played"] = gaps(folder / "served"), played(folder / "served")
    PolicyEngine.open, KIND.shut_down = real_open, keep  # type: ignore[method-assign]
    seen["left of the first"] = members(first)
    second = engine.process.process.pid
    seen["second"], seen["members of the second"] = second, members(second)
    seen["folder"], seen["folder before"] = str(engine._weights.folder), engine._weights.folder.exists()
    lap("the run with a killed server is over")
    # Weights that do not fit fail half-way; the server is of no use afterwards.
    engine.follow(LanguageModel.load(folder / "deeper"))
    seen["deeper model"] = [refuse(lambda: engine.load_weights(9)), engine._version]
    lap("the end")


if __name__ == "__main__":
    where, record = Path(sys.argv[1]), {}
    without_reports()
    try:
        try_server(where, record)
    except BaseException:
        record["error"] = traceback.format_exc()
    record["seconds of processor"] = sum(os.times()[:4])
    (where / "seen.json").write_text(json.dumps(record, indent=1))
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)
