"""TextArena and GEM themselves, in the environment of scripts/peers.sh: their games by our contract, and ours by
theirs."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.errors import InputError

TEXTARENA, GEM = "palaestra/TextArena-v0", "palaestra/GEM-v0"
TRIAL = Path(__file__).with_name("games_trial.py")


@pytest.fixture(scope="module")
def make(peer_home: Callable[[str], Path]) -> Iterator[Callable[..., Any]]:
    python = str(peer_home(".venv-peers") / "bin" / "python")

    def make(env_id: str, **kwargs: Any) -> Any:
        return gym.make(env_id, disable_env_checker=True, python=python, **kwargs).unwrapped

    held = [make(TEXTARENA), make(GEM)]  # so that each package has one worker for all tests
    yield make
    held.clear()


def bisect(hint: str, low: int, high: int) -> tuple[int, int]:
    """The bounds of the number after a guess of their middle."""
    middle = (low + high) // 2
    return (low, middle - 1) if "lower" in hint else (middle + 1, high)


@pytest.mark.parametrize(
    ("env_id", "game", "high", "form"),
    [(TEXTARENA, "GuessTheNumber-v0", 20, "{}"), (GEM, "game:GuessTheNumber-v0-hard", 50, "So \\boxed{{{}}}.")],
)
def test_who_bisects_guesses_the_number(make, env_id: str, game: str, high: int, form: str):
    env = make(env_id, game=game, split="all")
    for seed in range(4):
        text, info = env.reset(seed=seed)
        assert f"between 1 and {high}" in text
        assert info["params"] == {"game": game}
        low, top, over = 1, high, False
        while not over:
            text, reward, terminated, truncated, info = env.step(form.format((low + top) // 2))
            low, top = bisect(text, low, top)
            over = terminated or truncated
        assert (reward, terminated, info["is_success"], info["progress"]) == (1.0, True, True, 1.0)
        assert info["reward_terms"] == {env.package: 1.0}


def test_what_a_game_refuses_is_an_error_of_the_action_and_what_ends_it_has_its_reward(make):
    env = make(TEXTARENA, game="GuessTheNumber-v0")
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("<think>[3]")
    assert (reward, terminated, info["action_error"]) == (0.0, False, "There is no answer after the thoughts.")
    _, reward, terminated, _, info = env.step("I give up")
    assert (reward, terminated) == (0.0, False)
    assert info["action_error"].startswith("You attempted an invalid move.")
    _, reward, terminated, _, info = env.step("I give up")
    assert (reward, terminated, info["is_success"], info["reward_valid"]) == (0.0, True, False, True)
    # This one hands over the reason as the reward.
    env = make(TEXTARENA, game="ThreeCardMonte-v0")
    env.reset(seed=1)
    for _ in range(2):
        _, reward, terminated, _, info = env.step("none")
    assert (reward, terminated, info["feedback"]) == (0.0, True, "Bad action. Use `[k]`.")
    env = make(GEM, game="game:Mastermind-v0-easy")
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("none")
    assert (reward, terminated) == (-0.1, True)
    assert "valid guess" in info["action_error"]


def test_a_seed_decides_a_game_whatever_is_played_beside_it_and_this_process_draws_nothing(make):
    def play(env: Any, beside: Any = None) -> list[Any]:
        seen = [env.reset(seed=5)[0]]
        for move in ("up", "left", "up", "right", "down", "left", "down", "right"):
            seen.append(env.step(f"[{move}]")[:4])
            if beside is not None:
                beside.step("[left]")
        return seen

    env, other = make(TEXTARENA, game="2048-v0-easy"), make(TEXTARENA, game="2048-v0-easy")
    state, numbers = random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    alone = play(env)
    other.reset(seed=6)
    assert play(env, other) == alone
    assert other.reset(seed=6)[0] != alone[0]
    assert random.getstate() == state
    assert (np.random.get_state()[1] == numbers).all()  # noqa: NPY002


def test_a_snapshot_goes_on_as_the_game_did(make):
    env = make(TEXTARENA, game="2048-v0-easy")
    env.reset(seed=5)
    env.step("[up]")
    saved = env.get_state()
    ahead = [env.step("[left]")[:4], env.step("[down]")[:4]]
    other = make(TEXTARENA, game="2048-v0-easy")
    other.set_state(saved)
    assert [other.step("[left]")[:4], other.step("[down]")[:4]] == ahead


def test_a_game_of_two_has_a_given_opponent(make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(TRIAL.parent))
    env = make(TEXTARENA, game="TicTacToe-v0", seat=1, opponent="games_trial:take_first_free_cell")
    text, _ = env.reset(seed=0)
    assert "[Player 0] [0]" in text
    for cell in (4, 2, 6):
        text, reward, terminated, _, info = env.step(f"[{cell}]")
    assert (reward, terminated, info["is_success"]) == (1.0, True, True)
    env = make(TEXTARENA, game="TicTacToe-v0", seat=0, opponent="games_trial:resign")
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step("[4]")
    assert (reward, truncated, info["reward_valid"]) == (0.0, True, False)
    assert info["action_error"] == "the opponent failed: ValueError: I resign."


@pytest.mark.parametrize(
    ("game", "said"),
    [("Wordle-v0", "nltk.downloader words"), ("GuessWho-v0", "API key"), ("TicTacToe-v0", "opponent=")],
)
def test_a_game_that_cannot_start_says_what_it_needs(make, monkeypatch: pytest.MonkeyPatch, game: str, said: str):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    with pytest.raises(InputError, match=f"TextArena cannot start {game}") as raised:
        make(TEXTARENA, game=game).reset(seed=0)
    assert said in str(raised.value)


def test_a_lost_worker_is_no_reward_and_the_next_game_has_another(make):
    env = make(GEM, game="game:Game2048-v0-easy")
    env.reset(seed=1)
    env._games._process.kill()
    env._games._process.wait()
    _, reward, terminated, truncated, info = env.step("\\boxed{up}")
    assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)
    assert "board" in env.reset(seed=1)[0]


@pytest.mark.parametrize(("env_id", "games"), [(TEXTARENA, 20), (GEM, 15)])
def test_the_games_that_are_drawn_where_none_is_named_start_and_take_any_action(make, env_id: str, games: int):
    env = make(env_id, turns=3)
    (axis,) = env.param_space.axes
    assert len(axis.choices) >= games
    for game in axis.choices:
        if "Sokoban" in game or "RushHour" in game:  # seconds, if the seed is a bad one
            continue
        text, _ = env.reset(seed=3, options={"params": {"game": game}})
        assert len(text) > 50
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step("[none]")
            assert info["reward_valid"], (game, info["action_error"])
            assert not info["is_success"]
            over = terminated or truncated


def test_agents_are_evaluated_on_them_by_id(make):
    python = make(TEXTARENA).python
    report = palaestra.evaluate(
        lambda text: "[1]", TEXTARENA, episodes=4, env_kwargs={"python": python, "game": "Bandit-v0", "turns": 2}
    )
    assert report.episodes == 4
    assert report.success.mean == 0.0


def test_our_environments_are_theirs(peer_home):
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [str(peer_home(".venv-peers") / "bin" / "python"), str(TRIAL)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-1] == "all held"


def test_without_the_package_the_remedy_is_named():
    for env_id, remedy in ((TEXTARENA, "pip install textarena"), (GEM, "pip install gem-llm")):
        with pytest.raises(InputError, match=remedy):
            gym.make(env_id, disable_env_checker=True)
        assert env_id not in palaestra.envs.ids()
    with pytest.raises(InputError, match=r"'no\.module:name'"):
        gym.make(TEXTARENA, disable_env_checker=True, opponent="no.module:name")
