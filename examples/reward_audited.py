"""Attack graders before a policy does, and compose a reward whose extra terms never lift a failure above a success."""

from __future__ import annotations

import gymnasium as gym
import palaestra  # noqa: F401  (registers the ids)
from palaestra.rewards import RewardWrapper, make
from palaestra.rewards.audit import Case, attack

cases = [Case(42, prompt="6 * 7 = ?"), Case(9, prompt="3 * 3 = ?")]


def contains(answer: str, reference: int) -> bool:
    """Accept an answer if it contains the reference anywhere: a common but unsafe grader."""
    return str(reference) in answer


for name, grader in (("number", "number"), ("contains", contains)):
    report = attack(grader, cases)
    print(f"{name}: {report.hack_rate:.0%} of the attacks are accepted")
    for finding in report.findings[:2]:
        print("   such as", repr(str(finding))[:100])

reward = make("shaped", width=0.3, brevity={"name": "token-budget"}, layout={"name": "format"})
print(reward.tree())
env = RewardWrapper(gym.make("palaestra/Arithmetic-v0", difficulty=0.0), reward)
for answer in ("\\boxed{%s}", "Let me think about it. It is %s, I believe.", "no idea"):
    env.reset(seed=0)
    said = answer % env.unwrapped.oracle() if "%s" in answer else answer
    _, value, _, _, info = env.step(said)
    print(f"{value:.2f}", info["reward_terms"], repr(said))
