"""Calls of tools in a model's replies, by function calls and in ReAct's text."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.chat.reply import ChatReply, ToolCall
from palaestra.agents.chat.tool_forms import NativeCalls, ReActText
from palaestra.envs.tools.tool_function import ToolFunction, find_function

TEXT = {"type": "string"}
FUNCTIONS = (
    ToolFunction("look", "look around"),
    ToolFunction("search", "search", {"query": TEXT}),
    ToolFunction("fill", "fill", {"id": {"type": "integer"}, "text": TEXT}, optional=("text",)),
    ToolFunction("move", "move", {"x": {"type": "integer"}, "y": {"type": "integer"}}),
    ToolFunction("answer", "answer", {"text": TEXT}, answers=True),
)


def write_call(name, arguments):
    return f"{name}{json.dumps(find_function(FUNCTIONS, name).check(arguments))}"


def react(text: str, functions=FUNCTIONS):
    form = ReActText(functions, write_call)
    (step,) = form.read(form.clean(ChatReply(text)))
    return step


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ('Thought: hm\nAction: search\nAction Input: {"query": "a b"}', 'search{"query": "a b"}'),
        ('Action: search\nAction Input: ```json\n{"query": "a"}\n```', 'search{"query": "a"}'),
        ('Action: search\nAction Input: {"query": "line\nbreak"}', 'search{"query": "line\\nbreak"}'),
        ("Action: search\nAction Input: plain words", 'search{"query": "plain words"}'),
        ("Action: search[plain words]", 'search{"query": "plain words"}'),
        ("**Action:** `search`\n**Action Input:** words", 'search{"query": "words"}'),
        ("Action: look", "look{}"),
        ("Action: look[]", "look{}"),
        ('Action: fill\nAction Input: {"id": "3"} and so on', 'fill{"id": 3}'),
        ("Thought: done\nFinal Answer: 42", 'answer{"text": "42"}'),
        ("Action: look\nObservation: a door\nFinal Answer: a door", "look{}"),
        ("Action: look\nFinal Answer: a door", "look{}"),
        ("<think>Action: look</think>Action: search[x]", 'search{"query": "x"}'),
        ("neither of them", "neither of them"),
    ],
)
def test_text_of_react_is_read(text, action):
    assert react(text).action == action


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Action: serach[x]", "unknown tool 'serach'; did you mean 'search'"),
        ("Action: move\nAction Input: three", "The arguments of move must be a JSON object"),
        ('Action: fill\nAction Input: {"text": "x"}', "fill needs the argument 'id'; it got text"),
        ('Action: fill\nAction Input: {"id": "x"}', "'id' of fill must be a whole number, not 'x'"),
    ],
)
def test_a_faulty_call_is_told_in_a_sentence(text, fault):
    step = react(text)
    assert step.action is None
    assert fault in step.fault


def test_a_final_answer_is_the_action_where_no_function_answers():
    assert react("Final Answer: 42", FUNCTIONS[:3]).action == "42"


def test_what_a_model_says_it_observed_does_not_stay_in_the_conversation():
    form = ReActText(FUNCTIONS, write_call)
    assert form.clean(ChatReply("Action: look\nObservation: made up")).text == "Action: look"


def test_the_instruction_has_every_tool_with_its_arguments():
    told = ReActText(FUNCTIONS, write_call).instruction
    assert "- look(): look around\n- search(query: string): search\n- fill(id: integer, text?: string): fill" in told


def test_native_calls_are_steps_in_their_order():
    calls = [ToolCall("a", "look", ""), ToolCall("b", "search", "{"), ToolCall("c", "fly", '{"to": 1}')]
    steps = NativeCalls(FUNCTIONS, write_call).read(ChatReply("", calls=tuple(calls)))
    assert [(step.action, step.call_id) for step in steps] == [("look{}", "a"), (None, "b"), (None, "c")]
    assert "must be a JSON object" in steps[1].fault
    assert "unknown tool 'fly'" in steps[2].fault


def test_native_functions_are_sent_as_json_schemas():
    sent = NativeCalls(FUNCTIONS, write_call).settings["tools"][2]["function"]
    assert sent["name"] == "fill"
    assert sent["parameters"] == {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["id"],
    }
