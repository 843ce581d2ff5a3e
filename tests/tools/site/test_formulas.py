from __future__ import annotations

import xml.etree.ElementTree

import pytest
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.scripts.list_stages import stages
from palaestra.tools.site.formulas import FORMULAS, mathml, recipe_formulas


@pytest.mark.parametrize("stage", FORMULAS)
def test_formulas_are_of_registered_components(stage: str):
    assert set(FORMULAS[stage]) <= set(stages()[stage])


@pytest.mark.parametrize("stage", ["surrogate", "reduction"])
def test_every_component_of_the_loss_has_a_formula(stage: str):
    own = {name for name, value in stages()[stage].items() if value.__module__.startswith("palaestra.")}
    assert own == set(FORMULAS[stage])


@pytest.mark.parametrize("stage", FORMULAS)
def test_formulas_are_well_formed_mathml_on_one_line(stage: str):
    for latex in FORMULAS[stage].values():
        text = mathml(latex)
        assert "\n" not in text
        assert "merror" not in text
        # A command that the converter does not know would be left as text.
        assert not any("\\" in (node.text or "") for node in xml.etree.ElementTree.fromstring(text).iter())


def test_a_recipe_is_the_sum_of_its_parts():
    titles = [title for title, _ in recipe_formulas(RECIPES["grpo"])]
    assert titles == [
        "The objective, maximised",
        "Surrogate clip",
        "Advantage: outcome as R, group_std",
        "Baseline group_mean",
        "Regulariser kl_k3",
        "Weight of a token, sequence_mean",
    ]
