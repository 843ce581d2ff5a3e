"""Dry runs: mistakes in a recipe are found before a model is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.objective.dry_run import dry_run
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES, Stream, c, schedule
from palaestra.errors import InputError


def refusal(samples: int = 4, steps: int = 100, **changes) -> str:
    """The message with which a dry run refuses a changed GRPO."""
    with pytest.raises(InputError) as caught:
        dry_run(replace(RECIPES["grpo"], **changes), samples=samples, steps=steps)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"surrogate": c("clip", low=-1.0)}, "low of clip must be a number in [0, 1], not -1.0"),
        # Only the end of the schedule is out of range: half of a run would be lost.
        ({"surrogate": c("clip", low=schedule("linear", start=0.2, end=3.0))}, "low of clip must be a number in"),
        ({"filters": (c("pass_rate", low=2.0),)}, "the pass rates low=2.0"),
        ({"guards": (c("at_most", statistic="foo"),)}, "a guard reads 'foo', which nothing in this recipe reports"),
        ({"masks": (c("top_entropy", share=2.0),)}, "share=2.0 of the tokens must be in (0, 1]"),
        ({"surrogate": c("pacs", beta=float("nan"))}, "the loss of recipe 'grpo' are no finite numbers"),
        ({"regularisers": (c("kl_k3", coefficient=-0.1),)}, "coefficient of kl_k3 must be a finite number of at least"),
        ({"streams": (Stream(c("oracle"), surrogate=c("clip", low=-1.0)),)}, "low of clip must be a number in [0, 1]"),
    ],
)
def test_ranges_of_parameters_are_checked_on_synthetic_episodes(changes, words):
    assert words in refusal(**changes)


def test_a_factor_of_the_whole_batch_is_refused_where_the_scale_divides_it_out():
    sentence = refusal(shaping=(c("hypervolume"),))
    assert "multiplies all rewards of a batch by one number, which the scale group_std" in sentence
    assert "take --scale none" in sentence
    nested = c("sum", all=c("hypervolume"), more=c("relative-length"))
    assert "'hypervolume'" in refusal(shaping=(nested,))
    dry_run(replace(RECIPES["grpo"].with_(scale="none"), shaping=(c("hypervolume"),)), samples=4, steps=10)


@pytest.mark.parametrize("name", list(RECIPES))
def test_every_recipe_passes_its_dry_run(name):
    dry_run(RECIPES[name], samples=4, steps=100, teacher_model=True, extras={"passage"})


def test_one_sample_a_task_is_refused_where_only_siblings_are_compared():
    assert "compares the episodes of a task with each other, so that samples=1 teaches nothing" in refusal(samples=1)
    for name in ("spo_single", "reinforce_pp", "ppo", "sft", "prime", "kdrl", "repo"):
        dry_run(RECIPES[name], samples=1, steps=10, teacher_model=True)


def test_a_dry_run_changes_nothing_in_the_objective():
    objective = Objective(RECIPES["spo_single"])
    before = objective.state_dict()
    dry_run(objective.recipe, samples=4, steps=10)
    assert objective.state_dict() == before


@pytest.mark.parametrize("name", ["kdrl", "on_policy_distillation", "sequence_distillation"])
def test_a_recipe_that_distils_asks_for_the_model_to_distil_from(name):
    with pytest.raises(InputError, match=r"needs 'logp_teacher', .* name a model to distil from with --teacher-model"):
        Objective(RECIPES[name])
