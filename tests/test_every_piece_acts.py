"""Every registered reward changes a training step that is typed as on the command line (see `one_step`)."""

from __future__ import annotations

import pytest
from palaestra.rewards import REWARDS

from .one_step import DOORS, GUESS, PROGRAMS, QUERIES, REPHRASED, SUMS, TAGGED  # isort: skip

SHAPING: dict[str, tuple[str, str]] = {
    "below-average-length": (f"{GUESS} --steps 2", "below-average-length"),
    "co-rewarding": (f"{REPHRASED} --rollout paired_rephrase", "co-rewarding"),
    "comas": (f"{GUESS} --measures judge_score(judge='rules',question='keywords:yes')", "comas"),
    "clip": (GUESS, "clip(child=count-bonus)"),
    "error-kind": (PROGRAMS, "error-kind"),
    "format": (TAGGED, "format(tags=('answer',),partial=True)"),
    "gate": (GUESS, "gate(child=count-bonus)"),
    "geometric-mean": (GUESS, "geometric-mean(a=clip(child=count-bonus),b=verifiable)"),
    "hypervolume": (f"{GUESS} --scale none", "hypervolume"),
    "judge": (GUESS, "judge(principle='short')"),
    "normalize": (GUESS, "normalize(seen=count-bonus,right=verifiable)"),
    "overlong": (GUESS, "overlong(max_tokens=4,cache=2)"),
    "pairwise": (GUESS, "pairwise(principle='short')"),
    "partial-number": (f"{SUMS} --samples 24 --max-new-tokens 1", "partial-number"),
    "potential": (f"{DOORS} --returns turn_return", "potential"),
    "progress-penalties": (f"{DOORS} --returns turn_return", "progress-penalties"),
    "reasoning-sql": (QUERIES, "reasoning-sql"),
    "repetition": (SUMS, "repetition(n=1)"),
    "reward-model": (GUESS, "reward-model(model='{reward.safetensors}')"),
    "saturate": (GUESS, "saturate(child=count-bonus)"),
    "scheduled": (GUESS, "scheduled(child=count-bonus,schedule={'kind':'constant','value':2.0})"),
    "shaped": (GUESS, "shaped(seen=clip(child=count-bonus))"),
    "shortest-correct": (TAGGED, "shortest-correct(tags=('answer',),above=1)"),
    "subgoals": (DOORS, "subgoals"),
    "sum": (GUESS, "sum(seen=count-bonus,right=verifiable)"),
    "syntax": (PROGRAMS, "syntax"),
    "tests-passed": (f"{PROGRAMS} --scale none", "weighted(child=tests-passed,weight=2.0)"),
    "thoughts": (f"{DOORS} --returns turn_return", "thoughts"),
    "milestones": (PROGRAMS, "milestones"),
    "token-budget": (GUESS, "token-budget(budget=2)"),
    "tool-bonus": (GUESS, "tool-bonus(marker='e')"),
    "tournament": (GUESS, "tournament(principle='short')"),
    "trajectory-quality": (TAGGED, "trajectory-quality"),
    "trust": (GUESS, "trust(child=count-bonus)"),
    "veto": (GUESS, "veto(child=count-bonus,critic=verifiable)"),
    "waypoints": (f"{DOORS} --returns turn_return", "waypoints"),
    "weighted": (GUESS, "weighted(child=count-bonus,weight=2.0)"),
}
"""Rewards that act in another place than the guesses, or not at their defaults: the step without, and the shaping."""


@pytest.mark.parametrize("name", [name for name in REWARDS if not REWARDS[name].brings])
def test_a_reward_changes_the_step(name, step):
    line, shaping = SHAPING.get(name, (GUESS, name))
    plain, shaped = step(line), step(f"{line} --shaping {shaping}")
    assert any(key.startswith("shaping/") for key in shaped.metrics)
    assert shaped.weights != plain.weights
