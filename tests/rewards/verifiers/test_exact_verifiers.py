"""The verifiers "integer", "number", "text" and "countdown" on answers labelled by hand, and on
attacks: no false positive and no false negative."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import VERIFIERS, verify

# A busy machine is no defect.
untimed = settings(deadline=None)


# kind, reference, right, wrong, malformed
SHEET: list[tuple[str, Any, list[str], list[str], list[str]]] = [
    (
        "integer",
        42,
        ["42", " 42\n", "+42", "0042", "\t42"],
        ["-42", "142", "4", "0", "420", "43"],
        [
            *("", " ", "4 2", "42.", "42.0", "4_2", "4,2", "0x2a", "forty-two", "42 43", "--42", "+-42", "42\n43"),
            *("\u0664\u0662", "\uff14\uff12", "4\u00b2", "\u200b42", "42abc", "None", "True", "1e1", "=42", "42;", "+"),
        ],
    ),
    ("integer", -7, ["-7", "-07", " -7 "], ["7", "+7", "-70"], ["- 7", "\u22127", "(-7)", "7-"]),
    ("integer", 0, ["0", "-0", "+0", "000"], ["1", "-1"], ["", "."]),
    (
        "number",
        Fraction(3, 4),
        ["3/4", "6/8", "0.75", ".75", "+3/4", " 3 / 4 ", "0.750", "00.75"],
        ["-3/4", "4/3", "0.7500001", "0.7", "3", "75", "34"],
        [
            *("", "3/0", "0/0", "3/4/1", "3/-4", "75%", "7.5e-1", "3:4", "3\\4", "1 3/4", "0.75.0", ".", "/", "nan"),
            *("\u00be", "inf", "three quarters", "3//4", "\\frac{3}{4}", "\u0663/4", "3/\u0664", "x = 3/4"),
        ],
    ),
    ("number", 5, ["5", "5.0", "10/2", "5.", "0005"], ["-5", "5.01", "50"], ["5 cm", "$5", "5,0", "1_0/2"]),
    ("number", "-7/3", ["-7/3", "-14/6"], ["7/3", "-2.333333333333"], ["-(7/3)", "\u22127/3", "- 7/3"]),
    (
        "text",
        "Caf\u00e9 au lait",
        ["caf\u00e9 au lait", " CAF\u00c9  AU\nLAIT ", "cafe\u0301 au lait", "caf\u00e9 au lait."],
        ["cafe au lait", "caf\u00e9 au lait?", "au lait", "caf\u00e9aulait", "caf\u00e9 au lait caf\u00e9 au lait"],
        ["", "  \n", "x" * 50_000],
    ),
    (
        "countdown",
        {"numbers": [3, 5, 25, 5], "target": 60},
        ["(25 - 5) * 3", "3*(25-5)", "((25)-(5))*3", " (25 - 5)\t* 3 ", "(25 - 5) * (3)"],
        ["25 * 3", "25 + 5", "25 - 5 * 3", "5 / 3", "3 - 5", "25 * 3 - 5 - 5"],
        [
            *(
                "",
                "()",
                "60",
                "(25 - 5) * 3 = 60",
                "25 * 3 - 5 - 5 - 5",
                "15 * 4",
                "(25 - 5) * 3 + 0",
                "25 5",
                "25 -",
                "* 3",
            ),
            *(
                "(25 - 5 * 3",
                "25 - 5) * 3",
                "3 ** 25",
                "9**9**9",
                "25 // 5",
                "3 / (5 - 5)",
                "-5 + 25",
                "3e0 * 20",
                "2 5 * 3",
            ),
            *(
                "\uff12\uff15 - 5",
                "(25 \u2212 5) * 3",
                "(25 - 5) \u00d7 3",
                "(25 - 5)\n* 3",
                "[25 - 5] * 3",
                "(25 - 5) * 3;",
            ),
            *(
                "(25 \u2212 5) * 3",
                "__import__('os').getpid()",
                "(25 - 5) * 3 # yes",
                "1*2*3*4",
                "99**98**97",
                "05 * 3 * 4",
            ),
        ],
    ),
]


# Each of these made some scorer in the field hang, run code or give points; see the sheet above for the plain cases.
ATTACKS = [
    *("9" * 1_000_000, "(" * 1_000_000, "-" * 1_000_000, " " * 1_000_000, "1/" * 500_000, "1." + "0" * 999_999),
    *("9**9**9", "(" * 400 + "3" + ")" * 400, "open('{canary}','w').close()", "factorial(10**8)", "1e999999999"),
    *("__import__('os').system('touch {canary}')", "\0", "\ud800", "3" + "+3" * 2000, "(" * 60 + "3" + ")" * 60),
]


def rows(column: int) -> list[Any]:
    return [(kind, reference, answer) for kind, reference, *lists in SHEET for answer in lists[column]]


def test_the_rows_name_registered_verifiers_of_all_four_kinds():
    assert {row[0] for row in SHEET} >= {"integer", "number", "text", "countdown"}
    assert {row[0] for row in SHEET} <= set(VERIFIERS)


@pytest.mark.parametrize(("kind", "reference", "answer"), rows(0))
def test_right_answers_score_one(kind: str, reference: Any, answer: str):
    verdict = verify(kind, answer, reference)
    assert (verdict.score, verdict.success, verdict.valid, verdict.malformed) == (1.0, True, True, False)


@pytest.mark.parametrize(("kind", "reference", "answer"), rows(1))
def test_wrong_answers_score_zero_and_are_well_formed(kind: str, reference: Any, answer: str):
    verdict = verify(kind, answer, reference)
    assert (verdict.score, verdict.success, verdict.valid, verdict.malformed) == (0.0, False, True, False)
    assert verdict.feedback.endswith(".")


@pytest.mark.parametrize(("kind", "reference", "answer"), rows(2))
def test_malformed_answers_score_zero_and_say_what_is_wrong(kind: str, reference: Any, answer: str):
    verdict = verify(kind, answer, reference)
    assert (verdict.score, verdict.success, verdict.valid, verdict.malformed) == (0.0, False, True, True)
    assert verdict.feedback.endswith(".")
    assert len(verdict.feedback) < 200
    assert "\n" not in verdict.feedback


@pytest.mark.parametrize(("kind", "reference"), [(row[0], row[1]) for row in SHEET])
def test_attacks_score_zero_without_side_effect(kind: str, reference: Any, tmp_path: Any):
    canary = tmp_path / "canary"
    for attack in ATTACKS:
        verdict = verify(kind, attack.replace("{canary}", os.fspath(canary)), reference)
        assert verdict.score == 0.0
        assert len(verdict.feedback) < 200
    assert not canary.exists()


@pytest.mark.parametrize("kind", ["integer", "number", "text", "countdown"])
def test_an_answer_that_is_no_text_is_malformed(kind: str):
    for answer in (None, 42, b"42", ["42"]):
        assert verify(kind, answer, {"numbers": [1], "target": 1}).malformed  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        *(("integer", 4.0), ("integer", True), ("integer", "4"), ("number", 0.5), ("number", "1/0"), ("number", True)),
        *(("text", " "), ("text", 3), ("countdown", [1, 2]), ("countdown", {"numbers": [], "target": 1})),
        *(("countdown", {"numbers": [0, 1], "target": 1}), ("countdown", {"numbers": [1], "target": 1.0})),
    ],
)
def test_a_reference_that_cannot_be_used_is_the_callers_error(kind: str, reference: Any):
    with pytest.raises(InputError, match="reference"):
        verify(kind, "1", reference)


def test_unknown_verifier_names_the_nearest():
    with pytest.raises(InputError, match="'integer'"):
        verify("integr", "1", 1)


@untimed
@given(st.text(max_size=60), st.text(alphabet="0123456789+-*/() ", max_size=60))
def test_any_text_gets_a_verdict(anything: str, nearly: str):
    for kind, reference, *_ in SHEET:
        for answer in (anything, nearly):
            assert verify(kind, answer, reference).score in (0.0, 1.0)
