"""An environment served over the Model Context Protocol, played by the client of the reference SDK."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs import Game, ParamSpace, Transition
from palaestra.envs.param_space import IntAxis
from palaestra.errors import InputError

pytest.importorskip("mcp", reason="needs the extra [mcp]")
from mcp import Client, MCPError
from palaestra.integrations.mcp_server import HttpLimits, McpEnvironment

SUMS, SQL = "palaestra/Arithmetic-v0", "palaestra/SQLExplorer-v0"


class Moody(Game):
    """A game that hangs, raises or fails on request, and counts what is closed."""

    param_space = ParamSpace([IntAxis("size", 1, 3)])
    closed = 0

    def start(self, rng, params):
        return int(rng.integers(100))

    def observe(self, state):
        return f"Number {state}: be kind."

    def act(self, state, action):
        if action == "hang":
            time.sleep(1.5)
        if action == "raise":
            raise ValueError("I am cross")
        if action == "fail":
            return Transition(state, valid=False)
        if action != "kind":
            return Transition(state, action_error="Be kind.")
        return Transition(state, done=True, success=True, progress=1.0)

    def oracle(self, state):
        return "kind"

    def close(self):
        Moody.closed += 1


palaestra.envs.register("mcp-test/Moody-v0", Moody)
MOODY = "mcp-test/Moody-v0"


@contextlib.asynccontextmanager
async def serving(server: McpEnvironment, **options: Any) -> AsyncIterator[str]:
    """The address of a server on a free loopback port."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(server.serve_http(port=0, on_start=address.set_result, **options))
    try:
        yield await asyncio.wait_for(address, 30)
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def play(env_id: str, episode: Callable[[Client], Awaitable[Any]], **options: Any) -> Any:
    """Serve an environment, and return what a coroutine makes of a session with it."""
    limits = options.pop("limits", None)

    async def run() -> Any:
        async with serving(McpEnvironment(env_id, **options), limits=limits) as address, Client(address) as client:
            return await episode(client)

    return asyncio.run(run())


def text(result: Any) -> str:
    (block,) = result.content
    return block.text


