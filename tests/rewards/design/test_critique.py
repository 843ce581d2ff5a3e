from __future__ import annotations

import pytest
from palaestra.rewards.design import RUNNERS, criticise

from .test_program_reward import episode

RECORDED = [episode(True, goal_distance=[2.0, 0.0]), episode(False, goal_distance=[2.0, 3.0])]
SUPPLIES = {"goal_distance"}


def test_a_program_that_agrees_with_success_is_accepted_with_its_values():
    program = "def reward(episode):\n    return int(episode['success']), -episode['goal_distance'][-1]"
    critique = criticise(f"Thus:\n```python\n{program}\n```", RECORDED, SUPPLIES)
    assert critique.text == ""
    assert critique.program is not None
    assert critique.program.text == program
    assert [(value.sparse, value.total) for value in critique.values] == [(1, 0.0), (0, -3.0)]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("retrun 0", "line 2 is no Python"),
        ("return 0, episode['logps'][0]", "the program reads ['logps'], but this environment supplies goal_distance."),
        ("return 0, episode['gaol'][0]", "failed on 2 of 2 recorded episodes; the first: KeyError (line 2): 'gaol'"),
        ("return 1, 0", "of 2 episodes, it was 1 for 1 failures and less for 0 successes"),
        ("return 0, 0", "of 2 episodes, it was 1 for 0 failures and less for 1 successes"),
        ("return int(episode['success']), {'x': float('inf')}", "['x'] are no finite numbers on 2 of 2"),
    ],
)
def test_a_rejection_says_what_is_wrong(body, text):
    critique = criticise(f"def reward(episode):\n    {body}", RECORDED, SUPPLIES)
    assert critique.program is None
    assert text in critique.text


def test_values_that_change_from_run_to_run_are_rejected(monkeypatch):
    turn = iter(range(9))
    monkeypatch.setitem(
        RUNNERS._entries,
        "sandbox",
        lambda program, episodes: [[int(e["success"]), {"x": float(next(turn))}, ""] for e in episodes],
    )
    critique = criticise("def reward(episode): return 0, 0", RECORDED, SUPPLIES)
    assert critique.text == "the program returned something else when it was run again, on 2 of 2 recorded episodes."


def test_a_failed_sandbox_is_not_held_against_the_program(monkeypatch):
    monkeypatch.setitem(RUNNERS._entries, "sandbox", lambda program, episodes: None)
    with pytest.raises(RuntimeError, match="the sandbox failed"):
        criticise("def reward(episode): return 0, 0", RECORDED, SUPPLIES)
