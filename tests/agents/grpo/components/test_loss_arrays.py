"""The adapter from scored tokens to the arrays of a formula."""

from __future__ import annotations

import inspect

import pytest
import torch
from palaestra.agents.grpo.batch.scored import needs, needs_of
from palaestra.agents.grpo.components.loss_arrays import LOSS_ARRAYS, from_scored
from palaestra.agents.grpo.recipes.stages import CORRECTORS, REGULARISERS, SURROGATES

from .tokens import tokens  # isort: skip


def test_a_formula_gets_the_arrays_that_its_arguments_name():
    def formula(logp_t, adv_t, outcome_e, gain=2.0):
        return gain * logp_t * adv_t + outcome_e.sum()

    scored = tokens([-1.0, -3.0], advantage=[1.0, 2.0], lengths=[1, 1], group=[0, 0], outcome=[0.25, 0.25])
    component = from_scored(formula, "made_up")
    assert component(scored).value.tolist() == [-1.5, -11.5]
    assert component(scored, gain=1.0).value.tolist() == [-0.5, -5.5]


def test_a_component_shows_the_parameters_and_the_docstring_of_its_formula():
    def formula(logp_t, gain: float = 2.0):
        """Twice."""
        return gain * logp_t

    component = from_scored(formula, "made_up")
    assert list(inspect.signature(component).parameters) == ["scored", "gain"]
    assert (component.__name__, component.__doc__) == ("made_up", "Twice.")


def test_a_measured_array_is_a_need():
    @needs("every_row")
    def formula(logp_t, logp_ref_t, kl_ref_t):
        return logp_t + logp_ref_t + kl_ref_t

    component = from_scored(formula, "made_up")
    assert needs_of(component) == {"every_row", "logp_ref", "kl_ref"}
    with pytest.raises(RuntimeError, match="'logp_ref' was not measured"):
        component(tokens([-1.0]))


def test_statistics_are_taken_over_trained_tokens():
    def formula(logp_t):
        return logp_t, {"low": logp_t < -2, "mean": logp_t.detach(), "own": (3.0, 4)}

    term = from_scored(formula, "made_up")(tokens([-1.0, -3.0, -5.0], weight=[1.0, 1.0, 0.0]))
    assert term.stats == {"low": (1, 2), "mean": (-4.0, 2), "own": (3.0, 4)}


def test_an_episode_counts_its_trained_tokens_and_a_group_its_present_episodes():
    scored = tokens([-1.0, -3.0, -5.0], lengths=[2, 1], group=[0, 0], outcome=[1.0, 0.0], weight=[1.0, 0.0, 0.0])
    episode, group = LOSS_ARRAYS["episode"](scored), LOSS_ARRAYS["group"](scored)
    assert episode.mean(scored.logp).tolist() == [-1.0, 0.0]
    assert group.shared_mean(scored.outcome).tolist() == [1.0, 1.0]


def test_arrays_come_before_parameters():
    def formula(logp_t, gain=2.0, adv_t=None):
        return logp_t

    with pytest.raises(TypeError, match="must come before its parameters"):
        from_scored(formula, "made_up")


@pytest.mark.parametrize("stage", [SURROGATES, REGULARISERS, CORRECTORS])
def test_no_parameter_of_a_component_looks_like_an_array(stage):
    for name in stage:
        assert not [p for p in stage.parameters(name) if p in LOSS_ARRAYS or p.endswith(("_t", "_e", "_u"))]


def test_the_module_keeps_the_formula():
    from palaestra.agents.grpo.components.surrogates.clip import clipped_surrogate

    value, _ = clipped_surrogate(torch.tensor([0.5]), torch.tensor([0.0]), torch.tensor([1.0]), 0.2, 0.28)
    assert value.item() == pytest.approx(1.28)
