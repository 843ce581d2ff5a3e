"""Rows of the recipe table: no two alike, each with its source, and the constants that papers state."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES

from ..conftest import group, trajectory  # isort: skip

ROWS = {
    "bapo": {"surrogate": "bapo(share=0.4)"},
    "cispo": {"surrogate": "cispo(cap=5.0)", "reduction": "token_mean"},
    "dcpo": {"surrogate": "dcpo(low=0.16, high=0.2)"},
    "dppo": {"surrogate": "dppo_tv(low=0.15, high=0.15)"},
    "dppo_kl": {"surrogate": "dppo_kl(low=0.05, high=0.05)"},
    "entropy_advantage": {"adjustments": "entropy_shaped(alpha=0.4, kappa=2.0)"},
    "frpo": {"adjustments": "suffix_kl(beta=0.005, chunk=256)"},
    "gdpo": {"credit": "whiten_units[outcome - none]"},
    "gmpo": {"surrogate": "gmpo(low=0.4, high=0.4)", "reduction": "sequence_mean"},
    "gspo": {"surrogate": "gspo(low=0.0003, high=0.0004)", "reduction": "sequence_mean"},
    "intellect_2": {"surrogate": "two_sided(low=0.2, high=0.2, delta=4.0)", "regularisers": "kl_k3(coefficient=0.001)"},
    "luspo": {"surrogate": "gspo(low=0.002, high=0.0025)", "reduction": "sequence_sum"},
    "m2po": {"corrector": "m2po(limit=0.04)", "surrogate": "ratio", "reduction": "sequence_mean"},
    "ngrpo": {"surrogate": "clip(low=0.16, high=0.24)"},
    "prime": {"filters": "pass_rate(low=0.2, high=0.8)"},
    "prime_rl": {"surrogate": "dppo_tv(low=0.2, high=0.2, form='ratio')"},
    "prorl": {"surrogate": "clip(low=0.2, high=0.4)"},
    "qae": {"credit": "group_std(ddof=1, eps=0.0001)[outcome - quantile(level=0.4)]"},
    "rl_plus": {"credit": "none[outcome - own_mean]"},
    "sapo": {"surrogate": "sapo(tau_positive=1.0, tau_negative=1.05)"},
}


def advantages(name: str, *episodes) -> list[float]:
    """Of the action tokens of one group's episodes."""
    batch = collate([group(*episodes)])
    return Objective(RECIPES[name]).weigh(batch).advantage[batch.action].tolist()


def paid(*rewards: float):
    """An episode of one token a turn with these rewards."""
    made = trajectory(0.0, [([5], [6])] * len(rewards))
    return replace(made, turns=tuple(replace(t, reward=r) for t, r in zip(made.turns, rewards, strict=True)))


def test_mt_grpo_hands_the_last_turns_advantage_back():
    # First turns are paid 1 and 0, last ones 0 and 1: A = +-.7071 each, and the first turn has the sum (eq. 5).
    half = 0.5**0.5
    got = advantages("mt_grpo", paid(1.0, 0.0), paid(0.0, 1.0))
    assert got == pytest.approx([0.0, -half, 0.0, half], abs=2e-4)
    # An episode of one turn is GRPO's.
    assert advantages("mt_grpo", paid(1.0), paid(0.0)) == pytest.approx(advantages("grpo", paid(1.0), paid(0.0)))


def test_no_two_rows_are_equal_but_for_name_paper_and_summary():
    rows: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, recipe in RECIPES.items():
        rows.setdefault(tuple(recipe.stages().items()), []).append(name)
    assert [names for names in rows.values() if len(names) > 1] == []


@pytest.mark.parametrize("name", list(RECIPES))
def test_a_row_says_where_it_comes_from_and_what_differs(name):
    recipe = RECIPES[name]
    assert recipe.summary
    assert not recipe.summary.endswith(".")
    # Besides its number in the archive, or instead of it, a method has a name.
    assert re.match(r"[\w-]{2,}", re.sub(r",? arXiv \d{4}\.\d{5}", "", recipe.paper))


@pytest.mark.parametrize("name", list(ROWS))
def test_a_row_holds_the_papers_constants(name):
    stages = RECIPES[name].stages()
    assert {stage: stages[stage] for stage in ROWS[name]} == ROWS[name]
