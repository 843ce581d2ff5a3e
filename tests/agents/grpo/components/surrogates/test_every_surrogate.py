"""What holds for every registered surrogate: its gradient is that of the function it states, and it keeps the promises
that the learner relies on when it cuts, orders and skips rows."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields, replace

import pytest
import torch
from palaestra.agents.grpo.batch.scored import Scored, needs_of
from palaestra.agents.grpo.components.surrogates.origins import select_tokens
from palaestra.agents.grpo.components.surrogates.ratios import LARGEST
from palaestra.agents.grpo.recipes.stages import SURROGATES
from palaestra.errors import InputError
from torch import Tensor

from ..tokens import mixed, tokens  # isort: skip


LN = math.log


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("clip", {"low": 1.5}, "low of clip"),
        ("two_sided", {"delta": 1.1}, "delta must exceed"),
        ("dual_clip", {"worst": 1.0}, "worst must exceed"),
        ("rec", {"clip": "onesided"}, "one_side"),
        ("topr", {"level": "turn"}, "level"),
        ("dppo_tv", {"form": "rato"}, "ratio"),
        ("rollout_is", {"low": 2.0}, "low of rollout_is"),
        ("rpg", {"divergence": "kl"}, "rkl"),
    ],
)
def test_wrong_parameters_are_refused(name, params, words):
    with pytest.raises(InputError, match=words):
        SURROGATES[name](at_ratio([1.0], 1.0), **params)


every_surrogate = pytest.mark.parametrize("name", list(SURROGATES))

PARAMS = {"sppo": {"eta": 2.0}}
"""SPPO's published targets are in the hundreds, where nothing else can be told apart."""


def total(name: str, scored: Scored) -> Tensor:
    return (scored.weight * SURROGATES[name](scored, **PARAMS.get(name, {})).value).sum()


def gradient(name: str, scored: Scored) -> Tensor:
    value = total(name, scored)
    (slope,) = torch.autograd.grad(value, scored.logp, allow_unused=True) if value.requires_grad else (None,)
    return torch.zeros_like(scored.logp) if slope is None else slope


def ratio(scored: Scored) -> Tensor:
    return scored.log_ratio.detach().exp()


def per_episode(scored: Scored, value: Tensor, mean: bool) -> Tensor:
    """Sum or mean over the tokens of the token's episode, [A]."""
    total = scored.sum_by_episode(value)
    count = scored.sum_by_episode(torch.ones_like(value))
    return (total / count if mean else total)[scored.episode]


def flow_rl(s: Scored) -> Tensor:
    """-2 w (log Z + gap) / tokens, times the episode's weight; log Z and w stand still."""
    assert s.logp_ref is not None
    gap = s.sum_by_episode(s.logp - s.logp_ref - 15 * s.advantage).detach()
    n = s.sum_by_episode(torch.ones_like(s.logp))
    gap = gap / n
    log_z = torch.stack([-gap[s.group == g].mean() for g in s.group.tolist()])
    w = (s.sum_by_episode(s.log_ratio).detach() / n).exp().clamp(0.8, 1.2)
    return (-2 * w * (log_z + gap) / n * s.sum_by_episode(s.weight))[s.episode]


def kto(s: Scored) -> Tensor:
    """+-beta sigmoid'(s - z), times the episode's weight; z stands still."""
    assert s.logp_ref is not None
    reward = 0.1 * s.sum_by_episode(s.logp - s.logp_ref).detach()
    gate = torch.sigmoid(reward - reward.mean().clamp(min=0))
    sign = torch.where(s.outcome > 0.5, 1.0, -1.0)
    return (sign * 0.1 * gate * (1 - gate) * s.sum_by_episode(s.weight))[s.episode]


def weighted(factor: Callable[[Scored], Tensor]) -> Callable[[Scored], Tensor]:
    """The gradient of sg(factor) log pi."""
    return lambda s: s.weight * factor(s)


def aspo(s: Scored) -> Tensor:
    r = ratio(s)
    up = torch.where(r <= 1.2, (1 / r).clamp(max=3), 0.0)
    down = torch.where(r >= 0.8, r.clamp(max=3), 0.0)
    return torch.where(s.advantage > 0, up, down) * s.advantage


def one_side(s: Scored) -> Tensor:
    r = ratio(s)
    kept = torch.where(s.advantage > 0, r <= 1.2, r >= 0.8)
    return kept * r * s.advantage


