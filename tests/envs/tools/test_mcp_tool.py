"""Tools of a server of the Model Context Protocol, made with the reference SDK, in an environment."""

from __future__ import annotations

import json
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.tools import mcp_tools
from palaestra.errors import InputError, MachineryError

pytest.importorskip("mcp", reason="needs the extra [mcp]")
SERVER = [sys.executable, str(Path(__file__).with_name("sdk_server.py"))]
SUMS = "palaestra/Arithmetic-v0"


def call(name: str, **arguments: Any) -> str:
    return f"I use a tool. <tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    """One server for the tests that leave it as it is."""
    made = gym.make("palaestra/ToolUse-v0", of=SUMS, mcp={"server": SERVER, "shown": 60}, axes={"calls": 20})
    yield made
    made.close()


def test_the_prompt_names_every_tool_with_its_arguments(env: Any):
    observation, _ = env.reset(seed=1)
    assert (
        '- add: <tool_call>{"name": "add", "arguments": {"...": "..."}}</tool_call>: Add two whole numbers.'
        in observation
    )
    assert "(arguments: a (integer): the first number; b (integer, optional))" in observation
    assert "A reply without a <tool_call> is your answer." in observation
    assert observation in env.observation_space
    names = [function.name for function in env.unwrapped.tool_functions()]
    assert names == ["add", "shift", "divide", "repeat", "sleep", "crash", "process"]


def test_a_call_is_made_and_the_answer_is_judged_by_the_questions_verifier(env: Any):
    env.reset(seed=1)
    observation, reward, terminated, _, info = env.step(call("add", a=40, b=2))
    assert observation.startswith("```output\n42\n```")
    assert (reward, terminated, info["action_error"], info["reward_valid"]) == (0.0, False, None, True)
    _, reward, terminated, _, info = env.step(env.unwrapped.oracle())
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
    assert info["extras"]["tool_calls"] == [{"name": "add", "arguments": {"a": 40, "b": 2}}]
    env.reset(seed=1)
    env.step(call("add", a=1))
    assert env.step("-999999")[4]["is_success"] is False


def test_arguments_of_every_type_reach_the_server(env: Any):
    env.reset(seed=1)
    shown, *_ = env.step(call("shift", point={"x": 1, "y": 2}, by=[0.5, 1], up=True, unit="cm"))
    assert json.loads(shown.split("\n```")[0].removeprefix("```output\n")) == {
        "x": 1.5,
        "y": 3.0,
        "up": True,
        "unit": "cm",
    }
    schema = next(f for f in env.unwrapped.tool_functions() if f.name == "shift").schema()
    assert schema["properties"]["point"] == {"$ref": "#/$defs/Point"}
    assert "Point" in schema["$defs"]
    written = env.unwrapped.write_call("add", {"a": "40", "b": 2})
    assert env.step(written)[0].startswith("```output\n42\n")


def test_long_output_lacks_its_middle(env: Any):
    env.reset(seed=1)
    shown = env.step(call("repeat", text="abcdefghij", times=1000))[0].split("```")[1]
    assert len(shown) < 100
    assert shown.startswith("output\nabc")


def test_an_error_of_a_tool_is_the_agents(env: Any):
    env.reset(seed=1)
    shown, _, _, _, info = env.step(call("divide", a=1, b=0))
    assert "there is no quotient by 0" in shown
    assert info["reward_valid"] is True
    assert info["extras"]["tool_errors"] == [True]


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (call("ad", a=1), "unknown tool 'ad'; did you mean 'add'?"),
        (call("add", b=1), "add needs the argument 'a'; it got b."),
        (call("add", a="many"), "'a' of add must be a whole number, not 'many'."),
        (call("add", a=1, c=1), "unknown argument of add 'c'; known: 'a', 'b'."),
        ('<tool_call>{"name": "add", "arguments": {"a": 1}</tool_call>', "The tool call cannot be read."),
    ],
)
def test_a_call_that_does_not_fit_is_refused_and_takes_nothing_of_the_budget(env: Any, reply: str, sentence: str):
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step(reply)
    assert info["action_error"].startswith(sentence)
    assert (reward, terminated, info["extras"]["tool_calls"]) == (0.0, False, [])


def test_a_lost_server_or_one_that_takes_too_long_makes_the_reward_invalid_and_starts_again():
    options = {"server": SERVER, "only": ["process", "crash", "sleep"], "seconds": 1.0}
    env: Any = gym.make("palaestra/ToolUse-v0", of=SUMS, mcp=options, axes={"calls": 8})
    env.reset(seed=1)
    seen = [int(env.step(call("process"))[0].split("\n")[1])]
    for reply, why in [("crash", ": out of order."), ("sleep", "does not answer a call within 1 s")]:
        _, reward, terminated, _, info = env.step(call(reply, **({"seconds": 30} if reply == "sleep" else {})))
        assert (reward, terminated, info["reward_valid"], info["action_error"]) == (0.0, False, False, None)
        assert why in info["feedback"]
        assert not lives(seen[-1])
        seen.append(int(env.step(call("process"))[0].split("\n")[1]))
    assert len(set(seen)) == 3
    assert len(env.unwrapped.here().made) == 3  # the calls that were carried out
    env.close()
    assert not lives(seen[-1])


def test_a_copy_has_a_server_of_its_own_which_ends_with_it():
    env: Any = gym.make("palaestra/ToolUse-v0", of=SUMS, tools=mcp_tools(SERVER, only=["process"]))
    env.reset(seed=1)
    first = int(env.step(call("process"))[0].split("\n")[1])
    (tool,) = pickle.loads(pickle.dumps(env.unwrapped.tools))
    second = int(tool.run({}, None, None).output)
    assert first != second
    del tool
    deadline = time.monotonic() + 10
    while lives(second) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(second)
    assert lives(first)
    env.close()
    assert not lives(first)


def test_servers_end_with_the_process():
    code = f"from palaestra.envs.tools import mcp_tools; t, = mcp_tools({SERVER!r}, only=['process'])"
    script = f"{code}; print(t.run({{}}, None, None).output)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not lives(int(done.stdout))


def test_a_server_over_http():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([*SERVER, str(port)], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            while "running on" not in (line := process.stderr.readline()):
                assert line
            (add,) = mcp_tools(f"http://127.0.0.1:{port}/mcp", only=["add"], headers={"X-Who": "me"})
            assert add.run({"a": 1, "b": 2}, None, None).output == "3"  # type: ignore[arg-type]
            add.close()
        finally:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    ("server", "error", "sentence"),
    [
        ("", InputError, "an MCP server is the command that starts it"),
        ("no-such-program-here --x", MachineryError, "cannot be used (FileNotFoundError"),
        ([sys.executable, "-c", "import sys; sys.exit('no such file')"], MachineryError, ": no such file."),
        ("http://127.0.0.1:9/mcp", MachineryError, "the MCP server 'http://127.0.0.1:9/mcp' cannot be used"),
    ],
)
def test_what_cannot_be_started_is_said_when_the_environment_is_made(
    server: Any, error: type[Exception], sentence: str
):
    with pytest.raises(error) as caught:
        gym.make("palaestra/ToolUse-v0", mcp={"server": server})
    assert sentence in str(caught.value)


def test_a_server_that_never_answers_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    silent = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(100)"
    place = tmp_path / "pid"
    monkeypatch.setattr("palaestra.envs.tools.mcp_connection.START_SECONDS", 0.5)
    with pytest.raises(MachineryError, match=r"does not answer within 0\.5 s"):
        mcp_tools([sys.executable, "-c", silent, str(place)], seconds=100)
    assert not lives(int(place.read_text()))


def test_names_and_arguments_that_do_not_fit_are_one_sentence():
    with pytest.raises(InputError, match=r"unknown tool of the MCP server .*: 'adds'; did you mean 'add'"):
        mcp_tools(SERVER, only=["adds"])
    with pytest.raises(InputError, match="above 0 s"):
        mcp_tools(SERVER, seconds=0)
    with pytest.raises(InputError, match="shown must be at least 1"):
        mcp_tools(SERVER, shown=0)
    with pytest.raises(InputError, match="missing a required argument: 'server', of the MCP server"):
        gym.make("palaestra/ToolUse-v0", mcp={"sever": SERVER})
    one = {"server": SERVER, "only": ["add"]}
    with pytest.raises(InputError, match="two tools named 'add'"):
        gym.make("palaestra/ToolUse-v0", mcp=[one, one])


def test_without_the_extra_one_sentence_says_what_to_install():
    code = "import sys; sys.modules['mcp'] = None; import gymnasium, palaestra; "
    code += "gymnasium.make('palaestra/ToolUse-v0', mcp='python server.py')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "an MCP server needs the extra [mcp]: pip install 'palaestra[mcp]'." in done.stderr


def test_an_agent_is_evaluated_with_a_servers_tools():
    options = {"of": SUMS, "mcp": {"server": SERVER, "only": ["add"]}}
    report = palaestra.evaluate("oracle", "palaestra/ToolUse-v0", episodes=4, num_envs=1, env_kwargs=options)
    assert report.success.mean == 1.0
