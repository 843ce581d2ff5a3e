"""Scripts with two streams: what is expected is what Python writes."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from palaestra.envs import sandbox


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/StreamPrediction-v0", disable_env_checker=True, **kwargs).unwrapped


def test_expected_streams_are_those_of_a_run_in_python_with_exceptions_among_them():
    env, errors = make(augmented=1.0), 0
    for seed in range(12):
        env.reset(seed=seed)
        task = env.here()
        result = sandbox.run(task.data.source)
        assert (result.stdout.rstrip("\n"), result.stderr.rstrip("\n")) == tuple(
            task.reference[name].rstrip("\n") for name in ("stdout", "stderr")
        )
        errors += "failed: " in result.stderr
    assert errors


def test_a_wrong_error_output_is_no_success_and_earns_a_part():
    env = make(graded=True)
    env.reset(seed=0)
    answer = env.here().solution
    _, reward, _, _, info = env.step(answer.replace("<stderr>", "<stderr>nothing like this"))
    assert not info["is_success"]
    assert 2 / 3 <= reward < 1
    assert info["extras"]["output_streams"]["given"]["stdout"].strip("\n") == env.here().reference["stdout"].strip("\n")
    env.reset(seed=0)
    assert env.step("<stdout>\n</stdout>")[4]["action_error"] == "The answer must have a block <stderr></stderr>."
