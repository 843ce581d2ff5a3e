"""The client: what a server plays is what the environment plays; failures are told apart from refusals."""

from __future__ import annotations

import contextlib
import http
import json
import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.envs import Game, IntAxis, ParamSpace, Transition
from palaestra.envs.registration import register
from palaestra.errors import InputError
from palaestra.integrations.openenv import connect
from palaestra.integrations.openenv.client import ServerFailure
from palaestra.integrations.openenv.server import ServerLimits
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve as serve_socket

from ...patience import with_more_time  # isort: skip

GAME = "palaestra/GuessNumber-v0"


class Interrupted(Game):
    """Each turn but "end" is one in which the machinery fails; the episode goes on."""

    param_space = ParamSpace([IntAxis("goal", 2, 9)])

    def start(self, rng, params):
        return int(rng.integers(2, params["goal"] + 1))

    def observe(self, state):
        return f"{state}"

    def act(self, state, action):
        return Transition(state, done=action == "end", valid=action == "end")


register("test/Interrupted-v0", Interrupted)


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
            return str(sum(map(int, re.findall(r"\d+", observation))))

        report = palaestra.evaluate(add_up, lambda: connect(server.address), episodes=5)
        assert (report.success.mean, report.episodes) == (1.0, 5)


@contextlib.contextmanager
def scripted(answers: list[Any], schema: dict[str, Any] | None = None) -> Iterator[str]:
    """A server of somebody else's, that gives these answers in turn; None closes the connection, and before the answer
    that follows a number, it waits so many seconds."""
    waiting = iter(answers)

    def converse(socket: Any) -> None:
        for text in socket:
            message = json.loads(text)
            if message["type"] == "state":
                socket.send(json.dumps({"type": "error", "data": {"message": "no state", "code": "SESSION_ERROR"}}))
                continue
            if message["type"] == "close" or (answer := next(waiting)) is None:
                return
            if isinstance(answer, float):
                seconds, answer = answer, next(waiting)
                time.sleep(seconds)
            with contextlib.suppress(ConnectionClosed):
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
    [
        (error("VALIDATION_ERROR"), True),
        (error("EXECUTION_ERROR"), False),
        (None, False),
        ("no json", False),
        (observation(float("nan"), text=""), False),
        (observation("1", text=""), False),  # type: ignore[arg-type]
    ],
)
def test_a_refusal_costs_nothing_and_a_failure_is_no_reward(answer, valid):
    answers = [observation(text="go"), answer, observation(text="again"), observation(1.0, True, text="")]
    with scripted(answers, CODE) as url:
        env = connect(url, seconds=60)
        env.reset()
        _, reward, terminated, truncated, info = env.step("x")
        assert (reward, terminated, truncated) == (0.0, False, not valid)
        assert info["reward_valid"] is valid
        assert info["action_error"]
        assert env.reset()[0] == "again"  # connects anew where the connection was lost
        assert env.step("x")[1] == 1.0
        env.close()


def test_an_answer_that_comes_too_late_is_not_taken_for_another(serve):
    late = observation(1.0, True, text="late")

    def check(seconds: float) -> None:
        answers = [observation(text="go"), 2 * seconds, late, observation(text="again")]
        with scripted(answers, CODE) as url, contextlib.closing(connect(url, seconds=seconds)) as env:
            env.reset()
            assert env.step("x")[4]["reward_valid"] is False
            assert env.reset()[0] == "again"

    with_more_time(check, (0.5, 5.0, 25.0))


def test_a_turn_in_which_the_machinery_fails_is_not_valid_though_the_episode_goes_on(serve):
    with serve("test/Interrupted-v0") as server, contextlib.closing(connect(server.address)) as env:
        env.reset(seed=1)
        _, reward, terminated, truncated, info = env.step("go")
        assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, False, False)
        assert env.step("end")[2] is True


def test_an_action_of_any_length_is_the_players_and_not_a_failure(serve):
    with serve(GAME) as server, contextlib.closing(connect(server.address)) as env:
        env.reset(seed=1)
        for action in ("\U0001f600" * 1_000_000, "9" * 1_000_001, 5):
            _, _, _, truncated, info = env.step(action)  # type: ignore[arg-type]
            assert (truncated, info["reward_valid"]) == (False, True)
            assert info["action_error"]


def test_a_reset_connects_again_where_the_connection_idled(serve):
    def check(idle_seconds: float) -> None:
        limits = ServerLimits(idle_seconds=idle_seconds)
        with serve(GAME, limits=limits) as server, contextlib.closing(connect(server.address)) as env:
            first = env.reset(seed=1)
            time.sleep(2 * idle_seconds)
            assert env.reset(seed=1) == first
            assert server.served == 2

    with_more_time(check, (0.2, 2.0, 10.0))


def test_a_server_that_is_full_or_gone_fails_the_reset_and_is_no_input_error(serve):
    with serve(GAME, limits=ServerLimits(connections=1)) as server:
        first, second = connect(server.address), connect(server.address)
        first.reset(seed=1)
        with pytest.raises(ServerFailure, match="all 1 connections are taken"):
            second.reset(seed=1)
    with pytest.raises(ServerFailure, match="was lost"):
        first.reset(seed=1)


def test_what_is_no_server_is_one_sentence(serve):
    with pytest.raises(InputError, match="begins with http"):
        connect("localhost:8000")
    with pytest.raises(InputError, match="no OpenEnv server answers at http"):
        connect("http://127.0.0.1:9")
    with serve(GAME, token="secret") as server:
        with pytest.raises(InputError, match="answers 401"):
            connect(server.address)
        assert connect(server.address, token="secret").reset(seed=1)[0]
