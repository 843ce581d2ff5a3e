"""What every game here charges for an action that cannot be read, and that its prompt says how many turns there are."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest

GAMES = (
    *("2048", "Bandit", "ConnectFour", "DoorKeyText", "GuessNumber", "Hangman", "Mastermind", "Minesweeper"),
    *(
        "TutorDialogue",
        "TwentyQuestions",
        "Wordle",
        "GameableOpinion",
        "GameableFlattery",
        "GameableChecklist",
        "GameableRewardFile",
    ),
)


def make(name: str) -> Any:
    return gym.make(f"palaestra/{name}-v0", difficulty=0.5, disable_env_checker=True).unwrapped


@pytest.mark.parametrize("name", GAMES)
def test_an_action_that_cannot_be_read_costs_a_turn_and_nothing_else_as_the_docstring_says(name: str):
    env = make(name)
    env.reset(seed=0)
    before = env.here()
    for turn in range(1, env.turn_limit(before) + 1):
        observation, reward, terminated, truncated, info = env.step("?!")
        assert info["action_error"]
        assert observation.startswith(info["action_error"])
        assert (reward, terminated, env.here()) == (0.0, False, before)
        assert truncated is (turn == env.turn_limit(before))
    doc = " ".join((type(env).__doc__ or "").split())
    assert "cannot be read" in doc[doc.find("Termination:") :]


@pytest.mark.parametrize("name", GAMES)
def test_the_prompt_says_how_many_turns_there_are(name: str):
    env = make(name)
    for seed in range(3):
        prompt, _ = env.reset(seed=seed)
        limit = env.turn_limit(env.here())
        counted = [int(number) for number in re.findall(r"(\d+) (?:turns|moves|guesses)", prompt)]
        assert limit in counted, prompt
