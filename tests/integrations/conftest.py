"""The environments of scripts/peers.sh, in which other projects run for real, and the endpoint that they ask."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import palaestra
import pytest
from palaestra.integrations.core import EpisodeRow, TextEpisode

from ..rewards.judges.chat_server import serving  # isort: skip

ROOT = Path(palaestra.__file__).parent


@pytest.fixture(scope="session")
def peer_home() -> Callable[[str], Path]:
    """``peer_home(".venv-peers")``: the folder of an environment, once it is made; skips where nobody makes it."""

    def find(name: str) -> Path:
        lock = ROOT / ".venv-peers" / "lock"
        if lock.is_file():
            with lock.open("a") as waiting:
                fcntl.flock(waiting, fcntl.LOCK_EX)
        if not (ROOT / name / "installed").is_file():
            pytest.skip(f"{name} is not there beside the checkout: bash scripts/peers.sh")
        return ROOT / name

    return find


@pytest.fixture(scope="session")
def serve_solver() -> Any:
    """``with serve_solver(rows) as server``: a chat endpoint at ``server.url``. Its model "solver" plays the episodes
    of the rows by the environments' own solvers; to anything else, and by any other name, the answer is "no idea"."""

    @contextlib.contextmanager
    def serve(rows: Iterable[EpisodeRow]) -> Iterator[Any]:
        by_prompt: dict[str, EpisodeRow] = {}
        episode = TextEpisode()
        for row in rows:
            prompt = episode.begin(row)
            assert prompt not in by_prompt, "two episodes begin alike, so that nobody knows which one is played"
            by_prompt[prompt] = row
        episode.close()

        def reply(request: dict[str, Any], number: int) -> dict[str, Any]:
            action = "no idea"
            said = [(message["role"], _text_of(message)) for message in request["messages"]]
            prompt = next(text for role, text in said if role == "user")
            if request["model"].rpartition("/")[2] == "solver" and prompt in by_prompt:
                episode = TextEpisode()
                episode.begin(by_prompt[prompt])
                for role, text in said:
                    if role == "assistant":
                        episode.act(text)
                action = episode.env.unwrapped.oracle()  # type: ignore[attr-defined]
                episode.close()
            return {"content": action, "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}}

        with serving(reply) as server:
            yield server

    return serve


def _text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
