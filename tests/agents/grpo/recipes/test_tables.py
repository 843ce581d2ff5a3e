"""Tables of recipes: the words of the command line, with errors that name what is wrong."""

from __future__ import annotations

import tomllib

import pytest
from palaestra.agents.grpo.recipes import RECIPES, Credit, Recipe, Stream, c, schedule
from palaestra.agents.grpo.recipes.tables import read_recipe
from palaestra.errors import InputError

WHOLE = """
paper = "none"
summary = "all kinds of keys"
rollout = "lookahead(share=schedule_linear(start=1.0, end=0.5))"
shaping = "overlong(cache=16) + partial-number"
baseline = "leave_one_out"
anchor = "policy"
minibatches = 4
origins = ["policy", "teacher"]
rollout_share = "schedule_linear(start=0.0, end=1.0)"
streams = [{ source = "rehearsal(samples=8)", surrogate = "none", coefficient = 0.5 }]
"""


def test_a_table_is_the_recipe_that_its_words_say() -> None:
    assert read_recipe("mine", tomllib.loads(WHOLE)) == Recipe(
        "mine",
        "none",
        "all kinds of keys",
        rollout=c("lookahead", share=schedule("linear", start=1.0, end=0.5)),
        shaping=(c("overlong", cache=16), c("partial-number")),
        credit=(Credit(baseline=c("leave_one_out")),),
        anchor="policy",
        minibatches=4,
        origins=("policy", "teacher"),
        rollout_share=schedule("linear", start=0.0, end=1.0),
        streams=(Stream(c("rehearsal", samples=8), surrogate=c("none"), coefficient=0.5),),
    )


@pytest.mark.parametrize(
    ("key", "value", "wrong"),
    [
        ("surrogat", "clip", "unknown key of a recipe: 'surrogat'; did you mean 'surrogate'"),
        ("surrogate", "clip(", "'clip\\(' is not a component"),
        ("credit", [{"scal": "none"}], "unknown key of a credit: 'scal'; did you mean 'scale'"),
    ],
)
def test_what_is_wrong_in_a_table_is_named(key: str, value: object, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        read_recipe("mine", {"paper": "none", "summary": "none", key: value})


def test_stages_of_every_recipe_are_read_from_their_own_text() -> None:
    plain = [recipe for _, recipe in RECIPES.items() if not recipe.streams and len(recipe.credit) == 1]
    assert len(plain) > 100
    for recipe in plain:
        (term,) = recipe.credit
        parts = {"returns": term.returns, "baseline": term.baseline, "scale": term.scale}
        texts = recipe.stages() | {key: str(part) for key, part in parts.items()}
        keys = ["rollout", "shaping", "filters", "masks", "surrogate", "regularisers", *parts]
        row = {"paper": recipe.paper, "summary": recipe.summary} | {key: texts[key] for key in keys}
        again = read_recipe(recipe.name, row)
        assert [getattr(again, key) for key in keys[:6]] == [getattr(recipe, key) for key in keys[:6]]
        assert dict(again.credit[0].scale.params) == dict(term.scale.params)
