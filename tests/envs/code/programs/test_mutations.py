"""Each kind of bug, on a line worked out by hand."""

from __future__ import annotations

import ast

import pytest
from palaestra.envs.code.programs.mutations import KINDS, apply_mutation, find_sites

LOOP = "for v in x:\n    y += v"
# (kind, code, everything that the kind makes of it)
BY_HAND: list[tuple[str, str, set[str]]] = [
    ("comparison at its boundary", "y = a < b", {"y = a <= b"}),
    ("comparison at its boundary", "y = a >= b", {"y = a > b"}),
    ("comparison the wrong way", "y = a <= b", {"y = a >= b"}),
    ("comparison negated", "y = a == b", {"y = a != b"}),
    ("comparison negated", "y = a not in b", {"y = a in b"}),
    ("sign", "y = a + b - c", {"y = a - b - c", "y = a + b + c"}),
    ("sign", "y += 1", {"y -= 1"}),
    ("arithmetic operator", "y = a * b // c % d", {"y = (a + b) // c % d", "y = a * b % c % d", "y = a * b // c // d"}),
    ("initial value", "y = 0", {"y = 1"}),
    ("initial value", "y = 7", {"y = 0"}),
    ("range", "y = range(n)", {"y = range(n - 1)", "y = range(1, n)"}),
    ("range", "y = range(a, b)", {"y = range(a, b - 1)"}),
    ("index", "y = x[i] + x[-1] + x[0]", {"y = x[i - 1] + x[-1] + x[0]", "y = x[i] + x[0] + x[0]"}
     | {"y = x[i] + x[-1] + x[-1]"}),
    ("slice", "y = x[::-1]", {"y = x[:]"}),
    ("slice", "y = x[2:]", {"y = x[:2]"}),
    ("slice", "y = x[:-2]", {"y = x[-2:]"}),
    ("constant", "y = 5 + True", {"y = 6 + True", "y = 4 + True"}),
    ("swapped arguments", "y = f(a, b) - a * b", {"y = f(b, a) - a * b", "y = a * b - f(a, b)"}),
    ("and for or", "y = a and b", {"y = a or b"}),
    ("and for or", "y = a or b", {"y = a and b"}),
    ("condition", "if a:\n    y = 1", {"if not a:\n    y = 1"}),
    ("condition", "y = 1 if not a else 2", {"y = 1 if a else 2"}),
    ("swapped branches", "if a:\n    y = 1\nelse:\n    y = 2", {"if a:\n    y = 2\nelse:\n    y = 1"}),
    ("swapped branches", "y = 1 if a else 2", {"y = 2 if a else 1"}),
    ("function", "y = min(sorted(x, reverse=True))", {"y = max(sorted(x, reverse=True))", "y = min(list(x))"}),
    ("function", "y = x.upper()", {"y = x.lower()"}),
    ("missing option", "y = sorted(x, reverse=True)", {"y = sorted(x)"}),
    ("missing statement", LOOP, {"for v in x:\n    pass"}),
    ("missing statement", "if a:\n    return 1", {"pass"}),
    ("missing statement", "y.append(v)\ny = 1", {"y = 1"}),
    ("overwritten", LOOP, {"for v in x:\n    y = v"}),
    ("missing filter", "y = [v for v in x if v > 1]", {"y = [v for v in x]"}),
    ("variable", "y = i + v", {"y = v + v", "y = i + i"}),
    ("loop left early", LOOP, {"for v in x:\n    y += v\n    break"}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "code", "wanted"), BY_HAND)
def test_a_bug_is_put_where_its_kind_says(kind: str, code: str, wanted: set[str]):
    assert {apply_mutation(code, site) for site in find_sites(code) if site.kind == kind} == wanted


def test_every_kind_is_among_those_worked_out_by_hand():
    assert {kind for kind, _, _ in BY_HAND} == set(KINDS)
    assert len(KINDS) == 21


def test_code_without_a_place_for_a_bug_is_left_alone():
    assert find_sites("y = x") == ()


def test_every_mutant_is_written_as_python_writes_it():
    for _, code, _ in BY_HAND:
        for site in find_sites(code):
            changed = apply_mutation(code, site)
            assert ast.unparse(ast.parse(changed)) == changed
            assert apply_mutation(code, site) == changed
