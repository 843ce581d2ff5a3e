"""Integers, against Python's own."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.rewards import verify

# A busy machine is no defect.
untimed = settings(deadline=None)


@untimed
@given(st.integers(-(10**30), 10**30), st.text(max_size=40))
def test_integer_accepts_its_own_print_and_only_equal_values(reference: int, answer: str):
    assert verify("integer", str(reference), reference).success
    assert not verify("integer", str(reference + 1), reference).success
    verdict = verify("integer", answer, reference)
    assert not verdict.success or int(answer) == reference
