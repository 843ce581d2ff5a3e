"""Ablations find the parts of a text that a scorer reads."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import pytest
from palaestra.errors import InputError
from palaestra.rewards.audit.ablations import ablate, calibration_error, remove_mathematics, remove_words

PAIRS = [
    (
        f"What is {n} + 3?",
        f"We add three to it.\n{n} + 3 = {n + 3}\nAnswer: {n + 3}",
        f"We add.\n{n} + 3 = {n}\nAnswer: {n}",
    )
    for n in range(10, 20)
]


def reads_equations(prompts: Sequence[str], responses: Sequence[str]) -> list[float]:
    """Score by the sum of the equations alone: the share that is true."""
    found = [re.findall(r"(\d+) \+ (\d+) = (\d+)", text) for text in responses]
    return [float(sum(int(a) + int(b) == int(c) for a, b, c in rows)) for rows in found]


def test_a_scorer_of_equations_needs_no_words_and_all_of_the_mathematics():
    rows = {row.name: row for row in ablate(reads_equations, PAIRS)}
    assert rows["full"].accuracy == rows["no words"].accuracy == rows["no context"].accuracy == 1.0
    assert rows["no words"].correlation == pytest.approx(1.0)
    full = reads_equations([], [text for _, *both in PAIRS for text in both])
    assert full == reads_equations([], [remove_words(text) for _, *both in PAIRS for text in both])
    assert set(reads_equations([], [remove_mathematics(text) for _, *both in PAIRS for text in both])) == {0.0}
    assert rows["no mathematics"].accuracy == 0.5
    assert rows["no mathematics"].drop == 0.5
    assert math.isnan(rows["no mathematics"].correlation)


def test_a_scorer_of_length_is_seen_by_its_last_line():
    rows = {row.name: row for row in ablate(lambda prompts, texts: [float(len(text)) for text in texts], PAIRS)}
    assert rows["full"].accuracy == 1.0
    assert rows["last line"].accuracy == 0.5


def test_words_and_mathematics_are_told_apart():
    text = "So x is 12:\n3x + 4 = 40 because 36 + 4 = 40."
    assert remove_words(text) == "x 12:\n3x + 4 = 40 36 + 4 = 40."
    assert remove_mathematics(text) == "So is :\nbecause"


def test_calibration_compares_confidence_with_the_share_of_right_ones():
    assert calibration_error([0.0, 0.0]) == 0.0
    always = 50.0
    assert calibration_error([always] * 3 + [-always]) == pytest.approx(0.25)
    assert calibration_error([math.log(3)] * 3 + [-math.log(3)]) == pytest.approx(0.0)


def test_pairs_are_needed():
    with pytest.raises(InputError, match="at least one pair"):
        ablate(reads_equations, [])
