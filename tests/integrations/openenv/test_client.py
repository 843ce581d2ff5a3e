"""The client: what a server plays is what the environment plays; failures are told apart from refusals."""

from __future__ import annotations

import contextlib
import http
import json
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.errors import InputError
from palaestra.integrations.openenv import connect
from websockets.sync.server import serve as serve_socket

GAME = "palaestra/GuessNumber-v0"


def test_a_served_environment_plays_as_the_environment_itself(serve):
    with serve(GAME) as server, contextlib.closing(connect(server.address)) as env:
        direct = gym.make(GAME, disable_env_checker=True)
        for seed in range(3):
            options = {"difficulty": seed / 4}
            seen, info = env.reset(seed=seed, options=options)
            text, told = direct.reset(seed=seed, options=options)
            assert seen == text
            assert {name: info[name] for name in ("task_id", "params", "difficulty")} == {
                name: told[name] for name in ("task_id", "params", "difficulty")
            }
            done = False
            while not done:
                action = direct.unwrapped.oracle()  # type: ignore[attr-defined]
                seen, reward, terminated, truncated, info = env.step(action)
                text, *outcome, told = direct.step(action)
                assert [seen, reward, terminated, truncated] == [text, *outcome]
                assert info["action_error"] == told["action_error"]
                done = terminated or truncated
            assert (info["is_success"], info["progress"], info["reward_valid"]) == (True, 1.0, True)
            with pytest.raises(gym.error.ResetNeeded):
                env.step("1")


def test_gymnasium_and_an_evaluation_take_it(serve):
    with serve("palaestra/Arithmetic-v0", kwargs={"difficulty": 0.0}) as server:
        env = connect(server.address)
        check_env(env, skip_render_check=True)

        def add_up(observation: str) -> str:
            return str(sum(map(int, observation.split("=")[0].split("+"))))

        report = palaestra.evaluate(add_up, lambda: connect(server.address), episodes=5)
        assert (report.success.mean, report.episodes) == (1.0, 5)


@contextlib.contextmanager
def scripted(answers: list[Any], schema: dict[str, Any] | None = None) -> Iterator[str]:
    """A server of somebody else's, that gives these answers in turn; None closes the connection."""
    waiting = iter(answers)

    def converse(socket: Any) -> None:
        for text in socket:
            message = json.loads(text)
            if message["type"] == "state":
                socket.send(json.dumps({"type": "error", "data": {"message": "no state", "code": "SESSION_ERROR"}}))
                continue
            if message["type"] == "close" or (answer := next(waiting)) is None:
                return
            socket.send(answer if isinstance(answer, str) else json.dumps(answer))

    def answer_plainly(connection: Any, request: Any) -> Any:
        if request.path == "/schema":
            return connection.respond(http.HTTPStatus.OK, json.dumps(schema or {}))
        return None

    with serve_socket(converse, "127.0.0.1", 0, process_request=answer_plainly) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


def observation(reward: float | None = None, done: bool = False, **seen: Any) -> dict[str, Any]:
    return {"type": "observation", "data": {"observation": seen, "reward": reward, "done": done}}


CODE = {"action": {"properties": {"code": {"type": "string"}, "metadata": {}}, "required": ["code"]}}
MANY = {"action": {"properties": {"x": {}, "y": {}}, "required": ["x", "y"]}}


def test_a_server_of_another_kind_is_played_in_text():
    with scripted([observation(prompt="hello"), observation(0.5, True, a=1, b="two")], CODE) as url:
        env = connect(url)
        assert env.reset(seed=3)[0] == "hello"
        seen, reward, terminated, truncated, info = env.step("print(1)")
        assert json.loads(seen) == {"a": 1, "b": "two"}
        assert (reward, terminated, truncated) == (0.5, True, False)
        assert "is_success" not in info  # nobody said
        env.close()


def test_actions_of_several_fields_are_json_and_anything_else_is_told_to_the_agent():
    with scripted([observation(text="go"), observation(1.0, True, text="end")], MANY) as url:
        env = connect(url)
        env.reset()
        info = env.step("left")[4]
        assert "an action is a JSON object with x, y" in info["action_error"]
        assert env.step('{"x": 1, "y": 2}')[1] == 1.0
        env.close()


def error(code: str) -> dict[str, Any]:
    return {"type": "error", "data": {"message": "so it is", "code": code}}


@pytest.mark.parametrize(
    ("answer", "valid"),
    [(error("VALIDATION_ERROR"), True), (error("EXECUTION_ERROR"), False), (None, False), ("no json", False)],
)
def test_a_refusal_costs_nothing_and_a_failure_is_no_reward(answer, valid):
    answers = [observation(text="go"), answer, observation(text="again"), observation(1.0, True, text="")]
    with scripted(answers, CODE) as url:
        env = connect(url, seconds=5)
        env.reset()
        _, reward, terminated, truncated, info = env.step("x")
        assert (reward, terminated, truncated) == (0.0, False, not valid)
        assert info["reward_valid"] is valid
        assert info["action_error"]
        assert env.reset()[0] == "again"  # connects anew where the connection was lost
        assert env.step("x")[1] == 1.0
        env.close()


def test_what_is_no_server_is_one_sentence(serve):
    with pytest.raises(InputError, match="begins with http"):
        connect("localhost:8000")
    with pytest.raises(InputError, match="no OpenEnv server answers at http"):
        connect("http://127.0.0.1:9")
    with serve(GAME, token="secret") as server:
        with pytest.raises(InputError, match="answers 401"):
            connect(server.address)
        assert connect(server.address, token="secret").reset(seed=1)[0]
