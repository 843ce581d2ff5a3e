"""Every regulariser against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.components.surrogates.origins import select_tokens
from palaestra.agents.grpo.recipes.stages import REGULARISERS
from palaestra.errors import InputError

from ..tokens import mixed, slope  # isort: skip


FUNCTIONS = [name for name in REGULARISERS if not isinstance(REGULARISERS[name], type)]


def full(scored):
    """Every field that a regulariser may need."""
    top = torch.stack((scored.logp_old, scored.logp_old - 1, scored.logp_old - 9), dim=1).detach()
    return replace(scored, kl_ref=0.1 * scored.logp**2, logp_top=top - 0.1, logp_top_old=top)


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


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "clip_bias"])
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


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if "coefficient" in REGULARISERS.parameters(n)])
def test_a_negative_coefficient_is_refused(name):
    with pytest.raises(InputError, match=f"coefficient of {name} must be a finite number of at least 0, not -0.1"):
        REGULARISERS[name](full(mixed()), coefficient=-0.1)
