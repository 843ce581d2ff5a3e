"""One recorder of what environments return."""

from __future__ import annotations

import gymnasium as gym
import palaestra  # noqa: F401
from palaestra.rewards import Recording


def test_an_episode_is_recorded_with_what_the_environment_says():
    env = gym.make("palaestra/GuessNumber-v0", disable_env_checker=True)
    recording = Recording(*env.reset(seed=3))
    while not recording.over:
        action = env.unwrapped.oracle()
        step = recording.add(action, env.step(action), tokens=2)
        assert step.action == action
    episode = recording.episode(max_tokens=9)
    assert episode.success
    assert episode.valid
    assert not episode.truncated
    assert episode.reward == recording.reward == sum(sum(step.terms.values()) for step in episode.steps)
    assert (episode.tokens, episode.max_tokens) == (2 * len(episode.steps), 9)
    assert episode.steps[1].observation != episode.steps[0].observation
    assert episode.task_id == recording.task_id != ""


def test_success_is_not_inferred_and_a_failure_of_the_machinery_stays():
    recording = Recording(0, {})
    recording.add(1, (0, 1.0, False, False, {"reward_valid": False}))
    recording.add(1, (0, 1.0, True, False, {}))
    assert recording.success is None
    assert recording.progress is None
    assert not recording.valid
    assert not recording.episode().success
    assert recording.steps[0].terms == {"env": 1.0}
