"""Input of the wrong type or range from the task is an InputError, for every verifier."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import VERIFIERS, verify

GOOD: dict[str, Any] = {
    "cells": [["a"]],
    "choice": "A",
    "constraints": [{"kind": "words", "max": 5}],
    "countdown": {"numbers": [1, 2, 3], "target": 6},
    "first-word": "x",
    "format": ["think"],
    "grid": [[1]],
    "integer": 3,
    "interval": [1, 2],
    "json": {"a": 1},
    "list": ["a"],
    "number": 3,
    "ordering": ["a", "b"],
    "sql": {"schema": "CREATE TABLE t (a); INSERT INTO t VALUES (1);", "gold": "SELECT 1"},
    "structure": [1],
    "text": "x",
    "toolcall": {"name": "a"},
    "verdict": "A",
}
ODD: list[Any] = [
    *(None, True, 5, 1.5, float("nan"), float("inf"), 10**400, "x", "", "\ud800", b"x", object(), set(), ("a",), {}),
    *([], [1], [[1]], ["x"], [None], [{}], {"x": 1}, {"kind": ["x"]}, {"name": ["x"]}, [{"kind": ["x"]}]),
    *([{"kind": "words", "min": "x"}], [{"name": "a", "parameters": [1]}]),
]


def only_input_errors(kind: str, reference: Any, **options: Any) -> None:
    for answer in ("1", "A", '{"a": 1}'):
        try:
            verify(kind, answer, reference, **options)
        except InputError:
            continue


@pytest.mark.parametrize("kind", GOOD)
def test_odd_references_and_options_raise_nothing_but_input_errors(kind: str):
    pytest.importorskip("jsonschema")
    gold = GOOD[kind]
    assert verify(kind, "1", gold).valid
    for odd in ODD:
        only_input_errors(kind, odd)
        for key in gold if isinstance(gold, dict) else ():
            only_input_errors(kind, {**gold, key: odd})
        for name, parameter in inspect.signature(VERIFIERS[kind]).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                only_input_errors(kind, gold, **{name: odd})


@pytest.mark.parametrize(
    ("kind", "reference", "options"),
    [
        ("choice", "A", {"options": 5}),
        ("constraints", [{"kind": ["x"]}], {}),
        ("constraints", [{"kind": "words", "min": 5, "max": 3}], {}),
        ("countdown", {"numbers": 5, "target": 6}, {}),
        ("format", [[1]], {}),
        ("interval", [1, 2], {"threshold": "x"}),
        ("interval", [1, 2], {"threshold": 0}),
        ("interval", [1, 2], {"threshold": 1.5}),
        ("json", {}, {"schema": 5}),
        ("json", {}, {"seconds": 0}),
        ("list", ["a"], {"element": ["text"]}),
        ("sql", GOOD["sql"], {"seconds": "x"}),
        ("sql", GOOD["sql"], {"max_rows": 0}),
        ("verdict", "A", {"labels": None}),
        ("verdict", "A", {"labels": ["A", ["B"]]}),
    ],
)
def test_these_are_refused(kind: str, reference: Any, options: dict[str, Any]):
    with pytest.raises(InputError):
        verify(kind, "1", reference, **options)


def test_a_file_that_is_no_database_is_the_tasks_fault_whatever_the_answer(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("no database at all\n" * 100)
    for answer in ("nonsense", "SELECT 1"):
        with pytest.raises(InputError, match="no database"):
            verify("sql", answer, {"database": str(path), "gold": "SELECT 1"})
