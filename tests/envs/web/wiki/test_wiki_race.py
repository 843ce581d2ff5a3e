"""WikiRace: distances, links only, and the shortest way of the oracle."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.web.wiki.corpus import make_corpus
from palaestra.envs.web.wiki.wiki_race import measure_distances


def made(seed: int = 1, **kwargs: Any) -> tuple[Any, str]:
    env = gym.make("palaestra/WikiRace-v0", disable_env_checker=True, **{"difficulty": 0.5, **kwargs}).unwrapped
    return env, env.reset(seed=seed)[0]


def test_distances_are_those_of_matrix_powers():
    corpus = make_corpus(3, 40)
    linked = np.zeros((40, 40), dtype=bool)
    for number in range(40):
        linked[number, list(corpus.links[number])] = True
    for goal in range(40):
        reached = np.eye(40, dtype=bool)[goal]
        expected = {goal: 0}
        for steps in range(1, 40):
            reached = linked @ reached
            for number in np.flatnonzero(reached).tolist():
                expected.setdefault(number, steps)
        assert measure_distances(3, 40, goal) == expected


@pytest.mark.parametrize("distance", [2, 4, 6])
def test_the_oracle_takes_a_shortest_way_of_the_distance_asked_for(distance: int):
    full = 0
    for seed in range(12):
        env, _ = made(seed=seed, distance=distance, size=2)
        done, moves = False, 0
        while not done:
            _, reward, done, _, info = env.step(env.oracle())
            moves += 1
        assert (reward, info["is_success"], info["progress"]) == (1.0, True, 1.0)
        assert moves == env.here().distance <= distance
        assert info["extras"]["goal_distance"] == list(range(moves, -1, -1))
        assert info["extras"]["potentials"] == pytest.approx([-left / moves for left in range(moves, -1, -1)])
        full += moves == distance
    assert full >= 10


def test_only_links_of_the_open_article_can_be_followed():
    env, prompt = made()
    state = env.here()
    corpus = state.corpus
    far = next(n for n in range(state.articles) if n not in corpus.links[state.at] and n != state.at)
    for action in (f"open[{corpus.title(far)}]", "open[javascript:alert(1)]", "next[]", "search[x]", ""):
        observation, reward, terminated, _, info = env.step(action)
        assert info["action_error"]
        assert (reward, terminated) == (0.0, False)
        assert env.here() == state
        assert observation.endswith(prompt)
    near = corpus.title(corpus.links[state.at][0])
    for action in (f"open[{near}]", near.upper(), f"[[{near}]]", f"[[{near}|somewhere]]", f"Let me open[{near}]"):
        env.reset(seed=1)
        assert env.step(action)[4]["action_error"] is None, action
        assert env.here().at == corpus.links[state.at][0]


def test_the_goal_is_told_in_every_turn_and_the_way_is_not():
    env, prompt = made(distance=4, size=2)
    goal = env.here().corpus.title(env.here().goal)
    assert prompt.count(f"'{goal}'") == 1
    assert f"'{goal}'" in env.step(env.oracle())[0]
