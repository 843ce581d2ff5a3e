"""Commands are read however models write them, and nothing else is a command."""

from __future__ import annotations

import time

import pytest
from palaestra.envs.web.wiki.wiki_commands import read_command, split_part


@pytest.mark.parametrize(
    "action",
    [
        *("search[Oskvale river]", "Search[Oskvale river].", "**search[Oskvale river]**", "`search[Oskvale river]`"),
        *('search("Oskvale river")', "search: Oskvale river", "Search Oskvale river", "Action: search[Oskvale river]"),
        "Thought: I need the river.\nAction 1: search[Oskvale river]",
        "```\nsearch[Oskvale river]\n```",
        "I need to know the river.\n<search>Oskvale river</search>",
        '<tool_call>{"name": "search", "arguments": {"query": "Oskvale river"}}</tool_call>',
        "search[Oskvale river]\nObservation: 1. Oskvale (river)",
        "I will search[Oskvale river]",
        "open[Oskvale]\nNo, rather:\nsearch[Oskvale river]",
    ],
)
def test_a_search_is_read(action: str):
    assert read_command(action) == ("search", "Oskvale river")


@pytest.mark.parametrize(
    "action",
    [
        *("answer[Ann Bell]", "<answer>Ann Bell</answer>", "Answer: Ann Bell", "\\boxed{Ann Bell}", "answer Ann Bell"),
        *("The final answer is **Ann Bell**", "So the answer is: Ann Bell", "<answer>answer[Ann Bell]</answer>"),
        "<search>Ann Bell</search>\n<answer>Ann Bell</answer>",
    ],
)
def test_an_answer_is_read(action: str):
    assert read_command(action) == ("answer", "Ann Bell")


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("open[[The Salt Road (novel)]]", ("open", "The Salt Road (novel)")),
        ("open(The Salt Road (novel))", ("open", "The Salt Road (novel)")),
        ("next[]", ("next", "")),
        ("next", ("next", "")),
        ("next()", ("next", "")),
        ("search[]", ("search", "")),
        ("answer[]", ("answer", "")),
    ],
)
def test_titles_and_empty_arguments(action: str, command: tuple[str, str]):
    assert read_command(action) == command


@pytest.mark.parametrize(
    "action",
    ["", "hello", "I searched it.", "The answer is not search[x].", "42", "search", "Suppose it were open[x]. Then"],
)
def test_what_is_no_command_is_none(action: str):
    assert read_command(action) is None


@pytest.mark.parametrize(
    "part", ["search[", "open(", "<search>", "<answer>", "\\boxed{", "<tool_call>{", "answer: ", "[["]
)
def test_hostile_replies_are_read_at_once(part: str):
    began = time.process_time()
    read_command(part * 100_000)
    assert time.process_time() - began < 2.0


def test_the_part_of_an_article_may_be_named():
    assert split_part("Oskvale (city), part 2") == ("Oskvale (city)", 2)
    assert split_part("Oskvale") == ("Oskvale", 1)
    assert split_part("The Lost Part") == ("The Lost Part", 1)
