"""Train Stable-Baselines3's PPO on mazes that a teacher chooses, and measure it on mazes of fixed difficulty."""

from __future__ import annotations

from palaestra.integrations.sb3 import curriculum_env, success_rate
from stable_baselines3 import PPO

ENV, AXES, STEPS = "palaestra/BlockMaze-v0", {"size": [5, 6], "blocks": [0, 4]}, 6_000

env = curriculum_env(ENV, "alp-gmm", seed=0, axes=AXES)
model = PPO("MlpPolicy", env, n_steps=512, batch_size=128, n_epochs=4, ent_coef=0.01, learning_rate=1e-3, seed=0)
print("before:", success_rate(model, ENV, episodes=40, axes=AXES))
model.learn(total_timesteps=STEPS)
print("after:", success_rate(model, ENV, episodes=40, axes=AXES))
print("episodes that the teacher chose:", int(env.get_wrapper_attr("teacher").metrics()["observed"]))
