"""Components resolved from their names: parameters are checked, and schedules followed."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.objective.dry_run import dry_run
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, c, schedule
from palaestra.errors import InputError

from ..components.tokens import scored_of  # isort: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"surrogate": c("clip", low="a")}, "low of the surrogate 'clip' must be a number, not 'a'"),
        ({"surrogate": c("clip", low=True)}, "low of the surrogate 'clip' must be a number, not True"),
        ({"surrogate": c("clip", low=c("kl_k3"))}, "low of the surrogate 'clip' must be a number, not kl_k3"),
        ({"guards": (c("at_most", statistic=c("kl")),)}, "must be text, not kl; write statistic='kl'"),
        ({"weights": (c("roles"),)}, "the weight 'roles' needs a value for factors"),
        # What the stage itself passes is no option.
        ({"surrogate": c("clip", scored=1)}, "unknown option of the surrogate 'clip': 'scored'"),
    ],
)
def test_names_and_types_of_parameters_are_checked_before_anything_runs(changes, words):
    with pytest.raises(InputError) as refused:
        dry_run(replace(RECIPES["grpo"], **changes), samples=4, steps=10)
    assert words in str(refused.value)
    with pytest.raises(InputError):
        Objective(replace(RECIPES["grpo"], **changes))


def test_a_parameter_may_follow_a_schedule():
    falling = replace(RECIPES["rloo"], surrogate=c("clip", low=0.2, high=schedule("linear", start=1.0, end=0.0)))
    objective = Objective(falling)
    bounds = []
    for step in (1, 6, 11):
        objective.advance(step, 10)
        bounds.append(
            objective.rollout_terms.loss.surrogate(
                scored_of(torch.tensor([math.log(9.0)]), torch.zeros(1), torch.ones(1))
            ).value.item()
        )
    assert bounds == pytest.approx([2.0, 1.5, 1.0])
