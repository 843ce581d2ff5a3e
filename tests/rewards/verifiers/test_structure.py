"""Printed values of programs, compared as values."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.rewards import verify


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("{'a': (1, True), 'b': None}", {"a": [1, True], "b": None}),
        ('{"b": null, "a": [1, true]}', {"a": (1, "True"), "b": "null"}),
        ('"[1, {\\"x\\": 2}]"', [1, {"x": 2}]),
        ("True", True),
        ("true", "True"),
        ("hello", "hello"),
        ("'he\\'s'", "he's"),
        ("(1, 2,)", [1, 2]),
        ("'\\x41\\n'", "A\n"),
        ("1.0", 1),
        ("[]", ()),
    ],
)
def test_equal_structures(text: str, reference: Any):
    assert verify("structure", text, reference).success


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        *(("1", True), ("True", 1), ("[1, 2]", [2, 1]), ("'1'", 1), ("[1, 2]", [1, 2, 3]), ("0.1", 0.10000000001)),
        *(("1 + 1", 2), ("[i for i in (1, 2)]", [1, 2]), ("[,]", []), ("(,)", []), ("[1,,]", [1]), ("1\n2", 1)),
        *(("__import__('os').getpid()", 1), ("{1, 2}", [1, 2]), ("hello", "Hello"), ("none", None), ("None", False)),
    ],
)
def test_unequal_structures(text: str, reference: Any):
    assert not verify("structure", text, reference).success
