"""Programs in actions: every way to mark a call is read, in bounded time."""

from __future__ import annotations

import json
import time

import pytest
from palaestra.envs.code.judging.tool_calls import extract_program, strip_output

CALLS = [
    "```python\nprint(1)\n```",
    "First I compute.\n```python\nprint(1)\n```\nLet me see.",
    "```py\nprint(1)```",
    "``` Python3\r\nprint(1)\r\n```",
    "```python\nprint(1)",
    "```python print(1)```",
    "<code>\nprint(1)\n</code>",
    "<code>\n```python\nprint(1)\n```\n</code>",
    "<python>print(1)</python>",
    "<tool>print(1)</tool>",
    "<code>print(1)",
    '<tool_call>\n{"name": "python", "arguments": {"code": "print(1)"}}\n</tool_call>',
    '<tool_call>{"name": "python", "arguments": "{\\"code\\": \\"print(1)\\"}"}</tool_call>',
]


@pytest.mark.parametrize("text", CALLS)
def test_programs_are_found_however_they_are_marked(text: str):
    assert (extract_program(text) or "").replace("\r", "").strip() == "print(1)"


def test_several_blocks_are_one_program():
    text = "Set x.\n```python\nx = 6\n```\nand use it:\n```python\nprint(7 * x)\n```"
    assert extract_program(text) == "x = 6\nprint(7 * x)"


def test_code_that_is_no_call_in_json_is_python():
    assert extract_program('<tool_call>{"name": "python"}</tool_call>') == '{"name": "python"}'
    assert extract_program("<code>{print(1)}</code>") == "{print(1)}"
    assert extract_program("<tool_call>" + "[" * 5000) == "[" * 5000


@pytest.mark.parametrize("text", ["42", "``` 42 ```", "\\boxed{42}", "```\n42\n```", "`x = 1`", "```text\n42\n```"])
def test_what_has_no_program_is_no_call(text: str):
    assert extract_program(text) is None


def test_blocks_of_output_are_removed():
    assert strip_output("a```output\n1\n```b<output>2</output>c") == "abc"


@pytest.mark.parametrize(
    "text",
    [
        "```python " * 900,
        "<code>" * 1300,
        "```output" * 900,
        "<tool_call>{" * 700,
        "<tool_call>" + '{"arguments":' * 600,
        "```" * 2700,
        "<code" * 1600,
        "</code>" * 1100,
        "<tool_call>" + json.dumps({"arguments": {"code": 3}}),
    ],
)
def test_hostile_actions_are_read_in_bounded_time(text: str):
    began = time.process_time()
    for _ in range(20):
        extract_program(text)
        strip_output(text)
    assert time.process_time() - began < 1.0
