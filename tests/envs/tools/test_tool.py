"""The protocol of tools: which of several runs for a reply."""

from __future__ import annotations

from palaestra.envs.tools.tool import TOOLS, Tool, choose_call


class Echo(Tool):
    name, deed, usage, form = "echo", "echo", "say it", "an echo"

    def __init__(self, word: str, priority: int = 0):
        self.word = word
        self.priority = priority  # type: ignore[misc]

    def parse(self, action: str) -> dict[str, str] | None:
        return {"word": self.word} if self.word in action else None


def chosen(action: str, *tools: Tool) -> str | None:
    found = choose_call(tools, action)
    return None if found is None else found[1]["word"]


def test_the_tool_of_the_highest_priority_runs_and_the_first_of_equals():
    low, high, equal = Echo("low"), Echo("high", 2), Echo("equal", 2)
    assert chosen("low and high", low, high) == "high"
    assert chosen("low and high", high, low) == "high"
    assert chosen("equal and high", low, high, equal) == "high"
    assert chosen("equal and high", low, equal, high) == "equal"
    assert chosen("only low", low, high, equal) == "low"
    assert chosen("none of them", low, high, equal) is None


def test_every_shipped_tool_says_how_it_is_called():
    assert {"python", "sql", "query", "tables", "search_schema", "describe", "sample"} <= set(TOOLS)
    for name in TOOLS:
        tool = TOOLS[name]()
        assert tool.name == name
        assert all(text and text.isascii() for text in (tool.deed, tool.usage, tool.form))
        assert tool.parse("I do not know.") is None
        assert tool.cost >= 1
