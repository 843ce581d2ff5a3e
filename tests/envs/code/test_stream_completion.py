"""A gap in a script is judged by what the script writes."""

from __future__ import annotations

import gymnasium as gym


def test_an_equivalent_fill_scores_like_the_original():
    env = gym.make("palaestra/StreamCompletion-v0", disable_env_checker=True, masked="expression").unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        missing = env.here().data.missing
        start = env.get_state()
        for code, right in ((missing, True), (f"[{missing}][0]", True), ("None", False)):
            env.set_state(start)
            info = env.step(f"```python\n{code}\n```")[4]
            assert info["is_success"] is right
        assert info["extras"]["tests"] != [""]
