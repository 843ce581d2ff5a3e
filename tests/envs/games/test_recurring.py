"""Blocks of episodes of one instance: what is kept from one to the next, and when exploration pays."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs import Game, ParamSpace
from palaestra.envs.axes import IntAxis
from palaestra.envs.game import Transition
from palaestra.errors import InputError


class TwoArms(Game):
    """One pull: the first arm pays 0.5, the second 1 in good instances and 0 in others."""

    param_space = ParamSpace([IntAxis("good", 0, 1)])

    def start(self, rng: Any, params: dict[str, Any]) -> tuple[int, float | None]:
        return params["good"], None

    def observe(self, state: tuple[int, float | None]) -> str:
        return "Pull." if state[1] is None else f"It paid {state[1]}."

    def act(self, state: tuple[int, float | None], action: str) -> Transition:
        paid = 0.5 if action == "1" else float(state[0])
        return Transition((state[0], paid), done=True, success=paid == 1, progress=paid, terms={"payout": paid})


gym.register("test/TwoArms-v0", entry_point=TwoArms)


def play(episodes: int, memory: bool, good: int, choose: Callable[[tuple[str, ...]], str]) -> tuple[float, list[str]]:
    """Play a block with arms chosen by what is in the context; return what it earned, and the arms."""
    env = gym.make("palaestra/Recurring-v0", of="test/TwoArms-v0", episodes=episodes, memory=memory, split="all")
    observation, info = env.reset(seed=0, options={"params": {"good": good}})
    seen, earned, pulled, over = (observation,), 0.0, list[str](), False
    while not over:
        pulled.append(choose(seen))
        observation, reward, over, _, info = env.step(pulled[-1])
        seen = (observation,) if info.get("fresh") else (*seen, observation)
        earned += float(reward)
    return earned, pulled


def best_first_pull(episodes: int, memory: bool) -> tuple[float, str]:
    """Largest mean return over instances of which 40 % are good, and the first pull of it, by trying all policies."""
    contexts: dict[tuple[str, ...], None] = {}
    for good, arms in itertools.product((0, 1), itertools.product("12", repeat=episodes)):
        pulls = iter(arms)
        play(episodes, memory, good, lambda seen: contexts.setdefault(seen) or next(pulls))  # noqa: B023
    found = []
    for arms in itertools.product("12", repeat=len(contexts)):
        policy = dict(zip(contexts, arms))
        (bad, pulled), (well, _) = (play(episodes, memory, good, policy.__getitem__) for good in (0, 1))
        found.append((round(0.6 * bad + 0.4 * well, 9), pulled[0]))
    return max(found)


def test_exploration_pays_only_where_the_task_recurs_and_is_remembered():
    assert best_first_pull(1, memory=True) == (0.5, "1")  # the arm of the larger mean under the prior, 0.5 > 0.4
    assert best_first_pull(2, memory=False) == (0.5, "1")
    # One pull of the other arm, then the better one: (0.4 + 0.4 + 0.6 * 0.5) / 2 = 0.55.
    assert best_first_pull(2, memory=True) == (0.55, "2")


def play_block(**options: Any) -> list[tuple[str, float, bool, dict[str, Any]]]:
    env: Any = gym.make("palaestra/Recurring-v0", bits=4, slack=0, **options).unwrapped
    env.reset(seed=3)
    steps, over = [], False
    while not over:
        action = "no number" if not steps else env.oracle() if len(steps) > 5 else "1"
        observation, reward, over, _, info = env.step(action)
        steps.append((observation, reward, bool(info.get("fresh")), info))
    return steps


def test_an_episode_at_its_turn_limit_is_lost_and_the_next_one_begins():
    steps = play_block(episodes=2)
    *_, (_, _, _, last) = steps
    assert last["extras"]["rounds"] == [0] * 5 + [1] * (len(steps) - 5)  # an unreadable reply is a turn, too
    assert "Episode 2 of 2: the same task again." in steps[4][0]
    assert steps[4][0].startswith("1: ")  # what the last guess of the first episode led to
    assert [info["extras"]["solved"] for *_, info in steps] == [False] * (len(steps) - 1) + [True]
    assert last["is_success"]
    assert steps[-1][1] == 0.5
    assert last["progress"] < 1.0  # half of the block was lost
    assert not any(fresh for _, _, fresh, _ in steps)


def test_without_memory_the_context_restarts_and_says_nothing_of_the_episode_before():
    steps = play_block(episodes=2, memory=False)
    assert [fresh for _, _, fresh, _ in steps] == [place == 4 for place in range(len(steps))]
    assert steps[4][0].startswith("Episode 2 of 2.\nGuess my number")


def test_the_number_of_episodes_may_be_drawn_and_is_then_not_told():
    env: Any = gym.make("palaestra/Recurring-v0", episodes=3, lengths="geometric").unwrapped
    drawn = []
    for seed in range(60):
        observation, _ = env.reset(seed=seed)
        drawn.append(env.here().episodes)
        assert observation.startswith("Episode 1.\n")
    assert len(set(drawn)) > 4
    assert sum(drawn) / 60 == pytest.approx(3, abs=1)


def test_a_bandit_keeps_its_means_and_draws_its_payouts_anew():
    of = {"of": "palaestra/Bandit-v0", "of_kwargs": {"horizon": 20, "arms": 3}}
    env: Any = gym.make("palaestra/Recurring-v0", episodes=2, **of).unwrapped
    env.reset(seed=0)
    first = env.here().now.arms
    for _ in range(20):
        env.step(env.oracle())
    again = env.here().now.arms
    assert (again.means, again.horizon) == (first.means, first.horizon)
    assert again.chance != first.chance
    assert env.game.replay(env.here().first, 5) == env.game.replay(env.here().first, 5)


def test_a_question_of_one_answer_is_no_game():
    with pytest.raises(InputError, match="Arithmetic"):
        gym.make("palaestra/Recurring-v0", of="palaestra/Arithmetic-v0")
