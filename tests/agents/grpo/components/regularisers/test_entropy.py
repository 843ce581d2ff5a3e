"""Entropy against numbers worked out by hand."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.recipes.stages import REGULARISERS
from palaestra.errors import InputError

from ..tokens import tokens  # isort: skip


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


def test_an_entropy_target_outside_its_bounds_is_refused():
    with pytest.raises(InputError, match="start must lie"):
        REGULARISERS["entropy_target"](start=2.0)
