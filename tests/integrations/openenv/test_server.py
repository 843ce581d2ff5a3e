"""The server: OpenEnv's messages, what is refused, what stays apart, and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.errors import InputError
from palaestra.integrations.openenv.server import OpenEnvServer, ServerLimits
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

GAME = "palaestra/GuessNumber-v0"


class Unruly(Game):
    """A game that does what it is told: hang, raise, exit, or give a reward that is no number."""

    param_space = ParamSpace([IntAxis("size", 2, 9)])
    open_ones: set[int] = set()  # noqa: RUF012
    release = threading.Event()

    def start(self, rng, params):
        type(self).open_ones.add(id(self))
        return int(rng.integers(params["size"]))

    def observe(self, state):
        return f"{state} {threading.get_ident()}"

    def act(self, state, action):
        if action == "hang":
            self.release.wait(120)
        if action == "raise":
            raise OSError("the disk is gone")
        if action == "exit":
            raise SystemExit(3)
        return Transition(
            state, done=action == "end", success=action == "end", terms={"odd": float("nan")} if action == "nan" else {}
        )

    def oracle(self, state):
        return "end"

    def close(self):
        type(self).open_ones.discard(id(self))


gym.register("test/Unruly-v0", Unruly)


class Client:
    def __init__(self, server: OpenEnvServer, **options: Any):
        self.socket = connect(server.address.replace("http", "ws") + "/ws", proxy=None, **options).__enter__()

    def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        return self.say(json.dumps({"type": kind, **({"data": data} if data or kind != "state" else {})}))

    def say(self, text: str | bytes) -> dict[str, Any]:
        self.socket.send(text)
        return json.loads(self.socket.recv(60))

    def code(self, text: str) -> str:
        answer = self.say(text)
        assert answer["type"] == "error"
        return answer["data"]["code"]


def test_an_episode_is_played_by_messages_and_tells_no_solution(serve):
    with serve(GAME) as server:
        client = Client(server)
        begun = client.ask("reset", seed=5, difficulty=0.0, episode_id="mine")
        env = gym.make(GAME, disable_env_checker=True)
        text, info = env.reset(seed=5, options={"difficulty": 0.0})
        assert begun == {
            "type": "observation",
            "data": {
                "observation": {"text": text, "action_error": None, "terminated": False, "truncated": False},
                "reward": None,
                "done": False,
            },
        }
        state = client.ask("state")["data"]
        assert (state["episode_id"], state["task_id"], state["params"]) == ("mine", info["task_id"], info["params"])
        done = False
        while not done:
            action = env.unwrapped.oracle()  # type: ignore[attr-defined]
            text, reward, terminated, truncated, _ = env.step(action)
            data = client.ask("step", action=action)["data"]
            assert (data["observation"]["text"], data["reward"], data["done"]) == (
                text,
                reward,
                terminated or truncated,
            )
            done = data["done"]
        state = client.ask("state")["data"]
        assert (state["is_success"], state["return"], state["terminated"]) == (True, 1.0, True)
        assert not {"extras", "reference", "solution_steps"} & set(state)
        assert client.ask("step", action="1")["data"]["message"].startswith("no episode is running")


def test_functions_of_an_environment_can_be_called(serve):
    with serve("palaestra/SQLExplorer-v0") as server:
        client = Client(server)
        client.ask("reset", seed=0)
        shown = client.ask("step", name="tables", arguments={})["data"]["observation"]
        assert shown["action_error"] is None
        refused = client.ask("step", name="table")["data"]
        assert refused["code"] == "VALIDATION_ERROR"
        assert "tables" in refused["message"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "INVALID_JSON"),
        ("[" * 100_000, "INVALID_JSON"),
        (b"\xff\x00", "INVALID_JSON"),
        ("3", "INVALID_JSON"),
        ('{"data": {}}', "INVALID_JSON"),
        ('{"type": "dance"}', "UNKNOWN_TYPE"),
        ('{"type": "mcp", "data": {}}', "UNKNOWN_TYPE"),
        ('{"type": "step", "data": 3}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {}}', "VALIDATION_ERROR"),
        ('{"type": "step", "data": {"action": "1", "more": 2}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": -1}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"seed": true}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"sead": 1}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"env": "palaestra/Sokoban-v0"}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"difficulty": 9}}', "VALIDATION_ERROR"),
        ('{"type": "reset", "data": {"axes": {"bits": "x"}}}', "VALIDATION_ERROR"),
    ],
)
def test_what_cannot_be_read_is_an_error_and_the_episode_goes_on(text, code, serve):
    with serve(GAME) as server:
        client = Client(server)
        before = client.ask("reset", seed=1)
        assert client.code(text) == code
        again = client.ask("reset", seed=1)
        assert again == before


def test_a_message_that_is_too_long_ends_its_connection_alone(serve):
    with serve(GAME, limits=ServerLimits(message_bytes=1000)) as server:
        other, client = Client(server), Client(server)
        with pytest.raises(ConnectionClosed):
            client.say("x" * 1001)
        assert other.ask("reset", seed=1)["type"] == "observation"


def test_connections_are_apart_and_no_more_than_the_limit(serve):
    with serve(GAME, limits=ServerLimits(connections=2)) as server:
        one, two = Client(server), Client(server)
        one.ask("reset", seed=1)
        two.ask("reset", seed=2)
        first = one.ask("state")["data"]
        two.ask("step", action="3")
        assert one.ask("state")["data"] == first
        third = Client(server)
        assert json.loads(third.socket.recv(60))["data"]["code"] == "CAPACITY_REACHED"
        two.socket.close()
        until, answer = time.monotonic() + 60, {}
        while answer.get("type") != "observation" and time.monotonic() < until:
            # A refused connection may be closed before it is asked something.
            with contextlib.suppress(ConnectionClosed):
                answer = Client(server).ask("reset", seed=3)
        assert answer["type"] == "observation"


def test_a_token_keeps_others_out(serve):
    with serve(GAME, token="söcret") as server:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Bearer "}):
            with pytest.raises(InvalidStatus):
                Client(server, additional_headers=headers)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{server.address}/schema")
        assert json.load(urllib.request.urlopen(f"{server.address}/health")) == {"status": "healthy"}
        address = f"{server.address.replace('http', 'ws')}/ws?token=s%C3%B6cret"
        with connect(address, proxy=None) as opened:
            opened.send('{"type": "reset"}')
            assert json.loads(opened.recv(60))["type"] == "observation"


def test_pages_of_other_sites_are_refused(serve):
    with serve(GAME) as server, pytest.raises(InvalidStatus):
        Client(server, origin="http://evil.example")


def test_plain_requests_tell_what_is_served(serve):
    with serve(GAME, "palaestra/Hangman-v0") as server:
        assert (
            json.load(urllib.request.urlopen(f"{server.address}/metadata"))["name"] == f"{GAME}, palaestra/Hangman-v0"
        )
        assert set(json.load(urllib.request.urlopen(f"{server.address}/schema"))) >= {"action", "observation", "state"}
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{server.address}/reset")


@pytest.mark.parametrize(("action", "said"), [("raise", "the disk is gone"), ("exit", "SystemExit"), ("nan", "nan")])
def test_a_failing_environment_is_no_reward_and_the_next_reset_makes_another(action, said, serve):
    with serve("test/Unruly-v0") as server:
        client = Client(server)
        client.ask("reset", seed=1)
        answer = client.ask("step", action=action)
        assert (answer["type"], answer["data"]["code"]) == ("error", "EXECUTION_ERROR")
        assert said in answer["data"]["message"]
        assert client.ask("state")["data"]["reward_valid"] is False
        assert client.ask("step", action="end")["data"]["code"] == "VALIDATION_ERROR"
        assert client.ask("reset", seed=1)["type"] == "observation"
        assert client.ask("step", action="end")["data"]["reward"] == 1.0


def test_a_hanging_step_ends_its_connection_and_holds_up_nobody(serve):
    Unruly.release.clear()
    with serve("test/Unruly-v0") as server:
        other, client = Client(server), Client(server)
        client.ask("reset", seed=1)
        server.limits = ServerLimits(step_seconds=0.5)
        answer = client.ask("step", action="hang")
        assert answer["data"]["code"] == "SESSION_ERROR"
        server.limits = ServerLimits()
        with pytest.raises(ConnectionClosed):
            client.ask("state")
        assert other.ask("reset", seed=1)["type"] == "observation"
        Unruly.release.set()


def test_a_hanging_environment_keeps_its_place_until_it_returns(serve):
    Unruly.release.clear()
    with serve("test/Unruly-v0", limits=ServerLimits(connections=1)) as server:
        client = Client(server)
        client.ask("reset", seed=1)
        server.limits = ServerLimits(connections=1, step_seconds=0.2)
        client.ask("step", action="hang")
        server.limits = ServerLimits(connections=1)
        with pytest.raises(ConnectionClosed):
            client.ask("state")
        assert json.loads(Client(server).socket.recv(60))["data"]["code"] == "CAPACITY_REACHED"
        Unruly.release.set()
        until = time.monotonic() + 60
        while Unruly.open_ones and time.monotonic() < until:
            time.sleep(0.02)
        assert Client(server).ask("reset", seed=1)["type"] == "observation"


def test_the_server_ends_soon_though_a_step_runs(serve, monkeypatch):
    monkeypatch.setattr("palaestra.integrations.openenv.server._END_SECONDS", 0.1)
    Unruly.release.clear()
    with serve("test/Unruly-v0", limits=ServerLimits(step_seconds=60)) as server:
        client = Client(server)
        client.ask("reset", seed=1)
        client.socket.send(json.dumps({"type": "step", "data": {"action": "hang"}}))
        time.sleep(0.2)
        began = time.monotonic()
    assert time.monotonic() - began < 60
    Unruly.release.set()


def test_idle_connections_are_closed(serve):
    with serve(GAME, limits=ServerLimits(idle_seconds=0.2)) as server:
        client = Client(server)
        with pytest.raises(ConnectionClosed):
            client.socket.recv(60)


def test_every_connection_has_a_thread_and_nothing_is_left_of_those_that_ended(serve):
    Unruly.open_ones.clear()
    before = threading.active_count()
    with serve("test/Unruly-v0") as server:
        for number in range(40):
            client = Client(server)
            client.ask("reset", seed=number)
            if number % 2:
                client.socket.close()
            else:
                client.socket.socket.shutdown(socket.SHUT_RDWR)  # as a client that is killed
        until = time.monotonic() + 60
        while Unruly.open_ones and time.monotonic() < until:
            time.sleep(0.02)
        assert Unruly.open_ones == set()
        assert server.served == 40
    until = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threading.active_count() <= before


def test_splits_and_difficulty_that_the_server_fixes_are_not_the_clients_to_choose(serve):
    with serve(GAME, kwargs={"split": "train", "difficulty": 0.0}) as server:
        client = Client(server)
        for data in ({"split": "test"}, {"difficulty": 1.0}, {"params": {"bits": 9}}):
            answer = client.ask("reset", **data)
            assert "fixed by this server" in answer["data"]["message"]
        client.ask("reset", seed=1)
        assert client.ask("state")["data"]["difficulty"] == 0.0


def test_what_cannot_be_served_is_one_sentence_before_anybody_connects():
    for offered, kwargs, sentence in (
        ("palaestra/Sokobann-v0", {}, "did you mean"),
        (GAME, {"difficulty": "hard"}, "difficulty"),
    ):
        with pytest.raises(InputError, match=sentence):
            asyncio.run(OpenEnvServer([offered], kwargs, port=0).__aenter__())
