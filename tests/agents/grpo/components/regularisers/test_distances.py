"""Distances against numbers worked out by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.agents.grpo.learner import Learner
from palaestra.agents.grpo.recipes import StageOverrides
from palaestra.agents.grpo.recipes.stages import REGULARISERS

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return REGULARISERS[name](scored, **params).value.tolist()


POLICY = torch.tensor([0.4, -0.3, 0.9], dtype=torch.float64).softmax(0)

REFERENCE = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)


def expected_gradient(name: str, sampled_from: torch.Tensor, **params) -> list[float]:
    """Gradient with respect to the logits of the regulariser's mean over tokens drawn from a distribution."""
    logits = POLICY.log().requires_grad_()
    logp = logits.log_softmax(0)
    s = tokens(
        logp.detach().tolist(),
        sampled_from.log().tolist(),
        0.0,
        weight=sampled_from.tolist(),
        logp_ref=REFERENCE.log().tolist(),
        logp_teacher=REFERENCE.log().tolist(),
    )
    by_logp = torch.tensor(slope(REGULARISERS[name], s, coefficient=1.0, **params), dtype=torch.float64)
    return torch.autograd.grad((by_logp * logp).sum(), logits)[0].tolist()


def gradient_of(divergence) -> list[float]:
    logits = POLICY.log().requires_grad_()
    return torch.autograd.grad(divergence(logits.log_softmax(0)), logits)[0].tolist()


REVERSE = gradient_of(lambda logp: (logp.exp() * (logp - REFERENCE.log())).sum())


def test_kdrl_has_the_gradient_of_the_divergence_from_the_teacher():
    assert expected_gradient("kdrl", POLICY) == pytest.approx(REVERSE)


def test_a_teacher_teaches_where_the_student_fails():
    s = tokens([-1.0] * 4, None, 0.0, [1] * 4, group=[0, 0, 1, 1], outcome=[1, 0, 0, 0], logp_teacher=-2.0)
    assert value("kdrl", s, coefficient=1.0) == pytest.approx([0.5] * 4)
    assert value("kdrl", s, coefficient=1.0, unless="response") == pytest.approx([0, 0.5, 0.5, 0.5])
    assert value("kdrl", s, coefficient=1.0, unless="group") == pytest.approx([0, 0, 0.5, 0.5])


@pytest.mark.parametrize(("kind", "at_two"), [("forward_kl", 0.306853), ("js", 0.169899), ("alpha", 0.368123)])
def test_divergences_of_rehearsed_tokens(kind, at_two):
    s = tokens([LN(0.4), LN(0.2)], None, 0.0, logp_mu=LN(0.2))
    assert value("rehearsal_divergence", s, coefficient=1.0, kind=kind) == pytest.approx([at_two, 0], abs=2e-4)
    assert slope(REGULARISERS["rehearsal_divergence"], s, kind=kind)[1] == pytest.approx(0)
    less = tokens([LN(0.1)], None, 0.0, logp_mu=LN(0.2))
    assert value("rehearsal_divergence", less, coefficient=1.0, kind=kind)[0] > 0


def test_only_the_forward_divergence_explodes_where_the_policy_forgets():
    s = tokens([-60.0], None, 0.0, logp_mu=-1.0)
    js, alpha, forward = (
        value("rehearsal_divergence", s, coefficient=1.0, kind=kind)[0] for kind in ("js", "alpha", "forward_kl")
    )
    assert js == pytest.approx(LN(2))
    assert alpha == pytest.approx(0.2 / 0.16)
    assert forward == pytest.approx(58)


def with_top(scored, *distributions: tuple[float, ...]):
    """Tokens with the probabilities of the likeliest tokens at each, which the policy still has."""
    top = torch.tensor(distributions, dtype=torch.float64).log()
    return replace(scored, logp_top=top.clone().requires_grad_(), logp_top_old=top)


PEAKED = (0.6, 0.3, 0.09, 0.01)


def test_the_shield_is_minus_the_log_of_the_mass_that_is_no_noise():
    # tau = 0.02 x 0.6 = 0.012 leaves 0.99; the sampled token is the third.
    s = with_top(tokens([LN(0.09)], None, -1.0), PEAKED)
    assert value("low_prob_shield", s) == pytest.approx([-LN(0.99)])
    assert value("low_prob_shield", s, coefficient=0.5) == pytest.approx([-LN(0.99) / 2])
    assert value("low_prob_shield", s, kappa=0.001) == pytest.approx([0.0])


def test_the_shields_gradient_holds_up_what_is_kept_and_lets_noise_go():
    logits = torch.tensor([PEAKED], dtype=torch.float64).log().requires_grad_()
    s = with_top(tokens([LN(0.09)], None, -1.0), PEAKED)
    s = replace(s, logp_top=logits.log_softmax(-1))
    (gradient,) = torch.autograd.grad(REGULARISERS["low_prob_shield"](s).value.sum(), logits)
    kept = [p / 0.99 for p in PEAKED[:3]] + [0.0]
    assert gradient[0].tolist() == pytest.approx([p - q for p, q in zip(PEAKED, kept, strict=True)])


def test_only_unlikely_tokens_of_failures_that_are_no_noise_are_shielded():
    s = tokens([LN(0.09), LN(0.01), LN(0.09), LN(0.6)], None, [-1, -1, 1, -1])
    s = with_top(s, *[PEAKED] * 4)
    shielded = [v > 0 for v in value("low_prob_shield", s, share=0.75)]
    assert shielded == [True, False, False, False]
    # The lowest of the four is the noise.
    assert value("low_prob_shield", s, share=0.25) == [0.0] * 4


def test_the_shields_pool_is_all_tokens_or_the_negative_ones():
    s = with_top(tokens([LN(0.3), LN(0.09), LN(0.09)], None, [-1, 1, 1]), *[PEAKED] * 3)
    assert value("low_prob_shield", s, share=0.4)[0] == 0
    assert value("low_prob_shield", s, share=0.4, among="negative")[0] > 0


def test_the_recipe_shields_in_the_first_update_of_a_run(tmp_path):
    config = TrainConfig(
        recipe="lp_reg",
        warmup=WarmUp(steps=0),
        steps=1,
        prompts=6,
        samples=6,
        max_new_tokens=8,
        context=256,
        eval_every=0,
        final_episodes=1,
        threads=1,
        track=(),
        # A tenth of all tokens: the one per cent of the recipe is two, of which none need have a negative advantage.
        stages=StageOverrides(shaping="cosine-length", regularisers="low_prob_shield(share=0.1)"),
    )
    learner = Learner.start(tmp_path / "run", config)
    assert learner.run()
    (row,) = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert row["updates"] == 1
    assert row["shielded"] > 0
    assert row["shield_kl"] > 0
