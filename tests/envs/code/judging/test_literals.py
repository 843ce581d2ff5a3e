"""Values and arguments read from the text of answers."""

from __future__ import annotations

import pytest
from palaestra.envs.code.judging.literals import read_arguments


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("f('a b')", "str", "a b"),
        ('f("a b")', "str", "a b"),
        ("f('')", "str", ""),
        ("'a, (b)'", "str", "a, (b)"),
        ("text = 'n'", "str", "n"),
        ("f(-7)", "int", -7),
        ("(7,)", "int", 7),
        ("f([])", "list", []),
        ("[1]", "list", [1]),
        ("1, 2", "list", [1, 2]),
    ],
)
def test_one_argument_is_read(text: str, kind: str, value: object):
    assert read_arguments(text, "f", [("text", kind)]) == (value,)
