"""Opponents of games of two, and our environments under the calling conventions of GEM and TextArena, as a program that
runs where these are."""

from __future__ import annotations

import random
from typing import Any

import pytest

ENV = "palaestra/GuessNumber-v0"


def take_first_free_cell(text: str) -> str:
    """The first move of those that TextArena says are available."""
    return "[" + text.rpartition("Available Moves: '[")[2][0] + "]"


def resign(text: str) -> str:
    raise ValueError("I resign")


def solve_in_gem() -> list[str]:
    import gem
    from palaestra.integrations import gem_env

    name = gem_env.register(ENV, difficulty=0.3, split="all")
    env = gem.make(name)
    first, info = env.reset(seed=7)
    assert not info["terminated"]
    assert gem.make(name).reset(seed=7)[0] == first
    seen, over = [first], False
    while not over:
        twin = env.spawn(same_state=True)
        action = env._episode.env.unwrapped.oracle()
        text, reward, terminated, truncated, info = env.step(action)
        assert twin.step(action)[:4] == (text, reward, terminated, truncated)
        seen.append(text)
        over = terminated or truncated
    assert (reward, info["is_success"], info["reward"]) == (1.0, True, 1.0)
    assert "extras" not in info
    assert env.sample_random_action().isdigit()
    played = gem.make_vec([name, name], seed=3)
    observations, _ = played.reset()
    assert len(observations) == 2
    _raises(lambda: gem_env.register(ENV), "another name=")
    return seen


def solve_in_textarena() -> list[str]:
    import textarena
    from palaestra.integrations import textarena_env

    name = textarena_env.register(ENV, difficulty=0.3, split="all")
    random.seed(1)
    before = random.getstate()
    env = textarena.make(f"{name}-raw")
    _raises(lambda: env.reset(num_players=2), "for one player")
    env.reset(num_players=1, seed=7)
    seen, done = [], False
    while not done:
        _, messages = env.get_observation()
        seen += [text for sender, text, _ in messages if sender == textarena.GAME_ID]
        done, _ = env.step(env._episode.env.unwrapped.oracle())
    rewards, info = env.close()
    assert rewards == {0: 1.0}
    assert info[0]["result"]["is_success"]
    assert random.getstate() == before
    env = textarena.make(name)
    env.reset(num_players=1, seed=7)
    env.get_observation()
    env.step("0.5.1")
    told = env.get_observation()[1]
    assert told.startswith(f"\n[GAME] {seen[0]}\n[Player] 0.5.1\n[GAME] ")
    _raises(lambda: textarena_env.register(ENV), "another name=")
    return [*seen, info[0]["reason"]]


def _raises(call: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


if __name__ == "__main__":
    assert solve_in_gem() == solve_in_textarena()
    print("all held")
