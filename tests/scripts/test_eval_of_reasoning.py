"""``palaestra eval`` of an agent that thinks at length before it answers, in the styles of reasoning models."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents.oracle import OracleAgent
from palaestra.scripts.cli import main

IDS = [
    name
    for name in palaestra.envs.ids()
    if name.startswith("palaestra/")
    and isinstance(gym.make(name, disable_env_checker=True).action_space, palaestra.envs.Unicode)
]
_LINE = "Wait. Perhaps it is \\boxed{17}? Then <answer>no</answer> would follow.\n```\nleft 1 A\n```\nHmm, again.\n"
THOUGHT = (_LINE * (10_000 // len(_LINE) + 1))[:10_000]

STYLES = (
    "<think>\n{thought}\n</think>\n\nIt can be worked out in two steps.\n\n\\boxed{{{answer}}}",
    "{thought}\n</think>\n<answer>{answer}</answer>",
    "<think>\n{thought}</think>\n\nChecked. The answer is:\n\n{answer}\n\nLet me know if you have any questions!",
    "<thinking>{thought}</thinking>\r\n\r\n**Final Answer:** **{answer}**\r\n",
    "<think>{thought}</think>{answer}",
)
PROGRAM_STYLES = (
    "<think>\n{thought}\n</think>\n\n{answer}",
    "{thought}\n</think>\n<answer>\n{answer}\n</answer>",
    "<think>\n{thought}</think>\n\nHere is the program.\n\n{answer}\n\nLet me know if you have any questions!",
    "<thinking>{thought}</thinking>\r\n\r\n**Final Answer:**\r\n\r\n{answer}\r\n",
    "<think>{thought}</think>{answer}",
)


class Reasoner(OracleAgent):
    """The oracle, after 10,000 characters of thought, in another style at each turn and in each slot."""

    name = "oracle"

    def __init__(self) -> None:
        super().__init__()
        self.turns: Counter[int] = Counter()

    def reset(self, indices: Sequence[int]) -> None:
        for slot in indices:
            self.turns[slot] = slot

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[Any]:
        return [
            None if action is None else self.said(slot, action)
            for slot, action in enumerate(super().act(observations, infos))
        ]

    def said(self, slot: int, action: str) -> str:
        styles = PROGRAM_STYLES if action.startswith("```") else STYLES
        self.turns[slot] += 1
        style = styles[self.turns[slot] % len(styles)]
        if action.startswith("<answer>"):  # that is the form this task asks for
            style = style.replace("<answer>{answer}</answer>", "{answer}")
        return style.format(thought=THOUGHT, answer=action)


class Thinker(Reasoner):
    """The oracle, after 10,000 characters of thought, where the whole reply is the answer."""

    def said(self, slot: int, action: str) -> str:
        return f"<think>\n{THOUGHT}\n</think>\n\n{action}"


WHOLE = {f"palaestra/{name}-v0" for name in ("InstructionFollowing", "NextSegment", "OpenProblem")}
"""Environments of which every word of a reply counts."""


@pytest.mark.parametrize("env_id", IDS)
def test_thoughts_and_styles_of_answering_cost_nothing(env_id: str):
    bare = palaestra.evaluate("oracle", env_id, episodes=5)
    assert bare.success.mean == 1.0
    agent = Thinker() if env_id in WHOLE else Reasoner()
    # As texts, because what an environment does not report is NaN.
    assert repr(palaestra.evaluate(agent, env_id, episodes=5)) == repr(bare)


def test_they_cost_nothing_on_the_command_line(tmp_path: Path):
    def report(agent: str) -> dict[str, Any]:
        path = tmp_path / "report.json"
        words = ["eval", "palaestra/GuessNumber-v0", "--agent", agent, "--episodes", "5", "--json", str(path)]
        assert main(words) == 0
        return json.loads(path.read_text())

    bare = report("oracle")
    assert bare["success"] == 1.0
    assert report(f"{__name__}:Reasoner") == bare
