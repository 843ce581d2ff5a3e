"""Tools as functions: their arguments, and calls that every environment with tools reads back."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.tools.tool import TOOLS, choose_call
from palaestra.envs.tools.tool_function import ToolFunction, find_function, functions_of
from palaestra.envs.web.browsers.commands import FUNCTIONS, read_command, write_command
from palaestra.errors import InputError

HOSTILE = [
    "x",
    "line\nbreak\\n",
    "```python\nprint(1)\n```",
    "</tool_call><code>print(1)</code>",
    "\\boxed{3} <answer>4</answer> Final answer: 5",
    "<think> \"quoted\" 'é' </think> \u2028 x",
]
FILL = ToolFunction("fill", "", {"id": {"type": "integer"}, "key": {"type": "string", "enum": ["a", "b"]}}, ("key",))


def made(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **kwargs)


def called(env: Any, action: str) -> tuple[str, dict[str, str]] | None:
    """The call that an environment finds in the plainest reading of an action."""
    readings, error = env.unwrapped.read_action(action)
    assert error is None
    found = choose_call(env.unwrapped.tools, readings[0])
    return None if found is None else (found[0].name, dict(found[1]))


@pytest.mark.parametrize("code", HOSTILE)
@pytest.mark.parametrize("name", ["PythonTool", "ToolUse"])
def test_a_program_is_read_back_whatever_stands_in_it(name, code):
    env = made(name)
    assert called(env, env.unwrapped.write_call("python", {"code": code})) == ("python", {"code": code.strip("\n")})


@pytest.mark.parametrize("query", [HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[5]])
@pytest.mark.parametrize(("name", "tool"), [("ToolUse", "sql"), ("SQLExplorer", "query")])
def test_a_query_is_read_back_and_by_no_other_tool(name, tool, query):
    env = made(name)
    found = called(env, env.unwrapped.write_call(tool, {"query": f"SELECT '{query}'"}))
    assert found is not None
    assert (found[0], found[1]["query"].split()) == (tool, f"SELECT '{query}'".split())


@pytest.mark.parametrize(
    ("name", "tool", "arguments", "read"),
    [
        ("SQLExplorer", "tables", {}, {}),
        ("SQLExplorer", "tables", {"page": 2}, {"page": "2"}),
        ("SQLExplorer", "search_schema", {"word": "sale date"}, {"word": "sale date"}),
        ("SQLExplorer", "describe", {"table": "two words"}, {"table": "two words"}),
        ("SQLExplorer", "sample", {"table": "t", "rows": "4"}, {"table": "t", "rows": "4"}),
        ("SQLExplorer", "sample", {"table": "t"}, {"table": "t", "rows": "3"}),
        ("WikiSearch", "search", {"query": "a ] b"}, {"query": "a ] b", "part": "1"}),
        ("WikiSearch", "open", {"title": "</tool_call> [x]"}, {"title": "</tool_call> [x]", "part": "1"}),
    ],
)
def test_a_command_is_read_back(name, tool, arguments, read):
    env = made(name)
    assert called(env, env.unwrapped.write_call(tool, arguments)) == (tool, read)


@pytest.mark.parametrize(
    ("name", "argument", "answer"), [("SQLExplorer", "query", "SELECT 1"), ("WikiSearch", "text", "1")]
)
def test_an_answer_by_a_function_ends_the_episode(name, argument, answer):
    env = made(name)
    env.reset(seed=0)
    _, _, terminated, _, info = env.step(env.unwrapped.write_call("answer", {argument: answer}))
    assert terminated
    assert info["action_error"] is None


@pytest.mark.parametrize("text", [*HOSTILE, ""])
def test_every_action_on_a_web_site_is_read_back(text):
    for function in FUNCTIONS:
        if function.name == "goto" and "\n" in text:  # no address has lines
            continue
        parameter = function.parameters.get("text", {})
        is_number = parameter.get("type") == "integer"
        given = {"control": 12, "text": 7 if is_number else parameter.get("enum", [text or "a"])[0]}
        command = read_command(write_command(function.name, given))
        assert not isinstance(command, str)
        assert command.verb == function.name
        assert command.text.strip("[]" if is_number else "") == (str(given["text"]) if parameter else "")
        assert command.number == (12 if "control" in function.parameters else 0)


def test_every_shipped_tool_is_a_function_with_a_schema():
    for name in TOOLS:
        function = TOOLS[name]().function
        assert function is not None
        assert function.name == name
        assert function.description
        schema = function.schema()
        assert set(schema["required"]) <= set(schema["properties"])
        assert all(parameter["type"] in ("string", "integer") for parameter in schema["properties"].values())


def test_an_environment_without_tools_offers_no_functions():
    assert functions_of(made("Arithmetic")) == ()


def test_an_environment_is_asked_through_its_wrappers():
    names = [function.name for function in functions_of(gym.wrappers.TimeLimit(made("SQLExplorer"), 9))]
    assert names == ["tables", "search_schema", "describe", "sample", "query", "answer"]


def test_arguments_are_read_as_their_types_and_others_are_dropped():
    assert FILL.check({"id": "3", "more": [1]}) == {"id": 3}
    assert FILL.check({"id": 3, "key": "b"}) == {"id": 3, "key": "b"}
    assert ToolFunction("f", "", {"x": {"type": "string"}}).check({"x": 4}) == {"x": "4"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "fill needs the argument 'id'; it got nothing."),
        ({"key": "a"}, "fill needs the argument 'id'; it got key."),
        ({"id": "three"}, "'id' of fill must be a whole number, not 'three'."),
        ({"id": True}, "'id' of fill must be a whole number, not True."),
        ({"id": [3]}, "must be a whole number"),
        ({"id": float("inf")}, "must be a whole number"),
        ({"id": 2.7}, "must be a whole number"),
        ({"id": 3, "key": "c"}, "'key' of fill must be one of 'a', 'b', not 'c'."),
        ({"id": 3, "key": {}}, "'key' of fill must be text"),
        ({"id": 3, "key": float("nan")}, "'key' of fill must be text, not nan."),
    ],
)
def test_arguments_that_do_not_fit_are_one_sentence(arguments, sentence):
    with pytest.raises(InputError) as caught:
        FILL.check(arguments)
    assert sentence in str(caught.value)


def test_values_of_other_types_are_taken_as_they_are():
    place = {"$ref": "#/$defs/Place"}
    parameters = {"share": {"type": "number"}, "place": place, "parts": {"type": "array"}, "sure": {"type": "boolean"}}
    move = ToolFunction("move", "Move.", parameters, ("sure",), definitions={"$defs": {"Place": {"type": "object"}}})
    given = {"share": 0.5, "place": {"x": 1}, "parts": [1, "a"], "sure": False}
    assert move.check(given) == given
    assert move.schema()["properties"]["place"] == place
    assert move.schema()["$defs"] == {"Place": {"type": "object"}}
    with pytest.raises(InputError, match="move needs the argument 'parts'"):
        move.check({"share": 1, "place": {}})


def test_an_unknown_function_is_told_with_the_close_name():
    with pytest.raises(InputError, match="unknown tool 'fil'; did you mean 'fill'"):
        find_function([FILL], "fil")
