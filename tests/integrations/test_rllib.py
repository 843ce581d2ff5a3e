"""What RLlib cannot take is said before RLlib is looked for; test_peer_rllib.py trains with it."""

from __future__ import annotations

import sys

import gymnasium as gym
import pytest
from palaestra.errors import InputError, MissingExtra
from palaestra.integrations import rllib
from palaestra.integrations.rllib import JudgedSteps, environment, log_outcome, teacher_of
from palaestra.teachers import make

LAVA = "palaestra/LavaGap-v0"


def test_an_environment_in_text_is_refused_with_its_twin():
    with pytest.raises(InputError, match="take palaestra/DoorKey-v0"):
        environment("palaestra/DoorKeyText-v0", "random")
    with pytest.raises(InputError, match="take a gridworld, or palaestra train"):
        environment("palaestra/Countdown-v0")
    with pytest.raises(InputError, match="did you mean"):
        environment("palaestra/DoorKye-v0")


def test_a_teacher_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="did you mean 'alp-gmm'"):
        environment(LAVA, "alp-gm")
    with pytest.raises(InputError, match="no parameters that a teacher could choose"):
        environment("CartPole-v1", "random")
    with pytest.raises(InputError, match="no teacher was given for 'palaestra/LavaGap-v0'"):
        teacher_of(LAVA)


def test_without_rllib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray.rllib", None)
    with pytest.raises(MissingExtra, match=r"palaestra\[rllib\]"):
        environment(LAVA, "random")


def test_a_teacher_by_name_is_told_the_returns_that_the_environment_declares(monkeypatch: pytest.MonkeyPatch):
    made = []
    monkeypatch.setitem(sys.modules, "ray.rllib", None)  # what is looked for after the teacher is made
    monkeypatch.setattr(rllib, "make", lambda *args, **options: made.append(make(*args, **options)) or made[-1])
    for env_id in ("palaestra/StumpTracks-v0", LAVA):
        with pytest.raises(MissingExtra):
            environment(env_id, "random")
    assert [teacher.return_range for teacher in made] == [
        gym.make("palaestra/StumpTracks-v0").unwrapped.return_range,
        (0.0, 1.0),
    ]
    assert made[0].return_range != made[1].return_range


class Unjudged(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(2), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return 0, {"difficulty": 0.5, "extras": object()}

    def step(self, action):
        return 0, 0, False, False, {"reward_valid": action == 0, "is_success": False, "action_error": "lost"}


def test_a_step_that_could_not_be_judged_is_an_error_and_infos_are_small():
    env = JudgedSteps(Unjudged())
    assert env.reset()[1] == {"difficulty": 0.5}
    assert env.step(0)[4] == {"is_success": False, "action_error": "lost"}
    with pytest.raises(RuntimeError, match="could not be judged: lost"):
        env.step(1)


def test_the_outcome_is_logged_where_there_is_one():
    logged: dict[str, float] = {}

    class Logger:
        def log_value(self, name, value, window):
            logged[name] = value

    class Episode:
        def __init__(self, info):
            self.info = info

        def get_infos(self, index):
            return self.info

    log_outcome(episode=Episode({}), metrics_logger=Logger())
    assert logged == {}
    log_outcome(episode=Episode({"is_success": True, "progress": 0.5}), metrics_logger=Logger(), env=None)
    assert logged == {"success": 1.0, "progress": 0.5}
