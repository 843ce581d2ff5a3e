"""Train RLlib's PPO on mazes that a teacher chooses, and measure it on held-out mazes without the teacher."""

from __future__ import annotations

import argparse

import ray
from palaestra.integrations.rllib import environment, log_outcome, teacher_of
from ray.rllib.algorithms.ppo import PPOConfig

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--iterations", type=int, default=16, help="of 1,024 steps")
iterations = parser.parse_args().iterations

name = environment("palaestra/BlockMaze-v0", teacher="alp-gmm", seed=0, axes={"size": [5, 6], "blocks": [0, 2]})
config = (
    PPOConfig()
    .environment(name)
    .callbacks(on_episode_end=log_outcome)
    .env_runners(num_env_runners=0, num_envs_per_env_runner=8)
    .training(train_batch_size=1024, minibatch_size=128, num_epochs=6, lr=1e-3, grad_clip=0.5)
    .training(entropy_coeff=0.01, vf_loss_coeff=0.5, lambda_=0.95, clip_param=0.2, use_kl_loss=False)
    .evaluation(
        evaluation_interval=iterations,
        evaluation_duration=40,
        evaluation_config={"explore": False, "env_config": {"teacher": None, "split": "test"}},
    )
    .debugging(seed=0, log_level="ERROR")
)
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
algorithm = config.build_algo()
print("before:", algorithm.evaluate()["env_runners"]["success"])
for _ in range(iterations):
    result = algorithm.train()
print("after:", result["evaluation"]["env_runners"]["success"])
print("episodes that the teacher chose:", int(teacher_of(name).metrics()["observed"]))
algorithm.stop()
ray.shutdown()