def tr_grpo(s: Scored) -> Tensor:
    return (2 * torch.sigmoid(9 * s.logp.detach().exp()) - 0.5).clamp(1, 1.4) * one_side(s)


def gspo_token(s: Scored) -> Tensor:
    r = per_episode(s, s.log_ratio.detach(), mean=True).exp()
    kept = torch.where(s.advantage > 0, r <= 1 + 4e-4, r >= 1 - 3e-4)
    return kept * r * s.advantage


def topr(s: Scored) -> Tensor:
    w = per_episode(s, (s.logp - s.logp_mu).detach(), mean=False).exp()
    return torch.where(s.advantage > 0, 1.0, w.clamp(max=1)) * s.advantage


def vespo(s: Scored) -> Tensor:
    w = per_episode(s, (s.logp - s.logp_mu).detach(), mean=False).exp()
    up, down = torch.exp(3 - 3 * w) * w**2, torch.exp(2 - 2 * w) * w**3
    return torch.where(s.advantage > 0, up, down) * s.advantage


def dppo_tv(s: Scored) -> Tensor:
    moved = (s.logp.exp() - s.logp_old.exp()).detach()
    return torch.where(s.advantage > 0, moved <= 0.15, moved >= -0.15) * ratio(s) * s.advantage


def dppo_kl(s: Scored) -> Tensor:
    p, q = s.logp.exp().detach(), s.logp_old.exp()
    far = q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log() > 0.05
    return ~(far & torch.where(s.advantage > 0, p > q, p < q)) * ratio(s) * s.advantage


def rl_plus(s: Scored) -> Tensor:
    p, q = s.logp.exp().detach(), s.logp_old.exp()
    return (1 - p).sqrt() * 4 * p / (3 * q + 1) * s.advantage


def distill(s: Scored) -> Tensor:
    assert s.logp_teacher is not None
    return ratio(s) * (s.logp_teacher - s.logp).detach()


STATED: dict[str, Callable[[Scored], Tensor]] = {
    "aspo": weighted(aspo),
    "cispo": weighted(lambda s: ratio(s).clamp(max=5) * s.advantage),
    "distill": weighted(distill),
    "dppo_kl": weighted(dppo_kl),
    "dppo_tv": weighted(dppo_tv),
    "flow_rl": flow_rl,
    "gspo_token": weighted(gspo_token),
    "kto": kto,
    "rec": weighted(one_side),
    "rl_plus": weighted(rl_plus),
    "sft_is": weighted(lambda s: s.logp.exp().detach()),
    "sft_phi": weighted(lambda s: (s.logp.exp() * (1 - s.logp.exp())).detach()),
    "topr": weighted(topr),
    "tr_grpo": weighted(tr_grpo),
    "vespo": weighted(vespo),
}
"""Gradients of the surrogates in which something is detached, by hand; the others are differentiated numerically."""


