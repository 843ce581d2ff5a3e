"""Every recipe trains another step than GRPO, typed as on the command line (see `one_step`), and by its own means: the
first quantity that differs is that of a stage in which the recipe differs from GRPO, and so do those of its other such
stages."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.recipes.recipe import is_kl
from palaestra.agents.grpo.recipes.stages import STAGES

from .one_step import AGAIN, GUESS, HOT, OLD, RULER, TAUGHT, TURNS, UNTRAINED, UPDATES  # isort: skip

GRPO = RECIPES["grpo"]
SEVERAL_TURNS = f"{TURNS} --shaping count-bonus"
TWO_TERMS = f"{GUESS} --shaping count-bonus --steps 2"
PAIRS = f"{GUESS} --prompts 12 --samples 2 --seed 1"
"""Groups of two guesses, of which some fail and some succeed altogether; a hint then helps some that failed."""
LONGER = f"{PAIRS} --max-new-tokens 60 --max-episode-tokens 60"
SUMS = f"palaestra/Arithmetic-v0 --axis digits=1 terms=2 {UNTRAINED} --prompts 2 --samples 3 --max-new-tokens 40"
STALE = OLD.removesuffix(" --anchor policy")

LINES: dict[str, str] = {
    **dict.fromkeys(("ampo_multi_guidance", "egsr", "ghpo", "pope", "star"), PAIRS),
    **dict.fromkeys(("bro_rl", "dapo", "eighty_twenty", "prime", "prorl", "skywork_or1"), PAIRS),
    **dict.fromkeys(("decoupled_ppo", "geo_mask", "icepop", "mis", "rl_plus", "seq_mis", "seq_tis", "tis"), STALE),
    **dict.fromkeys(("dense_grpo", "m_grpo", "mt_grpo", "stepwise_grpo"), SEVERAL_TURNS),
    **dict.fromkeys(("turn_discounted_grpo", "turning_point_grpo"), SEVERAL_TURNS),
    **dict.fromkeys(("clpo_kl", "grpo_full_kl", "grpo_k2", "ipo", "lp_reg", "prime_rl"), UPDATES),
    **dict.fromkeys(("kdrl", "on_policy_distillation", "sequence_distillation"), TAUGHT),
    **dict.fromkeys(("repo", "self_imitation"), AGAIN),
    **dict.fromkeys(("frpo", "istar"), f"{GUESS} --steps 2"),
    **dict.fromkeys(("dpo", "ipo_pairs", "kto", "ln_dpo", "rrhf", "t_reg"), f"{GUESS} --rollout teacher_rows"),
    **dict.fromkeys(("rto", "rto_ppo"), f"{TAUGHT} --steps 2"),
    "cure": f"{HOT} --prompts 6 --samples 8 --seed 1",
    "gfpo": f"{GUESS} --prompts 2 --samples 10",
    "igpo_inpainting": LONGER,
    "nthr": f"{GUESS} --prompts 4 --samples 8 --temperature 1.5",
    "pods": f"{GUESS} --samples 6",
    "comas": f"{GUESS} --context 2000",
    "r3l": f"{SEVERAL_TURNS} --seed 1",
    "r_nad": f"palaestra/KuhnPoker-v0 --axis cards=3 hands=1 {UNTRAINED} --prompts 2 --samples 3 --max-new-tokens 8 "
    "--shaping count-bonus",
    "recap": TWO_TERMS,
    "red_drop": f"{GUESS} --prompts 6 --samples 3",
    "rl_midtrain": f"palaestra/NextToken-v0 --axis before=5 {UNTRAINED} --prompts 2 --samples 3 --max-new-tokens 12",
    "rusca_rl": SUMS,
    "spear": f"{GUESS} --prompts 8 --temperature 1.5",
    "spar": f"{GUESS} --prompts 6 --context 1024",
    "starpo_s": f"{GUESS} --seed 2",
    "theta_evolve": RULER,
    "t1": f"{HOT} --steps 2",
    "web_rl": f"{GUESS} --steps 2 --temperature 1.5",
}
"""Recipes that do what GRPO does on three groups of guesses, and a step in which they do not: with a group that fails,
ratios that leave 1, a policy that has left the reference, several turns, terms of the reward or visits of a task."""

CHANGES: dict[str, set[str]] = {
    "rollout": {"number", "prompts", "actions", "nodes", "greedy"},
    "logits": {"actions"},
    "thinking": {"actions"},
    "measures": {"rewards"},
    "shaping": {"rewards"},
    "filters": {"episodes"},
    "replay": {"episodes"},
    "credit": {"credit"},
    "adjustments": {"advantage"},
    "masks": {"tokens"},
    "weights": {"weight"},
    "anchor": {"anchor", "factor"},
    "corrector": {"factor"},
    "surrogate": {"surrogate"},
    "regularisers": {"penalty"},
    "reduction": {"reduction"},
    "streams": {"streams"},
    "balance": {"weight"},
    "reference": {"logp_ref"},
    "guards": {"updates"},
    "origins": {"tokens"},
    "refill": {"proposals"},
    "epochs": {"minibatches"},
    "minibatches": {"minibatches", "reduction"},
    "rollout_share": {"weight"},
}
"""Field of a recipe -> the quantities of `step_record.RecordedLearner` that it changes."""

UNSEEN: dict[str, dict[str, str]] = {
    "logits": {"nlpo": "the nucleus keeps 100 ids, nearly all of those that the model has"},
    "rollout": {
        "bro_rl": "groups grow after steps without progress",
        "theta_evolve": "the database grows once a program runs",
    },
    "reference": {
        "bro_rl": "moves after three evaluations without progress",
        "prorl": "moves after 50 steps",
        "reft": "moves after 40 steps",
        "remix": "moves after three evaluations without progress",
    },
    "weights": {"recap": "environments have weights where there are several"},
}
"""Field -> recipes in which so few steps do not show it, and why."""


def penalises_nothing_yet(recipe, step):
    """Penalties towards the reference are 0 until the policy has left it, in the second update."""
    ((minibatches, epochs), *later) = step.values("minibatches")
    return minibatches * epochs == 1 and not later and all(map(is_kl, (*recipe.regularisers, *GRPO.regularisers)))


@pytest.mark.parametrize("name", [name for name in RECIPES if name != "grpo"])
def test_a_recipe_trains_another_step_than_grpo(name, step):
    line, recipe = LINES.get(name, GUESS).replace(" --recipe luffy", ""), RECIPES[name]
    grpo, other = step(f"{line} --recipe grpo"), step(f"{line} --recipe {name}")
    fields = {field for field in recipe.differences(GRPO) if name not in UNSEEN.get(field, {})}
    if penalises_nothing_yet(recipe, other):
        fields -= {"regularisers"}
    if "auxiliaries" in fields:
        fields -= {"auxiliaries"}
        assert all({"value", "logp_prm", "flow_deviation"} & set(measured) for measured in other.values("measured"))
    differences = grpo.differences(other)
    expected = set().union(*(CHANGES[field] for field in fields))
    if grpo.first_difference(other) == "logp_ref" and "logp_ref" not in expected:
        # At the reference, GRPO compares episodes with an advantage alone with it, before all else.
        grpo, other = grpo.without("logp_ref"), other.without("logp_ref")
    assert grpo.first_difference(other) in expected
    assert {field for field in fields if not CHANGES[field] & differences} == set()


@pytest.mark.parametrize("source", list(STAGES["source"]))
def test_a_source_of_a_stream_trains_in_a_recipe(source, step):
    recipe = next(n for n, recipe in RECIPES.items() if any(stream.source.name == source for stream in recipe.streams))
    # Experience must have been made before.
    line = f"{GUESS} --steps 3" if source == "experience" else LINES.get(recipe, GUESS).replace(" --recipe luffy", "")
    trained = step(f"{line} --recipe {recipe}")
    assert any(group for groups in trained.values("streams") for group in groups)
    assert any(
        abs(value).any()
        for losses in trained.values("stream loss")
        for turns in losses.values()
        for value in turns.values()
    )
    assert any(name.startswith("stream1/") for name in trained.metrics[-1])
