"""Sentences on what has no effect in a run, and the anchor where weights are half precision."""

from __future__ import annotations

import json

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.objective.notices import apply_overrides, recipe_notices, updates_per_batch
from palaestra.agents.grpo.recipes import RECIPES, StageOverrides


def notices(recipe: str, **settings) -> list[str]:
    config = TrainConfig(recipe=recipe, **settings)
    return recipe_notices(apply_overrides(RECIPES[recipe], config), config)


def test_a_clip_that_cannot_act_is_named_once():
    (sentence,) = notices("grpo")
    assert "every ratio is 1" in sentence
    assert "clip(low=0.2, high=0.2)" in sentence
    assert notices("grpo", minibatches=2) == notices("grpo", epochs=2) == []
    (sentence,) = notices("prime_rl")
    assert "dppo_tv" in sentence
    assert "log_ratio_square" in sentence


@pytest.mark.parametrize("recipe", ["dapo", "gspo", "cispo", "reinforce", "sft", "repo", "ppo"])
def test_a_recipe_whose_parts_act_has_no_notice(recipe):
    assert notices(recipe) == []


@pytest.mark.parametrize("name", ["judge", "pairwise", "tournament"])
def test_a_judge_without_a_principle_says_which_one_it_takes(name):
    def said(shaping: str) -> list[str]:
        return notices("dapo", stages=StageOverrides(shaping=shaping))

    (sentence,) = said(name)
    assert (
        f"the reward '{name}' is given no principle, and scores by 'cites evidence' before the judge 'rules'"
        in sentence
    )
    assert len(said(f"clip(term={name}, low=0.0, high=0.5)")) == 1
    assert said(f"{name}(principle='short')") == []


def test_a_corrector_without_a_gap_is_for_stale_samplers():
    (sentence,) = notices("tis")
    assert "truncated_is(cap=2.0) is for stale samplers" in sentence
    assert all(RECIPES[name].summary.startswith("for stale samplers") for name in ("tis", "mis", "icepop", "geo_mask"))


@pytest.mark.parametrize("recipe", ["grpo", "gspo", "cispo", "m2po", "opsm", "decoupled_ppo", "tis", "sft"])
def test_recipes_that_read_the_sampler_have_no_notice_for_older_samples(recipe):
    assert notices(recipe, staleness=2) == []


def test_recipes_without_a_ratio_are_told_what_corrects_for_older_samples():
    (sentence,) = notices("reinforce", staleness=2)
    assert "samples are 2 updates old" in sentence
    assert "decoupled_ppo, tis and icepop" in sentence
    assert "one update old" in notices("rloo", staleness=1)[0]
    # The anchor is the policy before the update, which did not sample them; another update brings the ratio to life.
    idle, uncorrected = notices("grpo", staleness=1, stages=StageOverrides(anchor="policy"))
    assert "however old the samples are" in idle
    assert "does not weigh them" in uncorrected
    (idle,) = notices("icepop", staleness=1)
    assert "clip(low=0.2, high=0.2)" in idle
    assert notices("icepop", staleness=1, minibatches=2) == []


def test_half_precision_keeps_the_sampler_as_the_anchor_of_older_samples():
    half = TrainConfig(recipe="gspo", dtype="bfloat16", staleness=1)
    assert apply_overrides(RECIPES["gspo"], half).anchor == "sampler"
    (sentence,) = notices("gspo", dtype="bfloat16", staleness=1)
    assert "hold its rounding, too" in sentence
    assert notices("tis", dtype="bfloat16", staleness=1) == []


def test_fewer_tasks_than_updates_degrade_with_a_sentence():
    config = TrainConfig(recipe="dapo", prompts=4)
    assert updates_per_batch(RECIPES["dapo"], config) == (4, 1)
    (sentence,) = notices("dapo", prompts=4)
    assert "takes 16 updates" in sentence
    assert "at most 4" in sentence
    assert notices("dapo", prompts=4, minibatches=2) == []


def test_half_precision_takes_the_policy_as_the_anchor_unless_told_otherwise():
    half = TrainConfig(recipe="gspo", dtype="bfloat16")
    assert apply_overrides(RECIPES["gspo"], half).anchor == "rescored"
    assert "ratios are taken against the policy" in notices("gspo", dtype="bfloat16")[0]
    by_hand = TrainConfig(recipe="gspo", dtype="bfloat16", stages=StageOverrides(anchor="sampler"))
    assert apply_overrides(RECIPES["gspo"], by_hand).anchor == "sampler"
    assert apply_overrides(RECIPES["tis"], TrainConfig(recipe="tis", dtype="bfloat16")).anchor == "policy"
    assert apply_overrides(RECIPES["gspo"], TrainConfig(recipe="gspo")).anchor == "sampler"


def clip_fraction(tmp_path, **settings) -> float:
    """Of one strictly on-policy step of gspo in bfloat16."""
    config = TrainConfig(
        recipe="gspo",
        dtype="bfloat16",
        minibatches=1,
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=3,
        samples=4,
        max_new_tokens=8,
        context=256,
        eval_every=0,
        final_episodes=1,
        threads=1,
        track=(),
        stages=StageOverrides(**{"shaping": "cosine-length", **settings}),
    )
    learner = Learner.start(tmp_path / str(len(settings)), config)
    assert learner.run()
    (row,) = map(json.loads, (tmp_path / str(len(settings)) / "metrics.jsonl").read_text().splitlines())
    assert row["updates"] == 1
    return row["clip_fraction"]


def test_strictly_on_policy_steps_in_bfloat16_clip_no_rounding_noise(tmp_path):
    assert clip_fraction(tmp_path) == 0
    assert clip_fraction(tmp_path, anchor="sampler") > 0.05
