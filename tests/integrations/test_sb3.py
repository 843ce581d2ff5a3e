"""Stable-Baselines3 trains under a teacher, which hears of every episode."""

from __future__ import annotations

import pytest
from palaestra.envs import FloatAxis, ParamEnv
from palaestra.errors import InputError
from palaestra.integrations.sb3 import curriculum_env, success_rate

ROOMS = "palaestra/FourRooms-v0"


class Still:
    """A model that always takes the same action, as Stable-Baselines3 gives one."""

    def predict(self, observation, deterministic=False):
        return 0, None


def test_ppo_trains_under_a_teacher():
    baselines = pytest.importorskip("stable_baselines3")
    env = curriculum_env(ROOMS, "alp-gmm", seed=0)
    model = baselines.PPO("MlpPolicy", env, n_steps=256, n_epochs=1, seed=0, device="cpu")
    before = next(model.policy.parameters()).detach().clone()
    model.learn(total_timesteps=512)
    metrics = env.get_wrapper_attr("teacher").metrics()
    assert metrics["observed"] == metrics["proposed"] - 1 > 0
    assert not before.equal(next(model.policy.parameters()))
    assert 0.0 <= success_rate(model, ROOMS, episodes=2, difficulty=0) <= 1.0


def test_a_model_that_stands_still_solves_nothing():
    assert success_rate(Still(), ROOMS, episodes=2, difficulty=0) == 0.0


def test_an_environment_in_text_is_refused_with_its_twin():
    with pytest.raises(InputError, match="take palaestra/DoorKey-v0"):
        curriculum_env("palaestra/DoorKeyText-v0", "random")
    with pytest.raises(InputError, match="take a gridworld"):
        curriculum_env("palaestra/Countdown-v0", "random")
    with pytest.raises(InputError, match="did you mean"):
        curriculum_env("palaestra/DoorKye-v0", "random")
    with pytest.raises(InputError, match="episodes must be"):
        success_rate(Still(), ROOMS, episodes=0)


def test_any_environment_goes_in_as_an_object():
    axes = [FloatAxis("gravity", 5.0, 20.0)]
    cart = ParamEnv("CartPole-v1", axes, return_range=(0, 500), success=8)
    env = curriculum_env(cart, "random", seed=0)
    assert env.observation_space == cart.observation_space  # without bounds, it stays as it is
    env.reset(seed=0)
    while not env.step(0)[2]:
        pass
    assert env.get_wrapper_attr("teacher").metrics()["observed"] == 1
    assert success_rate(Still(), cart, episodes=3, difficulty=0) == 1.0
    with pytest.raises(InputError, match="does not say what a success is"):
        success_rate(Still(), ParamEnv("CartPole-v1", axes), episodes=1)
    with pytest.raises(InputError, match=r"axes must be given to .* itself"):
        curriculum_env(cart, "random", axes={"gravity": 9})
