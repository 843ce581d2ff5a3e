"""Every producer of measures is read: in a training step that is typed as on the command line (see `one_step`), its
reader's rewards, or what the teacher is told, change with the values of the measure, and nothing before them does."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.agents.grpo.recipes.stages import PRODUCERS

from .test_every_reward_acts import PLAIN, SHAPING  # isort: skip
from .test_every_teacher_acts import PLACES, PROMPTS  # isort: skip

REWARDS: dict[str, str] = {
    "base_logps": "rlp",
    "coalition_values": "shapley",
    "consistency": "consistency",
    "dense_reward": "sign-scaled",
    "echo_logps": "prompt-echo",
    "features": "semantic-similarity(embedder='policy')",
    "gradient_features": "gradient-novelty",
    "judge_score": "multi-agent-evolve",
    "logps_without_prompt": "self-aligned",
    "mark": "comas",
    "negative_logps": "flr",
    "objective": "bounded-power",
    "positive_logps": "flr",
    "prefix_values": "prefix-gain",
    "process_score": "posterior",
    "reference_features": "semantic-similarity(embedder='policy')",
    "reference_scores": "par",
    "reference_token_features": "bmas(embedder='policy')",
    "reward_model_score": "par",
    "step_labels": "thoughts",
    "step_scores": "clip-delta",
    "target_tokens": "target-length",
    "thinking_score": "trusted-thinking",
    "thought_logps": "rlp",
    "token_confidence": "scope",
    "token_features": "bmas(embedder='policy')",
}
"""Measure -> a reward that reads it."""
TEACHERS: dict[str, str] = {
    "angle_concentration": f"{PROMPTS} --teacher gain-rl",
    "answer_dispersion": f"{PROMPTS} --teacher pc-grpo",
    "least_confidence": f"{PLACES} --teacher plr-least-confidence",
    "min_margin": f"{PLACES} --teacher plr-min-margin",
    "policy_entropy": f"{PLACES} --teacher plr-entropy",
    "transition_loss": f"{PLACES} --teacher traced",
}
"""Measure -> a step with a teacher that reads it."""
ADJUSTMENTS = ("span_weights", "token_contrast")
"""Measures of tokens, read by the adjustment of the same name."""
UNREAD = {
    **{f"{what}_{form}": "logged" for what in ("form", "won") for form in ("boxed", "tag", "bare")},
    "achieved": "environments with subgoals tell it, so that no judge is asked",
    "system_text": "the same text, none, for all episodes of a step whose teacher requests none",
    "atom_scores": "read of thoughts in tags, which no model of these tests writes",
    "over_refusal": "written to the logs, where it is named; rewards compute it themselves",
    "refusal": "written to the logs, where it is named; rewards compute it themselves",
    "echo_run": "says how echo_logps was measured",
    "wrong_step": "the labels of steps that are found with it are read",
    "teacher_answer": "text, read by the recipes co_rewarding_ema and co_rewarding_both",
}
"""Measures that no registered reward or teacher reads in a step of these tests, and why."""
SAME = {"dense_reward", "objective", "target_tokens", "reference_scores", "prefix_values", "step_labels"}
"""Measures that may be the same for all episodes of a step."""

MEASURES = sorted({name for _, producer in PRODUCERS.items() for name in producer.provides})


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in UNREAD])
def test_a_measure_reaches_its_reader(name, step):
    if name in TEACHERS:
        line, quantity = TEACHERS[name], "told"
    elif name in ADJUSTMENTS:
        line, quantity = f"{PLAIN} --adjustments {name}", "advantage"
    else:
        reward = REWARDS[name]
        plain, shaping = SHAPING.get(reward, (PLAIN, reward))
        line, quantity = f"{plain} --shaping {shaping}", "rewards"
    found = step(line)
    values = [value for value in found.measures[name] if value is not None]
    assert values
    assert all(np.isfinite(np.asarray(value, dtype=float)).all() for value in values if not has_words(value))
    assert name in SAME or len(set(map(str, values))) > 1
    assert found.first_difference(step(line, alter=name)) == quantity


def has_words(value):
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and any(map(has_words, value)))


def test_each_measure_has_one_place_in_the_tables():
    assert sorted([*REWARDS, *TEACHERS, *ADJUSTMENTS, *UNREAD]) == sorted(MEASURES)
