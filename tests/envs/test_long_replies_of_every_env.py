"""Long replies: accepted behind wrappers and in vector environments, bounded by a limit that says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit
from palaestra.envs.testing.playing import suits
from palaestra.errors import InputError
from palaestra.rewards import RewardWrapper
from palaestra.teachers import TeacherWrapper

plays_text = suits(lambda env: isinstance(env.action_space, palaestra.envs.Unicode))
IDS = [name for name in palaestra.envs.ids() if name.startswith("palaestra/") and plays_text(name)]
# A question with one number, one of several lines, a program, and games.
FEW = ["palaestra/Arithmetic-v0", "palaestra/Sudoku-v0", "palaestra/MBPP-v0", "palaestra/RushHour-v0"]
LIMIT = 1_000_000


def thought(length: int) -> str:
    return "<think>" + "Perhaps \\boxed{17}? " * (length // 20) + "</think>\n"


def long_reply(env: Any, length: int = 10_000) -> str:
    """The oracle's next action after a thought."""
    return thought(length) + env.unwrapped.oracle()


def solved(env: gym.Env[Any, Any], length: int = 10_000) -> dict[str, Any]:
    """The last info of an episode of long replies."""
    env.reset(seed=3)
    done, info = False, {}
    while not done:
        _, _, terminated, truncated, info = env.step(long_reply(env, length))
        assert info["action_error"] is None
        done = terminated or truncated
    return info


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("env_id", FEW)
def test_vectors_take_long_replies_as_a_single_environment_does(env_id: str, mode: Any):
    single: Any = gym.make(env_id, difficulty=0.2)
    envs = gym.make_vec(env_id, num_envs=2, vectorization_mode=mode, difficulty=0.2)
    envs.reset(seed=3)
    replies = []
    for seed in (3, 4):
        single.reset(seed=seed)
        replies.append(long_reply(single))
    assert tuple(replies) in envs.action_space
    _, rewards, _, _, infos = envs.step(tuple(replies))
    envs.close()
    for place, seed in enumerate((3, 4)):
        single.reset(seed=seed)
        _, reward, _, _, info = single.step(single.unwrapped.oracle())
        assert rewards[place] == reward
        assert infos["is_success"][place] == info["is_success"]
        assert infos["action_error"][place] is None


WRAPPERS: dict[str, Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]] = {
    "time limit": functools.partial(TimeLimit, max_episode_steps=200),
    "statistics": RecordEpisodeStatistics,
    "reward": lambda env: RewardWrapper(env, palaestra.rewards.make("outcome")),
    "teacher": lambda env: TeacherWrapper(env, "random"),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("env_id", FEW)
def test_wrapped_environments_take_long_replies(env_id: str, wrapper: str):
    env = WRAPPERS[wrapper](gym.make(env_id, difficulty=0.2))
    assert thought(10_000) in env.action_space
    assert solved(env)["is_success"]


@pytest.mark.parametrize("of", ["palaestra/Arithmetic-v0", "palaestra/Sudoku-v0"])
@pytest.mark.parametrize("form", ["MultipleChoice", "Rephrased", "HintPrefix"])
def test_questions_in_another_form_take_long_replies(form: str, of: str):
    if (form, of) == ("HintPrefix", "palaestra/Sudoku-v0"):
        of = "palaestra/WordProblem-v0"
    assert solved(gym.make(f"palaestra/{form}-v0", of=of, difficulty=0.2))["is_success"]


@pytest.mark.parametrize("env_id", IDS)
def test_replies_of_a_million_characters_are_read_and_longer_ones_are_refused(env_id: str):
    env: Any = gym.make(env_id, difficulty=0.2, disable_env_checker=True)
    env.reset(seed=3)
    action = env.unwrapped.oracle()
    start = env.unwrapped.get_state()
    longest = thought(LIMIT)[-LIMIT + len(action) :] + action
    assert len(longest) == LIMIT
    for reply, readable in ((longest, True), ("." + longest, False)):
        env.unwrapped.set_state(start)
        info = env.step(reply)[4]
        assert (reply in env.action_space, info["action_error"] is None) == (readable, readable)
    assert str(LIMIT + 1) in info["action_error"]
    assert str(LIMIT) in info["action_error"].replace(str(LIMIT + 1), "")


def test_the_limit_is_an_argument_that_every_space_follows():
    env: Any = gym.make("palaestra/Arithmetic-v0", max_action=500)
    env.reset(seed=3)
    assert env.action_space.max_length == 500
    assert "at most 500" in env.step(long_reply(env, 600))[4]["action_error"]
    env.reset(seed=3)
    assert env.step(long_reply(env, 400))[4]["is_success"]
    envs = gym.make_vec("palaestra/Arithmetic-v0", num_envs=2, vectorization_mode="sync", max_action=500)
    assert envs.single_action_space.max_length == 500
    wider: Any = gym.make("palaestra/GuessNumber-v0", max_action=2 * LIMIT)
    assert solved(wider, LIMIT + 1_000)["is_success"]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "many", True, None])
def test_a_limit_that_is_no_length_is_refused(limit: Any):
    with pytest.raises(InputError, match="max_action must be a whole number"):
        gym.make("palaestra/Arithmetic-v0", max_action=limit)


def test_the_answer_itself_is_bounded_whatever_stands_around_it():
    env: Any = gym.make("palaestra/Arithmetic-v0", disable_env_checker=True)
    for answer in ("9" * 5_000, "\\boxed{" + "9" * 5_000 + "}", "The answer is " + "9" * 5_000 + "."):
        env.reset(seed=3)
        info = env.step(thought(10_000) + answer)[4]
        assert not info["is_success"]
        assert "at most 4096" in info["action_error"]


@pytest.mark.parametrize("names", [("reasoning",), ("[THINK]",), ("think", "scratchpad")])
def test_the_names_of_thoughts_are_an_argument(names: tuple[str, ...]):
    env: Any = gym.make("palaestra/Arithmetic-v0", thoughts=names)
    for name in names:
        begin, end = (name, f"[/{name[1:]}") if name.startswith("[") else (f"<{name}>", f"</{name}>")
        for reply, is_right in (
            (f"{begin}hm{end}%s", True),
            (f"{begin}hm{end}{begin}%s", False),
            ("%s" + begin, False),
        ):
            env.reset(seed=3)
            info = env.step(reply % env.unwrapped.oracle())[4]
            assert info["is_success"] is is_right
            assert (info["action_error"] is None) is is_right
