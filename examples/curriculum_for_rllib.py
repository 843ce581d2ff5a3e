"""Gives RLlib's PPO mazes that a teacher chooses, and measures it on held-out mazes without the teacher."""

from __future__ import annotations

import ray
from palaestra.integrations.rllib import environment, log_outcome, teacher_of
from ray.rllib.algorithms.ppo import PPOConfig

ENV, AXES, ITERATIONS = "palaestra/BlockMaze-v0", {"size": [5, 6], "blocks": [0, 4]}, 12

name = environment(ENV, teacher="alp-gmm", seed=0, axes=AXES)
config = (
    PPOConfig()
    .environment(name)
    .callbacks(on_episode_end=log_outcome)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
    .training(train_batch_size=512, minibatch_size=128, num_epochs=4, lr=1e-3, entropy_coeff=0.01)
    .evaluation(
        evaluation_interval=ITERATIONS,
        evaluation_duration=40,
        evaluation_config={"explore": False, "env_config": {"teacher": None, "split": "test"}},
    )
    .debugging(seed=0, log_level="ERROR")
)
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
algorithm = config.build_algo()
print("before:", algorithm.evaluate()["env_runners"]["success"])
for _ in range(ITERATIONS):
    result = algorithm.train()
print("after:", result["evaluation"]["env_runners"]["success"])
print("episodes that the teacher chose:", int(teacher_of(name).metrics()["observed"]))
algorithm.stop()
ray.shutdown()
