"""The five scorers of Guru on hostile text, off the main thread, and with unusable references."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.errors import InputError
from palaestra.rewards import Verdict, verify

ZEBRA = {"house 1": {"colour": "red", "pet": "dog"}, "house 2": {"colour": "blue", "pet": "cat"}}


SCORERS: list[tuple[str, Any]] = [
    ("cells", ZEBRA),
    ("ordering", ["a", "b"]),
    ("grid", [[1, 2], [3, 4]]),
    ("structure", {"a": [1]}),
    ("first-word", "x"),
]


ATTACKS = [
    *("", "\0", "\ud800", "[" * 200_000, "(" * 40_000, "{'a':" * 9_000, "9" * 1_000_000, "-" * 40_000, "'" * 40_000),
    *(
        "[[" + "1," * 20_000 + "1]]",
        "1 " * 20_000,
        "1\n" * 20_000,
        "a," * 40_000 + "a",
        '"' + '\\"' * 24_000,
        "a" * 10**6,
    ),
    *("__import__('os').abort()", "\\" * 40_000, "[" + "[1]," * 10_000 + "[1]]", "{'a': " + "9" * 40_000 + "}"),
]


@pytest.mark.parametrize(("kind", "reference"), SCORERS)
def test_scorers_never_raise_nor_pay_on_hostile_text(kind: str, reference: Any):
    for attack in ATTACKS:
        verdict = verify(kind, attack, reference)
        assert verdict.score < 0.5
        assert not verdict.success
        assert len(verdict.feedback) < 200


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=60) | st.text(alphabet="[]{}()'\",: 12aTrue\\\n", max_size=60))
def test_scorers_never_raise_on_arbitrary_text(text: str):
    for kind, reference in SCORERS:
        assert 0.0 <= verify(kind, text, reference).score <= 1.0


def test_scorers_work_off_the_main_thread():
    verdicts: list[Verdict] = []
    answers = ['["a"]', "a, b", "1 2\n3 4", "{'a': [1]}", "x"]
    thread = threading.Thread(
        target=lambda: verdicts.extend(verify(kind, text, gold) for (kind, gold), text in zip(SCORERS, answers))
    )
    thread.start()
    thread.join()
    assert [verdict.success for verdict in verdicts] == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("kind", "reference"),
    [
        *(
            ("cells", {}),
            ("cells", [[], {}]),
            ("cells", "red"),
            ("cells", object()),
            ("ordering", []),
            ("ordering", "ab"),
            ("ordering", [1]),
        ),
        *(("grid", []), ("grid", [[1], [1, 2]]), ("grid", [[True]]), ("grid", "12"), ("structure", object())),
        *(("first-word", "two words"), ("first-word", ""), ("first-word", None)),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused(kind: str, reference: Any):
    with pytest.raises(InputError, match=r"reference|word"):
        verify(kind, "x", reference)
