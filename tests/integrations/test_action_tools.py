"""Functions in place of actions: every environment is solved by calls of its functions alone."""

from __future__ import annotations

import re

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.tools.tool_function import functions_of
from palaestra.errors import InputError
from palaestra.integrations.action_tools import NAMES, action_tools, write_action
from palaestra.integrations.core import EpisodeRow, TextEpisode, has_one_answer, make_text_env

GAMES = sorted(NAMES)


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_solved_by_its_function(name: str):
    episode = TextEpisode()
    episode.begin(EpisodeRow.of(f"palaestra/{name}-v0", 3, {"difficulty": 0.0}))
    (function,) = action_tools(episode.env)
    assert (function.name, *function.parameters) == NAMES[name][:2]
    while not episode.over:
        action = episode.env.unwrapped.oracle()  # type: ignore[attr-defined]
        number = function.parameters[NAMES[name][1]]["type"] == "integer"
        episode.act(write_action(episode.env, function.name, {NAMES[name][1]: int(action) if number else action}))
    assert episode.result().is_success


@pytest.mark.parametrize("env_id", ["palaestra/DoorKeyText-v0", "palaestra/BabyAIText-v0", "palaestra/UnlockText-v0"])
def test_a_gridworld_offers_its_actions_by_name(env_id: str):
    episode = TextEpisode()
    episode.begin(EpisodeRow.of(env_id, 0, {"difficulty": 0.0}))
    (function,) = action_tools(episode.env)
    while not episode.over:
        action = episode.env.unwrapped.oracle()  # type: ignore[attr-defined]
        assert action in function.parameters["action"]["enum"]
        episode.act(write_action(episode.env, "move", {"action": action}))
    assert episode.result().is_success
    with pytest.raises(InputError, match="'fly'"):
        write_action(episode.env, "move", {"action": "fly"})


def test_an_answer_is_a_function_described_by_the_docstring():
    env = make_text_env("palaestra/Arithmetic-v0")
    (function,) = action_tools(env)
    assert function.name == "answer"
    assert function.answers
    assert function.parameters["text"]["description"] == "Text with one integer."
    assert write_action(env, "answer", {"text": 7}) == "7"


def test_tools_of_an_environment_are_its_own_with_an_answer():
    with make_text_env("palaestra/SQLExplorer-v0") as env:
        assert action_tools(env) == functions_of(env)
    with make_text_env("palaestra/PythonTool-v0") as env:
        assert [function.name for function in action_tools(env)] == ["python", "answer"]
        assert write_action(env, "python", {"code": "print(1)"}) == env.unwrapped.write_call(
            "python", {"code": "print(1)"}
        )  # type: ignore[attr-defined]
        assert write_action(env, "answer", {"text": "12"}) == "12"


def test_every_game_has_a_function_of_its_own_name():
    games = []
    for env_id in palaestra.envs.ids():
        place = str(gym.spec(env_id).entry_point)
        # Slow to make, and without games except WikiRace and SQLDebugging.
        slow = any(f".envs.{part}." in place for part in ("web", "datasets", "sql", "math", "transforms"))
        if slow or "Text-v" in env_id or not env_id.startswith("palaestra/"):
            continue
        try:
            env = make_text_env(env_id)
        except InputError:
            continue
        if not has_one_answer(env) and not functions_of(env):
            games.append(re.sub(r"palaestra/|-v\d+$", "", env_id))
    assert set(NAMES) - set(games) == {"MovingObstaclesText", "SQLDebugging", "WikiRace"}
    assert {name for name in games if name not in NAMES} == {
        "GameableChecklist", "GameableFlattery", "GameableOpinion", "GameableRewardFile", "Inventory", "Mixture",
        "Recurring", "SupplyChain",
    }  # fmt: skip
