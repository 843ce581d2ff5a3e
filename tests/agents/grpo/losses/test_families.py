"""Covariances, the REC family, other authors' tokens and supervision against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.surrogates.covariance import covariance
from palaestra.agents.grpo.recipes.stages import SURROGATES

from .tokens import slope, tokens  # isort: skip

LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


# The REC family ------------------------------------------------------------------------------------------------------


def test_one_sided_rec_with_importance_weights_is_the_clip_token_by_token():
    s = at_ratio([1.5, 1.1, 0.5, 1.5, 0.9, 0.5], [1, 1, 1, -1, -1, -1])
    assert slope(SURROGATES["rec"], s) == pytest.approx(slope(SURROGATES["clip"], s))


def test_ring_keeps_what_two_sided_drops():
    s = at_ratio([0.3, 0.5, 3.5, 1.0], [1, 1, -1, 1])
    assert slope(SURROGATES["rec"], s, clip="two_side", weight="none") == pytest.approx([0, 0, 0, 1])
    assert slope(SURROGATES["rec"], s, clip="ring", weight="none") == pytest.approx([1, 0, -1, 1])


def test_red_weighs_by_the_exponential_of_the_advantage():
    s = at_ratio([1.0, 1.0], [1, -1])
    assert slope(SURROGATES["rec"], s, clip="none", weight="advantage") == pytest.approx([math.e, -1 / math.e])


def test_asymre_is_a_shifted_baseline():
    s, lower = at_ratio([1.2, 0.7], [0.5, -0.5]), at_ratio([1.2, 0.7], [0.6, -0.4])
    assert slope(SURROGATES["asymre"], s, shift=0.1) == pytest.approx(slope(SURROGATES["reinforce"], lower))


def test_opmd_halves_the_policy_gradient_at_tau_one():
    assert slope(SURROGATES["opmd"], at_ratio([3.0], 1.0), tau=1.0) == pytest.approx([0.5])


# Covariance ----------------------------------------------------------------------------------------------------------


def test_clip_cov_leaves_out_a_token_of_the_band():
    # means 0 and -2; cov = 2, 2, -1, -1, -1, -1 -> the first two are eligible, one of them is left out
    s = tokens([-1.0, -3.0, -1.0, -3.0, -3.0, -1.0], None, [2, -2, -1, 1, 1, -1])
    got = slope(SURROGATES["clip_cov"], s, share=0.2)
    assert sorted(map(abs, got)) == pytest.approx([0, 1, 1, 1, 1, 2])
    assert slope(SURROGATES["clip_cov"], s, share=0.4) == pytest.approx([0, 0, -1, 1, 1, -1])
    assert slope(SURROGATES["clip_cov"], s, smallest=2.5) == pytest.approx([2, -2, -1, 1, 1, -1])


def test_clip_cov_never_touches_a_token_without_weight():
    s = tokens([-1.0, -3.0, -1.0, -3.0], None, [2, -2, -1, 1], weight=[0.0, 1.0, 1.0, 1.0])
    dropped, trained = SURROGATES["clip_cov"](s, smallest=-10, largest=10, share=1.0).stats["cov_dropped"]
    assert (dropped, trained) == (3, 3)


def test_clip_cov_passes_over_what_the_clip_has_stopped_already():
    # around the means 0 and -2, cov = 1, .5, -.5, 2; the first, a gain at ratio 2, is clipped already
    s = tokens([-1.0, -1.5, -1.5, -4.0], [-1.0 - LN(2), -1.5, -1.5, -4.0], [1, 1, -1, -1])
    stats = SURROGATES["clip_cov"](s, low=0.2, high=0.2, share=1.0, smallest=0.4, largest=5.0).stats
    assert stats["cov_dropped"] == (2, 4)


def test_the_means_of_the_covariance_are_over_trained_tokens():
    # without the last token: means 0 and -2, so cov = 1, 1 and both are eligible
    s = tokens([-1.0, -3.0, -9.0], None, [1, -1, 7], weight=[1.0, 1.0, 0.0])
    assert covariance(s.logp, s.advantage, s.trained)[:2].tolist() == pytest.approx([1.0, 1.0])


def test_kl_cov_holds_the_tokens_of_the_highest_covariance():
    # every token moved by .1; around the means 0 and -1.9, cov = 2, 1, -2, -1
    s = tokens([-0.9, -2.9, -0.9, -2.9], [-1.0, -3.0, -1.0, -3.0], [2, -1, -2, 1])
    plain = value("ratio", s)
    assert value("kl_cov", s, share=0.25) == pytest.approx([plain[0] - 0.1, *plain[1:]])


# Other authors -------------------------------------------------------------------------------------------------------


def test_the_shaped_ratio_favours_rare_tokens():
    s = tokens([LN(0.4), LN(0.1)], 0.0, 1.0)
    assert value("shaped_ratio", s) == pytest.approx([0.8, 0.5])
    # gamma p / (p + gamma)^2; by probability instead of its logarithm it is gamma / (p + gamma)^2
    assert slope(SURROGATES["shaped_ratio"], s) == pytest.approx([0.16, 0.25])


@pytest.mark.parametrize(("p", "expected"), [(0.5, 0.8), (1.0, 1.0), (0.01, 0.02 / 0.515)])
def test_the_external_ratio_never_explodes(p, expected):
    s = tokens([LN(p)], None, 1.0)
    assert value("rl_plus", s, gamma=0.0) == pytest.approx([expected])


def test_known_tokens_of_a_teacher_have_no_gradient():
    assert slope(SURROGATES["rl_plus"], tokens([0.0], None, 1.0)) == [0.0]
    # (1 - .5)^.5 = .7071
    assert value("rl_plus", tokens([LN(0.5)], None, 1.0)) == pytest.approx([0.8 * 0.70710678])


def test_each_origin_has_its_surrogate():
    origin = [int(Origin.POLICY), int(Origin.TEACHER), int(Origin.HINT), int(Origin.POLICY)]
    s = tokens([LN(0.4)] * 4, [LN(0.2), 0.0, 0.0, LN(0.4)], 1.0, origin=origin)
    shaped, likelihood = SURROGATES["shaped_ratio"], SURROGATES["likelihood"]
    term = SURROGATES["by_origin"](s, teacher=shaped, hint=likelihood)
    assert term.value.tolist() == pytest.approx([1.2, 0.8, LN(0.4), 1.0])
    assert term.stats["clip_fraction"] == (1, 2)
    assert term.stats["hint_nll"][1] == 1


def test_an_origin_without_a_surrogate_has_the_policys():
    s = tokens([LN(0.4)] * 2, LN(0.2), 1.0, origin=[0, int(Origin.COPY)])
    assert value("by_origin", s) == pytest.approx([1.2, 1.2])


def test_an_episodes_ratio_is_taken_over_the_tokens_of_one_origin():
    s = tokens([-1.0, -0.5], [-1.0, -3.0], 1.0, origin=[0, int(Origin.TEACHER)])
    assert value("by_origin", s, policy=SURROGATES["gspo"], teacher=SURROGATES["none"]) == pytest.approx([1.0, 0.0])


# Supervision ---------------------------------------------------------------------------------------------------------


def test_weighted_likelihoods():
    s = tokens([LN(0.5), LN(0.9)], None, 0.0)
    assert slope(SURROGATES["likelihood"], s) == pytest.approx([1, 1])
    assert slope(SURROGATES["sft_is"], s) == pytest.approx([0.5, 0.9])
    assert slope(SURROGATES["sft_phi"], s) == pytest.approx([0.25, 0.09])


def test_distillation_follows_the_reverse_divergence():
    # On-policy, averaged over pi: sum_v pi (log T - log pi) grad log pi = -grad KL(pi || T).
    logits = torch.tensor([0.3, -0.2, 0.8], dtype=torch.float64, requires_grad=True)
    logp = logits.log_softmax(0)
    teacher = torch.tensor([0.2, 0.5, 0.3], dtype=torch.float64).log()
    (exact,) = torch.autograd.grad(-(logp.exp() * (logp - teacher)).sum(), logits, retain_graph=True)
    s = tokens(logp.detach().tolist(), None, 0.0, weight=logp.exp().tolist(), logp_teacher=teacher.tolist())
    (sampled,) = torch.autograd.grad((torch.tensor(slope(SURROGATES["distill"], s)) * logp).sum(), logits)
    assert sampled.tolist() == pytest.approx(exact.tolist())
