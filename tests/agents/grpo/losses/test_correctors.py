"""Correctors against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.scored import needs_of
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.components.surrogates.origins import select_tokens
from palaestra.agents.grpo.recipes.stages import CORRECTORS, WEIGHTS
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip
from .tokens import mixed, tokens  # isort: skip

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


def test_truncation_by_token_and_by_episode():
    assert of("importance", [0.5, 3.0]) == pytest.approx([0.5, 3.0])
    assert of("truncated_is", [0.5, 3.0]) == pytest.approx([0.5, 2.0])
    assert of("truncated_is", [0.5, 3.0, 4.0], [2, 1], params={"level": "sequence"}) == pytest.approx([1.5, 1.5, 2.0])


def test_no_row_is_dropped_for_its_length():
    # Trap 7: 200 tokens of c = 1.05 have a product of e^9.8; by token the factor stays 1.05, and so does their mean.
    long = [1.05] * 200
    assert of("truncated_is", long) == pytest.approx(long)
    assert of("geometric_band", long, params={"low": 0.9, "high": 1.1}) == [1.0] * 200
    assert of("product_band", long) == [0.0] * 200


def test_masking_by_token_and_by_episode():
    assert of("masked_is", [0.5, 3.0]) == pytest.approx([0.5, 0])
    assert of("masked_is", [1.5, 3.0, 1.2], [2, 1], params={"cap": 3.0, "level": "sequence"}) == pytest.approx(
        [0, 0, 1.2]
    )


def test_icepop_drops_on_both_sides():
    assert of("icepop", [0.4, 0.6, 4.0, 6.0]) == pytest.approx([0, 0.6, 4.0, 0])


def test_the_geometric_band_judges_the_mean():
    # 2 and 1/2 have mean 1; 1.04 and 1 have mean 1.0198
    assert of("geometric_band", [2.0, 0.5, 1.04, 1.0], [2, 2]) == [1, 1, 0, 0]


def test_the_product_band_judges_the_product():
    assert of("product_band", [1.5, 1.2, 1.5, 1.5], [2, 2]) == [1, 1, 0, 0]


def test_one_impossible_token_drops_the_episode():
    assert of("outlier_token", [1.0, 5e-5, 1.0], [2, 1]) == [0, 0, 1]
    assert of("outlier_token", [1.0, 5e-5], weight=[1.0, 0.0]) == [1, 1]


def test_opsm_drops_failures_that_the_policy_has_left():
    # mean of log mu - log pi: .15, .05 and .15
    s = tokens([-1.2, -1.1, -1.05, -1.2, -1.1], -1.0, [-1, -1, -1, 1, 1], [2, 1, 2], logp_mu=-1.0)
    assert CORRECTORS["opsm"](s, delta=0.1).tolist() == [0, 0, 1, 1, 1]


def test_m2po_drops_the_largest_until_the_mean_square_fits():
    # squares .01, .04, .09, .25: means .01, .025, .0467, so two are kept at .04 and three at .05
    s = tokens([-1.1, -0.8, -1.3, -0.5], -1.0, [-1, 1, -1, 1], logp_mu=-1.0)
    assert CORRECTORS["m2po"](s, limit=0.04).tolist() == [1, 1, 0, 0]
    assert CORRECTORS["m2po"](s, limit=0.05).tolist() == [1, 1, 1, 0]
    assert CORRECTORS["m2po"](s, limit=0.005).tolist() == [0, 0, 0, 0]


def test_m2po_spares_tokens_that_move_back():
    # as in a clip: those that moved against their advantage, or have none, are neither dropped nor counted
    s = tokens([-1.5, -0.5, -0.5, -1.1, -1.3], -1.0, [1, -1, 0, -1, -1], logp_mu=-1.0)
    assert CORRECTORS["m2po"](s, limit=0.04).tolist() == [1, 1, 1, 1, 0]


def test_m2po_treats_equal_tokens_alike():
    s = tokens([-1.1, -1.3, -0.7], -1.0, [-1, -1, 1], logp_mu=-1.0)
    kept = CORRECTORS["m2po"](s, limit=0.05 + 1e-9).tolist()
    assert kept == [1, 0, 0]


def test_normalised_weights_have_mean_one_over_trained_tokens():
    factors = of("normalised_is", [0.5, 1.5, 4.0], weight=[1.0, 1.0, 0.0])
    assert factors[:2] == pytest.approx([0.5, 1.5])
    assert of("normalised_is", [0.5, 4.0]) == pytest.approx([0.4, 1.6])


def test_two_correctors_multiply():
    parts = {"first": CORRECTORS["geometric_band"], "second": CORRECTORS["truncated_is"]}
    assert of("both", [4.0, 0.25, 1.5], [2, 1], params=parts) == pytest.approx([2.0, 0.25, 0.0])


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


def test_older_episodes_count_less():
    rows = [trajectory(1, [([5], [6, 7])], version=v) for v in (10, 8, -1)]
    batch = collate([group(*rows)])
    weight = WEIGHTS["version_decay"](batch, torch.zeros(len(batch.ids)), decay=0.5)
    assert weight.tolist() == [1.0] * 3 + [0.25] * 3 + [1.0] * 3
