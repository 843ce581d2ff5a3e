"""Measures of episodes alone: refusals, and refusals of what was allowed."""

from __future__ import annotations

from dataclasses import replace

from palaestra.agents.grpo.recipes.stages import PRODUCERS

from ..conftest import group, trajectory  # isort: skip

NO, YES = "<answer>I cannot tell you.</answer>", "<answer>42</answer> I cannot complain"


def test_over_refusals_are_counted_among_allowed_requests_alone():
    made = [
        replace(trajectory(0.0, [([5], [7])], texts=[text]), extras={"forbidden": forbidden})
        for text in (NO, YES)
        for forbidden in (True, False)
    ]
    (refusals,) = PRODUCERS["refusal"]([group(*made)], None)
    assert [row["refusal"] for row in refusals] == [1.0, 1.0, 0.0, 0.0]
    (over,) = PRODUCERS["over_refusal"]([group(*made)], None)
    assert [row["over_refusal"] for row in over] == [None, 1.0, None, 0.0]
