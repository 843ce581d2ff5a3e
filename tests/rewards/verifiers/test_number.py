"""Rational numbers, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.rewards import verify
from palaestra.rewards.answers.numbers import parse_number

# A busy machine is no defect.
untimed = settings(deadline=None)


@untimed
@given(st.fractions(), st.text(alphabet="0123456789./-+ ", max_size=12))
def test_number_agrees_with_exact_fractions(reference: Fraction, answer: str):
    assert verify("number", str(reference), reference).success
    value = parse_number(answer)
    if value is not None:
        assert Fraction("".join(answer.split())) == value
