"""Gives Stable-Baselines3's PPO a CartPole whose physics a teacher chooses, and measures it on the hardest."""

from __future__ import annotations

from palaestra.envs import FloatAxis, ParamEnv
from palaestra.integrations.sb3 import curriculum_env, success_rate
from stable_baselines3 import PPO

STEPS = 12_000


def lengthen(cart, length):
    """CartPole keeps the product of mass and length as well."""
    cart.length, cart.polemass_length = length, cart.masspole * length


def make():
    axes = [FloatAxis("gravity", 5.0, 20.0), FloatAxis("length", 0.3, 1.0, harder="down")]
    return ParamEnv("CartPole-v1", axes, apply={"length": lengthen}, return_range=(0, 500), success=100)


test = make()
env = curriculum_env(make(), "alp-gmm", seed=0)
model = PPO("MlpPolicy", env, n_steps=256, batch_size=64, learning_rate=1e-3, seed=0, device="cpu")
print("before:", success_rate(model, test, episodes=20, difficulty=1))
model.learn(total_timesteps=STEPS)
print("after:", success_rate(model, test, episodes=20, difficulty=1))
print("episodes that the teacher chose:", int(env.get_wrapper_attr("teacher").metrics()["observed"]))
