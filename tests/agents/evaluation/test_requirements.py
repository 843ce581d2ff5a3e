"""All that several environments lack is one error, before the first episode, with the command that installs it."""

from __future__ import annotations

import sys

import palaestra
import pytest
from palaestra.agents.evaluation import evaluate_all
from palaestra.agents.evaluation.requirements import check_requirements
from palaestra.errors import InputError, MachineryError, MissingExtra


@pytest.fixture
def bare(monkeypatch):
    """A machine without the packages of [web] and [box2d], and without programs."""
    monkeypatch.setenv("PATH", "")
    for module in ("Box2D", "bm25s"):
        monkeypatch.setitem(sys.modules, module, None)


@pytest.mark.usefixtures("bare")
class TestBareMachine:
    def test_all_parts_are_in_one_sentence_with_one_command(self):
        names = ("Arithmetic", "WikiSearch", "ProgramSynthesis", "StumpTracks", "MaskedSpan", "PythonTool")
        with pytest.raises(InputError) as caught:
            evaluate_all("oracle", [f"palaestra/{name}-v0" for name in names], episodes=1)
        assert str(caught.value) == (
            "5 parts of this evaluation need the extra [web] (for WikiSearch-v0, MaskedSpan-v0) and bubblewrap (for "
            "ProgramSynthesis-v0, PythonTool-v0) and the extra [box2d] (for StumpTracks-v0): pip install "
            "'palaestra[box2d,web]' && apt-get install bubblewrap."
        )

    def test_a_single_part_has_its_own_error(self):
        with pytest.raises(MissingExtra, match=r"palaestra/WikiSearch-v0 needs the extra \[web\]: pip install"):
            evaluate_all("oracle", ["palaestra/Arithmetic-v0", "palaestra/WikiSearch-v0"], episodes=1)
        with pytest.raises(MachineryError, match="needs Linux and the program bwrap") as caught:
            evaluate_all("oracle", ["palaestra/PythonTool-v0"], episodes=1)
        assert caught.value.install == "apt-get install bubblewrap"

    def test_what_the_agent_lacks_is_in_the_sentence(self):
        agent = ("openai:m", MissingExtra("a chat endpoint", "chat"))
        with pytest.raises(
            InputError, match=r"\[chat\] \(for openai:m\) and the extra \[web\] .*'palaestra\[chat,web\]'"
        ):
            check_requirements([("palaestra/WikiSearch-v0", {})], {}, agent)

    def test_of_many_environments_a_few_are_named(self):
        names = ("CodeCompletion", "HumanEval", "MBPP", "StdioProblem", "WikiSearch")
        with pytest.raises(InputError, match=r"for CodeCompletion-v0, HumanEval-v0, MBPP-v0 and 1 more\)"):
            evaluate_all("oracle", [f"palaestra/{name}-v0" for name in names], episodes=1)


def test_nothing_is_said_where_nothing_is_missing():
    check_requirements([("palaestra/Arithmetic-v0", {}), (palaestra.envs.Question, {})], {"split": "test"})
