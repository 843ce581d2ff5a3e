"""The trial of OpenEnv's own package, in an environment that has it: ``python openenv_trial.py ADDRESS``.

OpenEnv's client plays on the server at ADDRESS, and what it saw is printed as a line of JSON. Then OpenEnv's server
begins, prints its port, and serves until standard input ends.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from typing import Any

import uvicorn
from openenv.core import GenericEnvClient
from openenv.core.env_server import Action, Environment, Observation, State, create_fastapi_app


def play(address: str) -> dict[str, Any]:
    """Guess numbers by halving, on our server, by OpenEnv's client: in the two ways in which an action can be said."""
    seen: dict[str, Any] = {"rewards": [], "errors": []}
    with GenericEnvClient(base_url=address).sync() as env:
        for action in (lambda n: {"action": str(n)}, lambda n: {"name": "guess", "arguments": {"number": n}}):
            result = env.reset(seed=5, params={"bits": 6, "slack": 2})
            seen["first"] = result.observation["text"]
            low, high = 1, 64
            while not result.done:
                middle = (low + high) // 2
                result = env.step(action(middle))
                text = result.observation["text"].lower()
                low, high = (middle + 1, high) if "higher" in text else (low, middle - 1)
            seen["rewards"].append(result.reward)
            seen["state"] = env.state()
        for call in (lambda: env.step({"wrong": 1}), lambda: env.reset(colour="red")):
            try:
                call()
            except RuntimeError as error:
                seen["errors"].append(str(error))
    seen["concurrent"] = asyncio.run(play_together(address))
    return seen


async def play_together(address: str) -> list[str]:
    clients = [GenericEnvClient(base_url=address) for _ in range(8)]
    results = await asyncio.gather(*(client.reset(seed=number) for number, client in enumerate(clients)))
    states = await asyncio.gather(*(client.state() for client in clients))
    await asyncio.gather(*(client.close() for client in clients))
    assert all(result.observation["text"] for result in results)
    return [state["task_id"] for state in states]


class Word(Action):
    word: str


class Echo(Observation):
    said: str


class Parrot(Environment):
    """Says what it hears; "stop" ends the episode, "break" breaks the environment."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self):
        super().__init__()
        self._state = State()

    def reset(self, seed=None, episode_id=None, **options):
        self._state = State(episode_id=episode_id, step_count=0, difficulty=options.get("difficulty"))
        return Echo(said=f"seed {seed}")

    def step(self, action, timeout_s=None, **options):
        if action.word == "break":
            raise OSError("a wing is broken")
        self._state.step_count += 1
        return Echo(said=action.word, done=action.word == "stop", reward=len(action.word) / 10)

    @property
    def state(self):
        return self._state


def serve() -> None:
    """Serve a `Parrot` until standard input ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = create_fastapi_app(Parrot, Word, Echo, max_concurrent_envs=8)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    print(json.dumps(play(sys.argv[1])), flush=True)
    serve()
