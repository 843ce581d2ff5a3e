"""Every recipe trains another step than GRPO, typed as on the command line (see `one_step`)."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.stages import STAGES

from .one_step import AGAIN, FEW, GUESS, TAUGHT, TURNS, UPDATES  # isort: skip

SEVERAL_TURNS = f"{TURNS} --shaping count-bonus"
TWO_TERMS = f"{GUESS} --shaping count-bonus --steps 2"

LINES: dict[str, str] = {
    "clpo_kl": UPDATES,
    "dense_grpo": SEVERAL_TURNS,
    "egsr": FEW,
    "frpo": f"{GUESS} --steps 2",
    "ghpo": FEW,
    "grpo_full_kl": UPDATES,
    "grpo_k2": UPDATES,
    "istar": f"{GUESS} --steps 2",
    "kdrl": TAUGHT,
    "m_grpo": SEVERAL_TURNS,
    "mt_grpo": SEVERAL_TURNS,
    "nthr": f"{GUESS} --prompts 6 --samples 3",
    "on_policy_distillation": TAUGHT,
    "pods": f"{GUESS} --samples 6",
    "pope": FEW,
    "recap": TWO_TERMS,
    "repo": AGAIN,
    "self_imitation": AGAIN,
    "sequence_distillation": TAUGHT,
    "stepwise_grpo": SEVERAL_TURNS,
    "turn_discounted_grpo": SEVERAL_TURNS,
    "turning_point_grpo": SEVERAL_TURNS,
}
"""Recipes that do what GRPO does on three groups of guesses, and a step in which they do not: with a group that fails,
ratios that leave 1, a policy that has left the reference, several turns, terms of the reward or visits of a task."""


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "grpo"])
def test_a_recipe_trains_another_step_than_grpo(name, step):
    line = LINES.get(name, GUESS)
    assert step(f"{line} --recipe {name}").weights != step(f"{line} --recipe grpo").weights


@pytest.mark.parametrize("source", list(STAGES["source"]))
def test_a_source_of_a_stream_trains_in_a_recipe(source, step):
    recipe = next(n for n, recipe in RECIPES.items() if any(stream.source.name == source for stream in recipe.streams))
    # Experience must have been made before.
    line = f"{GUESS} --steps 3" if source == "experience" else LINES.get(recipe, GUESS)
    metrics = step(f"{line} --recipe {recipe}").metrics
    assert any(name.startswith("stream1/") for name in metrics)