# Weights of t_reg's token rewards are held fixed; test_preferences.py has its gradient.
@pytest.mark.parametrize("name", [name for name in SURROGATES if name != "t_reg"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_gradient_is_that_of_the_stated_function(name, seed):
    scored = mixed(seed)
    if name in STATED:
        expected = STATED[name](scored)
    else:
        step, expected = 1e-6, torch.zeros_like(scored.logp)
        for t in range(len(scored.logp)):
            shift = torch.zeros_like(scored.logp_old)
            shift[t] = step
            up, down = (total(name, replace(scored, logp=scored.logp.detach() + s)) for s in (shift, -shift))
            expected[t] = (up - down) / (2 * step)
    assert torch.allclose(gradient(name, scored), expected.detach(), rtol=1e-5, atol=2e-7)


@every_surrogate
def test_it_takes_at_most_30_lines(name):
    assert len(inspect.getsource(SURROGATES[name]).splitlines()) <= 30


@every_surrogate
def test_a_row_of_advantage_zero_has_no_gradient_unless_declared(name):
    scored = mixed()
    silent = replace(scored, advantage=torch.where(scored.group[scored.episode] == 0, 0.0, scored.advantage))
    slopes = gradient(name, silent)[scored.group[scored.episode] == 0]
    if "every_row" not in needs_of(SURROGATES[name]):
        assert not slopes.any()


@every_surrogate
def test_only_what_declares_the_batch_looks_at_other_episodes(name):
    if "batch" in needs_of(SURROGATES[name]):
        return
    scored = mixed()
    whole = SURROGATES[name](scored).value
    for episode in range(scored.episodes):
        here = scored.episode == episode
        assert torch.allclose(SURROGATES[name](select_tokens(scored, here)).value, whole[here])


def rearranged(scored: Scored, order: list[int]) -> tuple[Scored, Tensor]:
    """The same episodes in another order, and where each token came from."""
    place = torch.cat([(scored.episode == e).nonzero()[:, 0] for e in order])
    moved = {}
    for item in fields(scored):
        value = getattr(scored, item.name)
        if isinstance(value, Tensor):
            moved[item.name] = value.detach()[torch.tensor(order) if len(value) == scored.episodes else place]
    lengths = torch.bincount(scored.episode)[torch.tensor(order)]
    moved["episode"] = torch.repeat_interleave(torch.arange(len(order)), lengths)
    moved["logp"] = moved["logp"].requires_grad_()
    return replace(scored, **moved), place


@every_surrogate
def test_the_order_of_episodes_does_not_matter(name):
    scored = mixed(3)
    other, place = rearranged(scored, [8, 2, 5, 0, 7, 4, 1, 6, 3])
    assert torch.allclose(gradient(name, other), gradient(name, scored)[place], rtol=1e-9)


@every_surrogate
def test_a_token_of_weight_zero_changes_nothing(name):
    scored = mixed(4)
    muted = torch.arange(len(scored.logp)) % 4 == 3
    weight = torch.where(muted, 0.0, scored.weight)
    one = replace(scored, weight=weight)
    moved = torch.where(muted, scored.logp.detach() - 1.5, scored.logp.detach()).requires_grad_()
    other = replace(one, logp=moved)
    assert torch.allclose(gradient(name, one), gradient(name, other))
    assert not gradient(name, one)[muted].any()


@every_surrogate
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_precision_is_kept(name, dtype):
    value = SURROGATES[name](mixed(dtype=dtype)).value
    assert value.dtype == dtype
    assert value.shape == (32,)


@every_surrogate
@pytest.mark.parametrize("gap", [-300.0, -40.0, 40.0, 300.0])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_ratios_give_finite_gradients(name, gap, sign):
    scored = mixed(dtype=torch.float32)
    logp = torch.full_like(scored.logp, -1e-3 if gap > 0 else gap).requires_grad_()
    old = logp.detach() - gap
    advantage = sign * scored.advantage.abs()
    others = {"logp_mu": old, "logp_ref": old, "logp_teacher": old}
    far = replace(scored, logp=logp, logp_old=old, advantage=advantage, **others)
    assert torch.isfinite(gradient(name, far)).all()


@every_surrogate
def test_groups_of_one_and_equal_outcomes_give_finite_gradients(name):
    scored = mixed()
    for group in (torch.arange(9), torch.zeros(9, dtype=torch.int64)):
        for outcome in (torch.ones(9, dtype=torch.float64), torch.zeros(9, dtype=torch.float64)):
            assert torch.isfinite(gradient(name, replace(scored, group=group, outcome=outcome))).all()


@every_surrogate
def test_no_tokens_at_all_give_nothing(name):
    none = select_tokens(mixed(), torch.zeros(32, dtype=torch.bool))
    assert SURROGATES[name](none).value.shape == (0,)
    assert SURROGATES[name](replace(mixed(), weight=torch.zeros(32, dtype=torch.float64))).value.shape == (32,)


AT_ONE = (
    *("aspo", "bapo", "by_origin", "cispo", "clip", "clip_cov", "clip_preclipped", "dcpo", "dppo_kl", "dppo_tv", "dro"),
    *("dual_clip", "gmpo", "gspo", "gspo_token", "ipo", "kl_cov", "lp_reg", "moving_clip", "ratio", "rec"),
    *("reinforce", "rollout_is", "rpg", "sapo", "topr", "two_sided", "vespo"),
)
"""Surrogates that are the policy gradient as long as the policy has not moved."""


@pytest.mark.parametrize("name", AT_ONE)
def test_at_ratio_one_the_gradient_is_that_of_reinforce(name):
    s = tokens([-1.0, -2.0, -0.5, -0.7], advantage=[0.5, 0.5, -0.8, -0.8], lengths=[2, 2], group=[0, 0], outcome=[1, 0])
    value = SURROGATES[name](s).value.sum()
    (slope,) = torch.autograd.grad(value, s.logp)
    assert slope.tolist() == pytest.approx([0.5, 0.5, -0.8, -0.8])


def test_the_largest_ratio_is_finite_in_single_precision():
    assert torch.isfinite(torch.tensor(LARGEST).exp() ** 2)
