"""Any environment with discrete actions, played in text."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from gymnasium.utils.env_checker import check_env
from palaestra.envs import FloatAxis, ParamEnv, TextTwin
from palaestra.errors import InputError

NAMES = ["position", "velocity", "angle", "rotation"]


def twin(**kwargs: Any) -> TextTwin:
    cart = ParamEnv("CartPole-v1", [FloatAxis("gravity", 5.0, 20.0)], return_range=(0, 500), success=195)
    return TextTwin(cart, actions=["left", "right"], names=NAMES, **kwargs)


def test_observations_are_named_numbers_and_actions_have_names():
    env, plain = twin(about="Balance the pole."), gym.make("CartPole-v1")
    observation, info = env.reset(seed=3, options={"params": {"gravity": 9.8}})
    seen, _ = plain.reset(seed=3)
    lines = observation.splitlines()
    assert lines[0] == "Balance the pole."
    assert lines[1:5] == [f"{name}: {value:.4g}" for name, value in zip(NAMES, seen)]
    assert lines[5] == "Answer with one action: left or right."
    assert info["params"] == {"gravity": 9.8}
    for text, action in [("right", 1), ("I push LEFT.", 0), ("**right**", 1), ("<think>left?</think>\nright", 1)]:
        observation, reward, _, _, info = env.step(text)
        seen, *_ = plain.step(action)
        assert observation.splitlines()[:4] == [f"{name}: {value:.4g}" for name, value in zip(NAMES, seen)]
        assert (reward, info["reward_terms"], info["action_error"]) == (1.0, {"env": 1.0}, None)


def test_an_action_that_cannot_be_read_takes_no_step():
    env = twin(max_turns=5)
    env.reset(seed=3)
    before = env.step("left")[0]
    for action in ("", "up", 1):
        observation, reward, terminated, truncated, info = env.step(action)  # type: ignore[arg-type]
        assert observation == f"There is no such action. Answer with one action: left or right.\n{before}"
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info["action_error"] == "There is no such action. Answer with one action: left or right."
    _, _, _, truncated, info = env.step("up")
    assert truncated
    assert info["is_success"] is False
    assert set(info["params"]) == {"gravity"}


def test_parts_tables_numbers_and_texts_are_written():
    space = gym.spaces.Dict(
        {
            "speed": gym.spaces.Box(-1, 1, (2,)),
            "image": gym.spaces.Box(0, 9, (2, 2, 2), dtype=np.uint8),
            "heading": gym.spaces.Discrete(4),
            "mission": gym.spaces.Text(30),
        }
    )

    class Parts(gym.Env[Any, Any]):
        observation_space, action_space = space, gym.spaces.Discrete(3, start=1)

        def reset(self, *, seed=None, options=None):
            image = np.arange(8, dtype=np.uint8).reshape(2, 2, 2)
            seen = {"speed": np.array([0.123456, -1.0], np.float32), "image": image, "heading": 2, "mission": "go home"}
            return seen, {}

    text, _ = TextTwin(Parts(), names={"speed": ["x", "y"]}).reset(seed=0)
    assert text.splitlines() == [
        *("x: 0.1235", "y: -1", "image:", "0 1 2 3", "4 5 6 7", "heading: 2", "mission: go home"),
        "Answer with one action: 1, 2 or 3.",
    ]
    assert TextTwin(Parts(), write=lambda seen: seen["mission"]).reset(seed=0)[0].startswith("go home\n")


def test_it_is_an_environment_of_gymnasium_with_parameters():
    env = twin()
    check_env(env, skip_render_check=True)
    assert env.unwrapped.param_space.names == ("gravity",)
    assert env.reset(seed=0, options={"difficulty": 1.0})[1]["difficulty"] == 1.0


def test_an_agent_is_evaluated_on_it():
    def steady(observation: str) -> str:
        angle, rotation = (float(line.split(": ")[1]) for line in observation.splitlines()[2:4])
        return "right" if angle + rotation > 0 else "left"

    assert palaestra.evaluate(steady, twin, episodes=4).success.mean == 1.0
    assert palaestra.evaluate(lambda observation: "left", twin, episodes=4).success.mean == 0.0


def test_a_minigrid_environment_is_played_in_text():
    pytest.importorskip("minigrid", reason="needs the extra [grid]")
    import minigrid  # noqa: F401  # registers

    names = ["turn left", "turn right", "go forward", "pick up", "drop", "toggle", "done"]
    env = TextTwin("MiniGrid-Empty-5x5-v0", actions=names)
    observation, _ = env.reset(seed=0)
    assert "mission: get to the green goal square" in observation
    for action in ("go forward", "go forward", "turn right", "go forward", "go forward"):
        _, reward, terminated, _, info = env.step(action)
        assert info["action_error"] is None
    assert terminated
    assert reward > 0.9


def test_what_does_not_fit_is_one_sentence():
    with pytest.raises(InputError, match=r"needs discrete actions, and those of .*Pendulum.* are Box"):
        TextTwin("Pendulum-v1")
    with pytest.raises(InputError, match="has 2 actions, whose names must differ; 1 are given"):
        TextTwin("CartPole-v1", actions=["left"])
    with pytest.raises(InputError, match="has 2 actions, whose names must differ; 2 are given"):
        TextTwin("CartPole-v1", actions=["Left", "left"])
    with pytest.raises(InputError, match="4 numbers are observed, not 3"):
        TextTwin("CartPole-v1", names=NAMES[:3])
    with pytest.raises(InputError, match="did you mean 'CartPole-v1'"):
        TextTwin("CartPol-v1")
