"""Every corrector against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.surrogates.origins import select_tokens
from palaestra.agents.grpo.recipes.stages import CORRECTORS
from palaestra.errors import InputError

from ..tokens import mixed, tokens  # isort: skip


every_corrector = pytest.mark.parametrize("name", [*CORRECTORS, "opsm", "m2po"])

LN = math.log


def of(name: str, c: list[float], lengths=None, advantage=1.0, params=None, **others) -> list[float]:
    """The factors of tokens with these weights c = pi_old / mu."""
    s = tokens([-1.0] * len(c), -1.0, advantage, lengths, logp_mu=[-1 - LN(x) for x in c], **others)
    return CORRECTORS[name](s, **(params or {})).tolist()


@every_corrector
def test_without_a_gap_nothing_is_corrected(name):
    s = mixed()
    s = replace(s, logp=s.logp_old.clone().requires_grad_(), logp_mu=s.logp_old)
    assert CORRECTORS[name](s).tolist() == pytest.approx([1.0] * 32)


@every_corrector
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_factors_have_no_gradient_and_keep_the_precision(name, dtype):
    factor = CORRECTORS[name](mixed(dtype=dtype))
    assert not factor.requires_grad
    assert factor.dtype == dtype
    assert factor.shape == (32,)


@every_corrector
def test_only_what_declares_the_batch_looks_at_other_episodes(name):
    if "batch" in needs_of(CORRECTORS[name]):
        return
    s = mixed(1)
    for episode in range(s.episodes):
        here = s.episode == episode
        assert torch.equal(CORRECTORS[name](select_tokens(s, here)), CORRECTORS[name](s)[here])


@every_corrector
@pytest.mark.parametrize("gap", [-400.0, 400.0])
def test_extreme_gaps_stay_finite(name, gap):
    s = mixed(dtype=torch.float32)
    assert torch.isfinite(CORRECTORS[name](replace(s, logp_mu=s.logp_old + gap))).all()


@every_corrector
def test_nothing_to_correct(name):
    assert CORRECTORS[name](select_tokens(mixed(), torch.zeros(32, dtype=torch.bool))).shape == (0,)
    assert torch.isfinite(CORRECTORS[name](replace(mixed(), weight=torch.zeros(32).double()))).all()


@every_corrector
def test_a_token_that_the_policy_did_not_sample_has_no_gap(name):
    s = mixed()
    foreign = torch.full_like(s.origin, int(Origin.TEACHER))
    assert CORRECTORS[name](replace(s, origin=foreign, logp_mu=torch.zeros(32).double())).tolist() == [1.0] * 32


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("truncated_is", {"cap": 0.5}, "at least 1"),
        ("masked_is", {"level": "row"}, "level"),
        ("icepop", {"low": 1.5}, "must contain 1"),
        ("geometric_band", {"high": 0.9}, "must contain 1"),
        ("opsm", {"delta": -1.0}, "delta"),
    ],
)
def test_wrong_parameters_are_refused(name, params, words):
    with pytest.raises(InputError, match=words):
        of(name, [1.0], params=params)
