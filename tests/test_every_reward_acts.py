"""Every registered reward changes the rewards of the episodes and thereby their advantages, in a training step that is
typed as on the command line (see `one_step`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from palaestra.rewards import REWARDS

from .one_step import CALLS, DOORS, GUESS, MEMORY, PROGRAMS, QUERIES, REPHRASED, REQUESTS, STREAMS, SUMS, TAGGED

PLAIN = f"{GUESS} --scale none"
"""The size of advantages shows, which the division by their spread takes from rewards that agree with success."""
SAYS_YES = "judge='rules',question='keywords:yes'"

SHAPING: dict[str, tuple[str, str]] = {
    **{
        name: (SUMS, name)
        for name in ("artifact-penalty", "gradient-novelty", "lsc", "par", "rpr-calibration", "scope")
    },
    "alpha-align": (f"{REQUESTS} --scale none", "alpha-align(form=0.7)"),
    "toolrl": (f"{CALLS} --scale none", "toolrl"),
    "action-match": (f"{PLAIN} --temperature 1.5", "action-match"),
    "asked-format": (TAGGED, "asked-format(tags=('answer',),partial=True)"),
    "below-average-length": (f"{PLAIN} --steps 2", "below-average-length"),
    "co-rewarding": (f"{REPHRASED} --rollout paired_rephrase", "co-rewarding"),
    "comas": (f"{PLAIN} --measures judge_score({SAYS_YES})", "comas"),
    "clip": (PLAIN, "clip(child=count-bonus)"),
    "error-aware": (STREAMS, "error-aware"),
    "error-kind": (PROGRAMS, "error-kind"),
    "format": (TAGGED, "format(tags=('answer',),partial=True)"),
    "gate": (PLAIN, "gate(child=count-bonus)"),
    "geometric-mean": (PLAIN, "geometric-mean(a=clip(child=count-bonus),b=verifiable)"),
    "goal-text": (f"{DOORS} --returns turn_return", "goal-text(goal='key',baseline='nothing')"),
    "hypervolume": (PLAIN, "hypervolume"),
    "armed": (SUMS, "armed"),
    "exemplar": (SUMS, "exemplar(principle='short')"),
    "judge": (PLAIN, "judge(principle='short')"),
    "normalize": (PLAIN, "normalize(seen=count-bonus,right=verifiable)"),
    "overlong": (PLAIN, "overlong(max_tokens=4,cache=2)"),
    "pairwise": (PLAIN, "pairwise(principle='short')"),
    "partial-number": (f"{SUMS} --samples 24 --max-new-tokens 1", "partial-number"),
    "potential": (f"{DOORS} --returns turn_return", "potential"),
    "program": (PLAIN, f"program(file={str(Path(__file__).with_name('reward_program.py'))!r})"),
    "progress-penalties": (f"{DOORS} --returns turn_return", "progress-penalties"),
    "rank-penalty": (f"{PLAIN} --rollout trie_beams", "rank-penalty"),
    "reasoning-sql": (QUERIES, "reasoning-sql"),
    "repetition": (SUMS, "repetition(n=1)"),
    "compression": (MEMORY, "compression"),
    "mem-alpha": (MEMORY, "mem-alpha"),
    "multi-agent-evolve": (f"{PLAIN} --measures judge_score({SAYS_YES})", "multi-agent-evolve"),
    "reward-model": (SUMS, "reward-model(model='{reward.safetensors}')"),
    "saturate": (PLAIN, "saturate(child=count-bonus)"),
    "scheduled": (PLAIN, "scheduled(child=count-bonus,schedule={'kind':'constant','value':2.0})"),
    "shaped": (PLAIN, "shaped(seen=clip(child=count-bonus))"),
    "shaped-rm": (f"{PLAIN} --measures reward_model_score(model='{{reward.safetensors}}')", "shaped-rm"),
    "shortest-correct": (TAGGED, "shortest-correct(tags=('answer',),above=1)"),
    "sql-clauses": (f"{QUERIES} --scale none", "weighted(child=sql-clauses,weight=2.0)"),
    "subgoals": (DOORS, "subgoals"),
    "sum": (PLAIN, "sum(seen=count-bonus,right=verifiable)"),
    "syntax": (PROGRAMS, "syntax"),
    "tests-passed": (f"{PROGRAMS} --scale none", "weighted(child=tests-passed,weight=2.0)"),
    "thoughts": (f"{DOORS} --returns turn_return", "thoughts"),
    "lare": (f"{DOORS} --returns turn_return", "lare(hidden=0,settle=0)"),
    "milestones": (PROGRAMS, "milestones"),
    "token-budget": (PLAIN, "token-budget(budget=2)"),
    "tool-bonus": (PLAIN, "tool-bonus(marker='e')"),
    "tournament": (PLAIN, "tournament(principle='short')"),
    "trajectory-quality": (TAGGED, "trajectory-quality"),
    "trusted-thinking": (f"{PLAIN} --measures thinking_score({SAYS_YES})", "trusted-thinking"),
    "trust": (PLAIN, "trust(child=count-bonus)"),
    "veto": (PLAIN, "veto(child=count-bonus,critic=verifiable)"),
    "waypoints": (f"{DOORS} --returns turn_return", "waypoints"),
    "alone": (PLAIN, "alone(child=count-bonus)"),
    "weighted": (PLAIN, "weighted(child=count-bonus,weight=2.0)"),
}
"""Rewards that act in another place than the guesses, or not at their defaults: the step without, and the shaping."""


PAYS: dict[str, set[str]] = {
    "spans": {"mrt", "vsrm"},
    "turns": {
        *(
            "action-match",
            "clip",
            "alone",
            "clip-delta",
            "count-bonus",
            "gate",
            "goal-text",
            "lare",
            "mem-alpha",
            "min-form",
            "normalize",
            "oni",
            "potential",
            "prefix-gain",
        ),
        *("progress-penalties", "rdd", "renorm", "saturate", "scheduled", "shaped", "shapley", "subgoals", "sum"),
        *("thoughts", "trust", "veto", "waypoints", "weighted"),
    },
}
"""Rewards of parts of an action, or of turns (their own, or those of the count-bonus that they are made of)."""


@pytest.mark.parametrize("name", [name for name in REWARDS if not REWARDS[name].user_supplies])
def test_a_reward_changes_rewards_and_advantages(name, step):
    line, shaping = SHAPING.get(name, (PLAIN, name))
    plain, shaped = step(line), step(f"{line} --shaping {shaping}")
    assert plain.first_difference(shaped) == "rewards"
    assert "advantage" in plain.differences(shaped)
    assert any(key.startswith("shaping/") for key in shaped.metrics[-1])
    assert shaped.pays == {what for what, names in PAYS.items() if name in names}