def test_an_environment_with_tools_is_solved_by_its_tools():
    env: Any = gym.make(SQL, difficulty=0.0)
    env.reset(seed=3)
    query = env.unwrapped.inner.gold_query(env.unwrapped.here().task)

    async def episode(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["reset", "tables", "search_schema", "describe", "sample", "query", "answer"]
        assert tools["describe"].input_schema["properties"]["table"]["type"] == "string"
        assert tools["sample"].input_schema["required"] == ["table"]
        assert list(tools["reset"].input_schema["properties"]) == ["seed"]
        begun = await client.call_tool("reset", {"seed": 3})
        assert text(begun) == env.reset(seed=3)[0]
        assert begun.structured_content["task_id"] == env.unwrapped.get_state()["task_id"]
        listed = await client.call_tool("tables")
        assert text(listed) == env.step("```\ntables\n```")[0]
        assert listed.structured_content["reward"] == 0.0
        assert listed.structured_content["terminated"] is False
        done = await client.call_tool("answer", {"query": query})
        assert text(done).endswith("The episode is over: solved.")
        assert done.structured_content["reward"] == done.structured_content["return"] == 1.0
        assert done.structured_content["terminated"] is done.structured_content["is_success"] is True
        late = await client.call_tool("tables")
        assert late.is_error
        assert "no episode is running" in text(late)

    play(SQL, episode, kwargs={"difficulty": 0.0})


def test_a_question_has_one_tool_and_its_task_is_a_prompt_and_a_resource():
    env: Any = gym.make(SUMS, split="test")
    task, info = env.reset(seed=7)
    right = env.unwrapped.oracle()

    async def episode(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == ["reset", "answer"]
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt(prompt.name)).messages
        assert message.content.text == task
        assert (await client.read_resource("palaestra://task")).contents[0].text == task
        result = await client.call_tool("answer", {"text": f"It is {right}."})
        assert result.structured_content["is_success"] is True
        measured = json.loads((await client.read_resource("palaestra://result")).contents[0].text)
        assert measured["task_id"] == info["task_id"]
        assert (measured["return"], measured["step_count"]) == (1.0, 1)
        assert "reference" not in json.dumps(measured)
        hard = await client.call_tool("reset", {"difficulty": 1.0, "seed": 1})
        assert hard.structured_content["difficulty"] > 0.9
        assert "reset" not in text(hard)

    play(SUMS, episode, kwargs={"split": "test"}, seed=7)


@pytest.mark.parametrize(
    ("name", "arguments", "sentence"),
    [
        ("answer", {}, "answer needs the argument 'text'; it got nothing."),
        ("answer", {"text": ["1"]}, "'text' of answer must be text, not"),
        ("guess", {"text": "1"}, "unknown tool 'guess'"),
        ("reset", {"seed": -1}, "seed must be a whole number from 0"),
        ("reset", {"difficulty": 7}, "difficulty must be a number from 0"),
        ("reset", {"params": {"digit": 1}}, "did you mean 'digits'?"),
        ("reset", {"split": "test"}, "a reset takes seed, difficulty, params here, not 'split'."),
    ],
)
def test_what_does_not_fit_is_an_error_of_the_tool_and_plays_on(name: str, arguments: dict[str, Any], sentence: str):
    async def episode(client: Client) -> None:
        await client.call_tool("reset", {"seed": 1})
        refused = await client.call_tool(name, arguments)
        assert refused.is_error
        assert sentence in text(refused)
        if name != "reset":
            assert (await client.call_tool("answer", {"text": "0"})).structured_content["terminated"] is True

    play(SUMS, episode)


def test_an_action_that_the_environment_refuses_is_an_error_with_its_sentence():
    async def episode(client: Client) -> None:
        await client.call_tool("reset", {"seed": 1})
        refused = await client.call_tool("act", {"action": "shout"})
        assert refused.is_error
        assert text(refused).startswith("Be kind.\nNumber ")
        assert refused.structured_content["action_error"] == "Be kind."
        kind = await client.call_tool("act", {"action": "kind"})
        assert not kind.is_error

    play(MOODY, episode)


def test_failures_of_the_machinery_have_no_reward():
    async def episode(client: Client) -> None:
        await client.call_tool("reset", {"seed": 1})
        failed = (await client.call_tool("act", {"action": "fail"})).structured_content
        assert (failed["reward"], failed["reward_valid"]) == (None, False)
        for action, sentence in [("raise", "ValueError: I am cross"), ("hang", "took longer than 0.5 s")]:
            await client.call_tool("reset", {"seed": 1})
            lost = await client.call_tool("act", {"action": action})
            assert lost.is_error
            assert sentence in text(lost)
            assert "its episode does not count, call reset." in text(lost)
        await client.call_tool("reset", {"seed": 1})
        assert (await client.call_tool("act", {"action": "kind"})).structured_content["is_success"] is True

    play(MOODY, episode, step_seconds=0.5)


def test_sessions_are_isolated_and_close_their_environments():
    async def run() -> None:
        Moody.closed = 0
        server = McpEnvironment(MOODY, seed=5)
        assert Moody.closed == 1  # the trial
        async with serving(server) as address:
            async with Client(address) as one, Client(address) as two:
                await one.call_tool("reset", {"seed": 1})
                other = await two.call_tool("act", {"action": "kind"})
                assert "no episode is running" in text(other)
                first = text(await two.call_tool("reset"))
                assert first == gym.make(MOODY).reset(seed=5)[0]
                assert (await one.call_tool("act", {"action": "kind"})).structured_content["terminated"] is True
                assert (await two.call_tool("act", {"action": "kind"})).structured_content["return"] == 1.0
            for _ in range(200):
                if Moody.closed == 3:
                    break
                await asyncio.sleep(0.02)
            assert Moody.closed == 3
        assert server.served == 2

    asyncio.run(run())


def test_a_silent_session_ends():
    async def episode(client: Client) -> None:
        before = Moody.closed
        await client.call_tool("reset", {"seed": 1})
        for _ in range(1500):
            if Moody.closed > before:
                return
            await asyncio.sleep(0.02)
        raise AssertionError("it has not been closed")

    play(MOODY, episode, limits=HttpLimits(idle_seconds=0.3))


def test_strangers_are_kept_out():
    async def run() -> None:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async with serving(McpEnvironment(SUMS), token="secret") as address:
            with pytest.raises((MCPError, ExceptionGroup)):
                async with Client(address):
                    pass
            headers = {"Authorization": "Bearer secret"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(address, http_client=http)) as client,
            ):
                assert not (await client.call_tool("reset", {"seed": 1})).is_error

    asyncio.run(run())


def test_a_client_without_sessions_is_told_so():
    async def run() -> None:
        async with serving(McpEnvironment(SUMS)) as address, Client(address, mode="2026-07-28") as client:
            refused = await client.call_tool("reset", {"seed": 1})
            assert refused.is_error
            assert "an episode needs a session, which version 2025-11-25 of the protocol has" in text(refused)

    asyncio.run(run())


def test_what_cannot_be_served_is_said_before_anybody_connects():
    with pytest.raises(InputError, match="did you mean"):
        McpEnvironment("palaestra/Arithmetik-v0")
    with pytest.raises(InputError, match="take palaestra/DoorKeyText-v0"):
        McpEnvironment("palaestra/DoorKey-v0")
    with pytest.raises(InputError, match="difficulty"):
        McpEnvironment(SUMS, {"difficulty": 7})
