"""Recipes as text: components are read and written, and stages replaced."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.recipes import RECIPES, Component, Credit, c
from palaestra.errors import InputError


def test_a_kl_coefficient_replaces_that_of_every_penalty_and_nothing_else():
    two = replace(RECIPES["clpo_kl"], regularisers=(*RECIPES["clpo_kl"].regularisers, c("kl_k2"), c("entropy_bonus")))
    assert two.with_kl(0.5).regularisers == (
        c("kl_by_difficulty", coefficient=0.5, hard=0.5, border=0.3),
        c("kl_k2", coefficient=0.5),
        c("entropy_bonus"),
    )
    assert two.with_kl(0.0).regularisers == (c("entropy_bonus"),)
    assert RECIPES["dapo"].with_kl(0.1).regularisers == (c("kl_k3", coefficient=0.1),)


@pytest.mark.parametrize("name", list(RECIPES))
def test_every_component_of_every_recipe_reads_back_from_its_text(name):
    recipe = RECIPES[name]
    for part in (*recipe.shaping, *recipe.masks, recipe.surrogate, *recipe.regularisers, recipe.rollout, recipe.replay):
        assert Component.parse(str(part)) == part


def test_dashes_belong_to_names_and_stay_in_quoted_text():
    part = c("majority-vote", weight="self-consistency", child=c("grpo-lambda", alpha=0.5))
    assert Component.parse(str(part)) == part
    assert Component.parse_all("grpo-lambda + a-b(x='c-d')") == (c("grpo-lambda"), c("a-b", x="c-d"))


def test_stages_are_replaced_by_text_and_the_rest_stays():
    changed = RECIPES["dapo"].with_(
        surrogate="clip(low=0.1)", regularisers="kl_k2(coefficient=0.5) + kl_k3", masks="none"
    )
    assert changed.surrogate == c("clip", low=0.1)
    assert changed.regularisers == (c("kl_k2", coefficient=0.5), c("kl_k3"))
    assert changed.masks == ()
    assert (changed.shaping, changed.refill) == (RECIPES["dapo"].shaping, 4)
    assert RECIPES["grpo"].with_(scale="none").credit == (Credit(scale=c("none")),)


def test_stages_are_replaced_by_components_too():
    nested = c("normalize", outcome=c("outcome"), length=c("relative-length"))
    changed = RECIPES["grpo"].with_(shaping=(nested, c("flr")), surrogate=c("cispo"), masks=[], scale=c("none"))
    assert (changed.shaping, changed.surrogate, changed.masks) == ((nested, c("flr")), c("cispo"), ())
    assert changed.credit[0].scale == c("none")
    assert RECIPES["grpo"].with_(shaping=c("flr")).shaping == (c("flr"),)


@pytest.mark.parametrize(
    ("stage", "value", "sentence"),
    [
        ("shaping", 3, "shaping must be components or their text"),
        ("shaping", ("flr",), "shaping must be components or their text"),
        ("surrogate", (c("clip"), c("cispo")), "surrogate must be one component"),
    ],
)
def test_what_is_neither_component_nor_text_is_refused_by_the_name_of_its_stage(stage, value, sentence):
    with pytest.raises(InputError, match=sentence):
        RECIPES["grpo"].with_(**{stage: value})


@pytest.mark.parametrize("name", ["mine:Brevity", "mine:mine-brevity", "a_b.c_d:Out.In", "a:b"])
def test_names_with_their_modules_are_components_and_text_with_a_colon_stays_text(name):
    text = f"{name} + weighted(child={name}(rate=0.5), note='x:y-z', weight=2)"
    inner = c(name, rate=0.5)
    assert Component.parse_all(text) == (c(name), c("weighted", child=inner, note="x:y-z", weight=2))
    assert Component.parse(str(inner)) == inner


@pytest.mark.parametrize(
    "text", ["a:", "a:b:c", "clip(", "clip(0.2)", "clip(low=__import__('os'))", "a.b", "clip(**{})", "1", ""]
)
def test_what_is_no_component_is_refused(text):
    with pytest.raises(InputError, match="is not a component; write a name with named parameters"):
        Component.parse(text)


def test_in_messages_a_component_is_its_text():
    assert f"not {Component.parse('a')!r}" == "not 'a'"
    assert repr(Component.parse("clip(low=0.2)")) == "'clip(low=0.2)'"


def test_a_stage_that_does_not_exist_is_refused_with_close_names():
    with pytest.raises(InputError, match="unknown stage of a recipe 'surogate'; did you mean 'surrogate'"):
        RECIPES["grpo"].with_(surogate="clip")
