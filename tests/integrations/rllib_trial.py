"""RLlib as its users run it: two env runners in processes of their own, which teach one teacher, and evaluation without
it. The result is a line of JSON."""

from __future__ import annotations

import json

import gymnasium as gym
import ray
from palaestra.integrations.rllib import environment, log_outcome, teacher_of
from palaestra.teachers import make, serve
from ray.rllib.algorithms.ppo import PPOConfig

LAVA = "palaestra/LavaGap-v0"

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
teacher = make("alp-gmm", gym.make(LAVA).unwrapped.param_space, seed=0)
with serve(teacher, record=True) as served:
    name = environment(LAVA, served, max_steps=20)
    assert teacher_of(name) is served
    config = (
        PPOConfig()
        .environment(name)
        .callbacks(on_episode_end=log_outcome)
        .env_runners(num_env_runners=2, rollout_fragment_length=64)
        .training(train_batch_size=128, minibatch_size=64, num_epochs=1)
        .evaluation(
            evaluation_interval=100,
            evaluation_duration=3,
            evaluation_config={"explore": False, "env_config": {"teacher": None, "difficulty": 0.0}},
        )
        .debugging(seed=0, log_level="ERROR")
    )
    algorithm = config.build_algo()
    before = algorithm.get_module().get_state()
    results = [algorithm.train() for _ in range(4)]
    observed, workers = teacher.metrics()["observed"], sorted(set(served.order))
    evaluated = algorithm.evaluate()["env_runners"]
    after = algorithm.get_module().get_state()
    outcome = {
        "workers": workers,
        "observed": observed,
        "ended": results[-1]["env_runners"]["num_episodes_lifetime"],
        "success": results[-1]["env_runners"]["success"],
        "evaluated": evaluated["num_episodes"],
        "observed_after_evaluation": teacher.metrics()["observed"],
        "changed": any((before[key] != after[key]).any() for key in before),
    }
    algorithm.stop()
ray.shutdown()
print(json.dumps(outcome, default=float))
