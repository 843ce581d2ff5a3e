"""RewardWrapper: rewards on environments, ours and Gymnasium's own."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, GroupReward, Reward, RewardWrapper, StepReward, make


class Turns(Reward):
    """Minus a tenth of the number of steps."""

    name = "turns"

    def value(self, episode: Episode) -> float:
        return -0.1 * len(episode.steps)


class Undecided(Reward):
    def value(self, episode: Episode) -> None:
        return None


class Now(StepReward):
    name = "now"

    def step_reward_now(self, step: Any, observation: Any, terminated: bool) -> float:
        return 10.0 if terminated else 1.0


def arithmetic(reward: Reward) -> gym.Env[Any, Any]:
    return RewardWrapper(gym.make("palaestra/Arithmetic-v0"), reward)


def guess(reward: Reward) -> gym.Env[Any, Any]:
    return RewardWrapper(gym.make("palaestra/GuessNumber-v0", bits=6), reward)


def play(env: gym.Env[Any, Any]) -> list[tuple[float, dict[str, Any]]]:
    env.reset(seed=0)
    rows = []
    ended = False
    while not ended:
        _, reward, terminated, truncated, info = env.step(env.unwrapped.oracle())  # type: ignore[attr-defined]
        rows.append((float(reward), info))
        ended = terminated or truncated
    return rows


def test_a_term_is_added_with_the_last_step_and_shown():
    rows = play(guess(Turns()))
    assert rows[-1][1]["reward_terms"]["turns"] == pytest.approx(-0.1 * len(rows))
    assert all("turns" not in info["reward_terms"] for _, info in rows[:-1])
    for reward, info in rows:
        assert reward == pytest.approx(sum(info["reward_terms"].values()))


def test_a_complete_reward_takes_the_place_of_the_environments():
    rows = play(arithmetic(make("weighted", child={"name": "outcome"}, weight=3.0)))
    assert rows[0][0] == pytest.approx(3.0)
    assert sum(rows[0][1]["reward_terms"].values()) == pytest.approx(3.0)


def test_a_reward_that_could_not_be_determined_is_not_valid():
    (row,) = play(arithmetic(Undecided()))
    assert row[1]["reward_valid"] is False


def test_a_reward_known_at_once_is_added_at_once():
    rows = play(guess(Now()))
    assert [info["reward_terms"]["now"] for _, info in rows] == [1.0] * (len(rows) - 1) + [10.0]


def test_episodes_do_not_run_into_each_other():
    env = arithmetic(Turns())
    assert play(env)[-1][1]["reward_terms"]["turns"] == play(env)[-1][1]["reward_terms"]["turns"] == -0.1


def test_lengths_are_characters_unless_one_counts_otherwise():
    class Length(Reward):
        name = "length"

        def value(self, episode: Episode) -> float:
            return -float(episode.tokens)

    for count, expected in ((None, -len("a b c")), (lambda action: len(action.split()), -3)):
        env = RewardWrapper(gym.make("palaestra/Arithmetic-v0"), Length(), count)
        env.reset(seed=0)
        assert env.step("a b c")[4]["reward_terms"]["length"] == expected


class CutOff(Reward):
    """1 for an episode that a limit ended."""

    name = "cut-off"

    def value(self, episode: Episode) -> float:
        return float(episode.truncated)


@pytest.mark.parametrize(("limit", "expected"), [(2, 1.0), (None, 0.0)])
def test_a_limit_cuts_off_and_a_fall_does_not(limit: int | None, expected: float):
    env = RewardWrapper(gym.make("CartPole-v1", max_episode_steps=limit), CutOff())
    env.reset(seed=0)
    ended = False
    while not ended:
        *_, terminated, truncated, info = env.step(0)
        ended = terminated or truncated
    assert info["reward_terms"]["cut-off"] == expected


def test_an_episode_that_reaches_its_end_at_the_limit_is_not_cut_off():
    class Both(gym.Wrapper):
        def step(self, action):
            observation, reward, _, _, info = self.env.step(action)
            return observation, reward, True, True, info

    env = RewardWrapper(Both(gym.make("CartPole-v1")), CutOff())
    env.reset(seed=0)
    assert env.step(0)[4]["reward_terms"]["cut-off"] == 0.0


def test_wrappers_stack():
    env = RewardWrapper(arithmetic(Turns()), make("weighted", child=Turns(), weight=10.0))
    (row,) = play(env)
    # The outer one sees the inner one's term and adds to it.
    assert row[0] == pytest.approx(1 - 0.1 - 1.0)


def test_any_gymnasium_environment_can_be_wrapped():
    env = RewardWrapper(gym.make("CartPole-v1"), Turns())
    env.reset(seed=0)
    steps, total, ended = 0, 0.0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(0)
        steps, total, ended = steps + 1, total + float(reward), terminated or truncated
    assert total == pytest.approx(steps - 0.1 * steps)
    assert dict(info["reward_terms"]) == pytest.approx({"env": 1.0, "turns": -0.1 * steps})


@pytest.mark.parametrize("count", [1, 2])
def test_wrapped_environments_can_be_vectorised(count: int):
    envs = gym.vector.SyncVectorEnv([lambda: arithmetic(Turns())] * count)
    envs.reset(seed=0)
    _, reward, *_ = envs.step(["nonsense"] * count)
    assert list(reward) == pytest.approx([-0.1] * count)


def test_rewards_that_compare_siblings_are_refused_wherever_they_are_in_the_tree():
    class Rank(GroupReward):
        name = "rank"

    with pytest.raises(InputError, match=r"\['rank'\] compare several episodes"):
        arithmetic(make("weighted", child=Rank(), weight=1.0))


def test_rewards_that_need_the_model_are_refused():
    class Hidden(Turns):
        needs = frozenset({"logps"})

    with pytest.raises(InputError, match=r"needs \['logps'\] of every episode, but this environment supplies "):
        arithmetic(Hidden())


class Marked(palaestra.envs.Game):
    """Any two turns; the second one's mark is its action."""

    param_space = palaestra.envs.ParamSpace([palaestra.envs.IntAxis("goal", 1, 2)])
    supplies = frozenset({"mark"})

    def start(self, rng, params):
        return ()

    def observe(self, state):
        return str(state)

    def act(self, state, action):
        state = (*state, action)
        marks = {"mark": action} if len(state) == 2 else {}
        return palaestra.envs.Transition(state, done=len(state) == 2, extras=marks)

    def content_of(self, episode):
        return "only one"


class Mark(Reward):
    name, needs, complete = "mark", frozenset({"mark"}), True

    def value(self, episode: Episode) -> float:
        return float(episode.extra("mark"))


def test_what_the_environment_supplies_reaches_the_reward():
    env = RewardWrapper(Marked(split="all"), Mark())
    env.reset(seed=0)
    _, reward, _, _, info = env.step("5")
    assert (reward, info["extras"]["mark"]) == (0.0, None)
    _, reward, terminated, _, info = env.step("7")
    assert (reward, terminated, info["extras"]["mark"]) == (7.0, True, "7")


def test_the_wrapper_is_named_in_the_package():
    assert palaestra.rewards.RewardWrapper is RewardWrapper
