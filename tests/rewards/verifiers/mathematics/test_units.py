"""Letters behind a number: variables on both sides, or a unit of one number on both sides, never of a sum."""

from __future__ import annotations

import re

import pytest
from palaestra.errors import InputError
from palaestra.rewards import verify
from palaestra.rewards.audit import fuzz, measure_fuzz
from palaestra.rewards.verifiers.mathematics.units import UNITS

# Those that are words are no products of variables.
WORDS = {"in", "min", "sec", "day"}
LETTERS = sorted(name for name in UNITS if len(name) <= 3 and name.isascii() and name.isalpha() and name not in WORDS)


def right(answer: str, reference: str, **options: object) -> bool:
    verdict = verify("math", answer, reference, **options)
    assert verdict.valid
    return verdict.success


def without_unit_letters(text: str) -> str:
    """The same expression with variables that are no units."""
    return re.sub(r"(?<![\\a-z])[msgVkc]+", lambda run: run[0].translate(str.maketrans("msgVkc", "abdwvz")), text)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        *(("3m", "1+2m"), ("-2s", "3-5s"), ("300cm", "1+2m"), ("3m+1", "1+2m"), ("3 m", "1 + 2 m"), ("3cm", "1+2cm")),
        *((r"3\text{ m}", r"1+2\text{ m}"), (r"(2+\sqrt3)m", r"2+\sqrt3 m"), (r"3\pi m", r"2\pi + \pi m")),
        *(("y=3m", "y=1+2m"), ("x<3m", "x<1+2m"), ("(3m, 1)", "(1+2m, 1)"), (r"\{3m\}", r"\{1+2m\}")),
        *(("(200cm, m+1)", "(2m, m+1)"), ("(2m, 1)", "(2, m)"), ("500", "5m"), ("5", "5m"), ("5m", "5"), ("5x", "5m")),
    ],
)
def test_a_unit_belongs_to_one_number_and_not_to_a_sum(answer: str, reference: str):
    assert not right(answer, reference)
    assert not right(reference, answer)


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        *(("2m+1", "1+2m"), ("m*5", "5m"), (r"\frac{5m}{2}", "2.5m"), ("(2m)^2", "4m^2"), ("(3m)(2)", "6m")),
        *(("2(3m)+1", "6m+1"), ("2y=10m", "y=5m"), ("2x<10m", "x<5m"), (r"5\text{m}", "m*5"), ("3m:6m", "1:2")),
        *(("±5m", "5m or -5m"), ("|5m|", "5|m|"), (r"\sqrt{4m}", r"2\sqrt{m}"), ("(3m)g*2", "6gm"), ("5 m s", "5 s m")),
        *(("-5s+3a", "3a-5s"), ("1/2 m", "m/2"), ("8kg", "5kg+3kg"), ("-3V", "V*(-3)")),
    ],
)
def test_letters_of_units_are_variables_as_others_are(answer: str, reference: str):
    assert right(answer, reference)
    assert right(without_unit_letters(answer), without_unit_letters(reference))


@pytest.mark.parametrize("name", LETTERS)
def test_every_unit_of_up_to_three_letters_may_be_variables(name: str):
    for answer, reference in ((f"2 {name} + 1", f"1 + 2 {name}"), (f"7 - 2 {name}", f"-2 {name} + 7")):
        assert right(answer, reference)
    assert not right(f"3 {name}", f"1 + 2 {name}")
    assert not right(f"1 + 2 {name}", f"3 {name}")


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        *(("500 cm", "5m"), ("500cm", "5 m"), ("(200cm, 3m)", "(2m, 300cm)"), ("x=500cm", "x=5m"), ("x=5m", "5m")),
        *(
            (r"\frac{3}{2} m", "150 cm"),
            ("3/2m", r"\frac{3}{2}m"),
            ("36 km/h", "10 m/s"),
            ("5 kg m/s^2", "5 N"),
            ("(2+3) cm", "5 cm"),
        ),
        *((r"4+2\sqrt3 \text{ cm}", r"(4+2\sqrt3) \text{ cm}"), (r"4+2\sqrt3 cm", r"40+20\sqrt3 \text{ mm}")),
        *((r"2x+3 \text{ cm}", r"(3+2x) \text{ cm}"), ("2x cm", r"2x \text{ cm}"), ("5 hr", "300 min")),
    ],
)
def test_amounts_are_compared_in_their_units(answer: str, reference: str):
    assert right(answer, reference)


def test_a_sum_that_can_be_worked_out_takes_no_unit():
    assert not right("1+2 metres", "3 metres")
    with pytest.raises(InputError, match="brackets around the sum"):
        verify("math", "3 metres", "1+2 metres")
    assert right("(1+2) metres", "3 metres")


def test_a_unit_may_be_left_out_of_an_amount_and_a_variable_of_nothing():
    assert right("5", "5 cm", units="optional")
    assert not right("3", "1+2m", units="optional")
    assert not right("5", "5x", units="optional")
    # Data sets leave units out, but a single letter is as often a variable.
    assert right("22.1", "22.1cm^2", policy="dataset")
    assert right("22.1", r"22.1\mathrm{~m}", policy="dataset")
    assert not right("3", "3s^2", policy="dataset")
    assert not right("1.5", "3/2m", policy="dataset")


def test_random_expressions_with_letters_of_units_are_judged_as_they_should():
    result = measure_fuzz(300, 300, seed=3)
    assert result.refused == result.accepted == result.undecided == ()


def test_the_same_under_the_policy_of_data_sets():
    result = measure_fuzz(60, 150, seed=4, grade=lambda *pair: verify("math", *pair, policy="dataset"))
    assert result.refused == result.accepted == result.undecided == ()


@pytest.mark.parametrize(
    ("answer", "reference", "good"),
    [
        *(("x = 5 km = 5000 m", "5 km", True), ("5 km = 500 m", "5 km", False), ("2 l = 3 l", "3 l", False)),
        *(("2l = k - 3W", "k - 3W", False), ("2 l = k - 3W", "l = k - 3W", False), ("2 kg = 2 m", "2 m", False)),
    ],
)
def test_links_of_a_chain_are_amounts_that_may_be_equal(answer: str, reference: str, good: bool):
    assert right(answer, reference, policy="dataset") == good


def test_a_fuzz_depends_on_its_seed_alone():
    assert list(fuzz(20, 5)) == list(fuzz(20, 5)) != list(fuzz(20, 6))
    assert {pair.right for pair in fuzz(20, 5, right=False)} == {False}
