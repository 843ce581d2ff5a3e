"""Regularisers: values by hand, and on a policy of three tokens the gradients of the divergences they stand for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.components.surrogates.origins import select_tokens
from palaestra.agents.grpo.recipes.stages import REGULARISERS
from palaestra.errors import InputError

from .tokens import mixed, slope, tokens  # isort: skip

LN = math.log
FUNCTIONS = [name for name in REGULARISERS if not isinstance(REGULARISERS[name], type)]


def value(name: str, scored, **params) -> list[float]:
    return REGULARISERS[name](scored, **params).value.tolist()


def full(scored):
    """Every field that a regulariser may need."""
    return replace(scored, kl_ref=0.1 * scored.logp**2)


# On a policy whose every token is known ------------------------------------------------------------------------------

POLICY = torch.tensor([0.4, -0.3, 0.9], dtype=torch.float64).softmax(0)
REFERENCE = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64)
OLD = torch.tensor([0.3, 0.4, 0.3], dtype=torch.float64)


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
FORWARD = gradient_of(lambda logp: (REFERENCE * (REFERENCE.log() - logp)).sum())


def test_k2_has_the_gradient_of_the_reverse_divergence():
    assert expected_gradient("kl_k2", POLICY) == pytest.approx(REVERSE)


@pytest.mark.parametrize("estimate", ["k1", "k3"])
def test_straight_through_estimates_have_it_too(estimate):
    assert expected_gradient("kl_straight", POLICY, estimate=estimate) == pytest.approx(REVERSE)


def test_k3_has_that_of_the_forward_divergence():
    assert expected_gradient("kl_k3", POLICY) == pytest.approx(FORWARD)
    assert expected_gradient("kl_k3", POLICY) != pytest.approx(REVERSE, rel=0.1)


def test_k1_has_none():
    # Trap 10.
    assert expected_gradient("kl_k1", POLICY) == pytest.approx([0, 0, 0], abs=1e-12)


def test_k3_times_the_ratio_is_unbiased_off_policy():
    assert expected_gradient("kl_k3_unbiased", OLD) == pytest.approx(REVERSE)
    assert expected_gradient("kl_k2", OLD) != pytest.approx(REVERSE, rel=0.01)


def test_the_forward_estimate_has_value_and_gradient_of_the_forward_divergence():
    assert expected_gradient("kl_forward", POLICY) == pytest.approx(FORWARD)
    s = tokens(POLICY.log().tolist(), None, 0.0, logp_ref=REFERENCE.log().tolist())
    mean = (POLICY * torch.tensor(value("kl_forward", s, coefficient=1.0))).sum()
    assert mean.item() == pytest.approx((REFERENCE * (REFERENCE / POLICY).log()).sum().item())


def test_kdrl_has_the_gradient_of_the_divergence_from_the_teacher():
    assert expected_gradient("kdrl", POLICY) == pytest.approx(REVERSE)


# By hand -------------------------------------------------------------------------------------------------------------


def test_estimates_of_a_known_gap():
    s = tokens([-1.0], None, 0.0, logp_ref=-1.5)  # d = -.5
    assert value("kl_k1", s, coefficient=1.0) == pytest.approx([0.5])
    assert value("kl_k2", s, coefficient=2.0) == pytest.approx([0.25])
    assert value("kl_k3", s, coefficient=1.0) == pytest.approx([math.exp(-0.5) - 0.5])
    assert value("kl_abs", s, coefficient=1.0) == pytest.approx([0.5])
    assert value("kl_straight", s, coefficient=1.0, estimate="k1") == pytest.approx([0.5])
    assert REGULARISERS["kl_k1"](s).stats["kl"] == (0.5, 1)


def test_the_whole_divergence_passes_through():
    s = replace(tokens([-1.0, -2.0], None, 0.0), kl_ref=torch.tensor([0.3, 0.1], dtype=torch.float64))
    assert value("kl_full", s, coefficient=0.5) == pytest.approx([0.15, 0.05])


def test_the_convex_penalty_moves_from_the_reference_to_the_last_policy():
    # gaps: reference 1, last policy -.5; k2 = .5 and .125
    s = tokens([-1.0], [-1.5], 0.0, logp_ref=0.0)
    for share, expected in ((1.0, 0.5), (0.5, 0.3125), (0.0, 0.125)):
        assert value("kl_convex", s, coefficient=1.0, share=share, estimate="k2") == pytest.approx([expected])


def test_after_reincarnation_only_the_last_policy_counts():
    s = tokens([-1.0], [-1.5], 0.0, logp_ref=-1.0)
    assert value("kl_convex", s, coefficient=1.0, share=1.0) == pytest.approx([0])


def test_hard_tasks_pay_half():
    # success rates 1/4 and 1/2
    s = tokens([-1.0] * 6, None, 0.0, [1] * 6, group=[0] * 4 + [1] * 2, outcome=[1, 0, 0, 0, 1, 0], logp_ref=-1.5)
    got = value("kl_by_difficulty", s, coefficient=1.0)
    assert got[0] == pytest.approx(got[5] / 2)
    assert got[5] == pytest.approx(math.exp(-0.5) - 0.5)


@pytest.mark.parametrize(("successes", "hard"), [(3, True), (4, False)])
def test_the_border_of_difficulty_is_hard(successes, hard):
    outcome = [1] * successes + [0] * (10 - successes)
    s = tokens([-1.0] * 10, None, 0.0, [1] * 10, group=[0] * 10, outcome=outcome, logp_ref=-2.0)
    assert (value("kl_by_difficulty", s, coefficient=1.0, hard=0.0)[0] == 0) == hard


def test_small_penalties():
    s = tokens([-1.0], [-1.5], 0.0, entropy=0.7)
    assert value("log_ratio_square", s, coefficient=2.0) == pytest.approx([0.5])
    assert value("imitation", s, coefficient=0.1) == pytest.approx([0.1])
    assert value("entropy_bonus", s, coefficient=0.1) == pytest.approx([-0.07])


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


def test_the_shield_holds_unlikely_tokens_of_failures():
    # the first falls from .05 to .03; the others rise, succeed, are likely, or were noise before
    logp = [LN(p) for p in (0.03, 0.05, 0.03, 0.6, 0.001)]
    old = [LN(p) for p in (0.05, 0.03, 0.05, 0.7, 0.002)]
    s = tokens(logp, old, [-1, -1, 1, -1, -1])
    expected = [5 / 3 - LN(5 / 3) - 1, 0, 0, 0, 0]
    assert value("low_prob_shield", s, share=0.75, floor=0.02) == pytest.approx(expected)
    # of four negative tokens the lowest quarter is the noise alone
    assert value("low_prob_shield", s, share=0.25, floor=0.02) == [0.0] * 5
    assert value("low_prob_shield", s, share=0.25, floor=0.001)[4] > 0


def test_the_shields_pool_is_the_negative_tokens_or_all():
    s = tokens([LN(0.03), LN(0.01), LN(0.02)], LN(0.04), [-1, 1, 1])
    assert value("low_prob_shield", s, share=0.4)[0] > 0
    assert value("low_prob_shield", s, share=0.4, among="all")[0] == 0


# The target ----------------------------------------------------------------------------------------------------------


def entropic(entropy: list[float], **others):
    return tokens([-1.0] * len(entropy), None, 0.0, entropy=entropy, **others)


def test_the_price_of_entropy_rises_below_the_target_and_falls_above():
    term = REGULARISERS["entropy_target"](target=0.5, step=0.1, start=0.2)
    assert term(entropic([0.4, 0.4])).value.tolist() == pytest.approx([-0.08, -0.08])
    assert term.coefficient == pytest.approx(0.3)
    assert term(entropic([0.9])).value.tolist() == pytest.approx([0])
    assert term.coefficient == pytest.approx(0.2)


def test_the_price_of_entropy_stays_within_its_bounds():
    term = REGULARISERS["entropy_target"](target=0.5, step=1.0, start=0.2, low=0.1, high=0.4)
    term(entropic([0.9]))
    assert term.coefficient == 0.1
    term(entropic([0.1]))
    assert term.coefficient == 0.4


def test_the_target_reads_trained_tokens():
    term = REGULARISERS["entropy_target"](target=0.5, step=0.1, start=0.2)
    term(entropic([0.4, 9.0], weight=[1.0, 0.0]))
    assert term.coefficient == pytest.approx(0.3)


def test_the_price_of_entropy_survives_a_checkpoint():
    term, other = (REGULARISERS["entropy_target"](target=0.5, step=0.1) for _ in range(2))
    term(entropic([0.4]))
    other.load_state_dict(term.state_dict())
    assert other.coefficient == term.coefficient == pytest.approx(0.1)


# Every one -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("gap", [-300.0, 300.0])
def test_extreme_gaps_give_finite_gradients(name, gap):
    s = full(mixed(dtype=torch.float32))
    logp = torch.full_like(s.logp, -1e-3 if gap > 0 else gap).requires_grad_()
    old = logp.detach() - gap
    s = replace(s, logp=logp, logp_old=old, logp_mu=old, logp_ref=old, logp_teacher=old, entropy=0.1 * logp)
    assert torch.isfinite(torch.tensor(slope(REGULARISERS[name], s))).all()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_precision_is_kept(name, dtype):
    assert REGULARISERS[name](full(mixed(dtype=dtype))).value.dtype == dtype


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_row_is_declared(name):
    assert "every_row" in needs_of(REGULARISERS[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_only_what_declares_the_batch_looks_at_other_episodes(name):
    if "batch" in needs_of(REGULARISERS[name]):
        return
    s = full(mixed(2))
    for episode in range(s.episodes):
        here = s.episode == episode
        assert torch.allclose(REGULARISERS[name](select_tokens(s, here)).value, REGULARISERS[name](s).value[here])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_tokens_at_all_give_nothing(name):
    none = select_tokens(full(mixed()), torch.zeros(32, dtype=torch.bool))
    assert REGULARISERS[name](none).value.shape == (0,)


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("kl_convex", {"share": 1.5}, "share"),
        ("kl_convex", {"estimate": "k1"}, "estimate"),
        ("kdrl", {"unless": "success"}, "unless"),
        ("rehearsal_divergence", {"kind": "kl"}, "kind"),
        ("low_prob_shield", {"among": "positive"}, "among"),
    ],
)
def test_wrong_parameters_are_refused(name, params, words):
    with pytest.raises(InputError, match=words):
        REGULARISERS[name](full(mixed()), **params)


def test_an_entropy_target_outside_its_bounds_is_refused():
    with pytest.raises(InputError, match="start must lie"):
        REGULARISERS["entropy_target"](start=2.0)
