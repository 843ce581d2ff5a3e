"""Counting agrees with Python, in this process and in the sandbox."""

from __future__ import annotations

import copy
import random
import sys
import warnings
from typing import Any, ClassVar

import pytest
from palaestra.envs.code.counting.counted_program import CountedProgram
from palaestra.envs.code.counting.meter import UNCOUNTED, WORK
from palaestra.envs.code.judging import operation_counts
from palaestra.envs.code.judging.operation_counts import CountedCall, count_operations
from palaestra.envs.sandbox import Limits, Result

from ..counting.counted_programs import programs
from ..sandboxed import needs_sandbox

MUCH = 200_000


def native(program: str, *arguments: Any) -> tuple[str, Any]:
    """The name of the error, or the value, when Python itself runs the program."""
    names: dict[str, Any] = {"__name__": "answer"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(program, "program.py", "exec"), names)
        return "", names["f"](*copy.deepcopy(arguments))
    except Exception as error:
        return type(error).__name__, None


def ours(program: str, *arguments: Any) -> tuple[str, Any]:
    try:
        return "", CountedProgram(program).call("f", copy.deepcopy(arguments), MUCH)[0]
    except Exception as error:
        return type(error).__name__, None


# Agreement with Python.


def test_there_are_enough_programs():
    assert len(set(programs())) >= 290


@pytest.mark.parametrize("program", programs())
def test_values_and_errors_are_those_of_python(program: str, deep_enough: None):
    expected, found = native(program), ours(program)
    assert found[0] == expected[0]
    assert repr(found[1]) == repr(expected[1])


@pytest.fixture
def deep_enough():
    """Functions that call themselves without end are to meet the limit of the programs, not that of this process."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


class Grammar:
    """Random expressions of names a to e that hold numbers, texts, lists, dicts and sets."""

    NAMES: ClassVar = {"a": 3, "b": -7, "c": "hello", "d": [3, 1, 2, 3], "e": {1: "x", 3: "y"}}
    NUMBER = (
        *("{n} + {n}", "{n} - {n}", "{n} * {n}", "{n} // {n}", "{n} % {n}", "-{n}", "abs({n})", "len({l})", "len({s})"),
        *("sum({l})", "max({l})", "min({n}, {n})", "{l}[{n}]", "{s}.count({s})", "{s}.find({s})", "{l}.count({n})"),
        *("{n} if {t} else {n}", "({n} and {n})", "({n} or {n})", "{n} & {n}", "{n} | {n}", "{n} ^ {n}", "~{n}"),
        *("divmod({n}, {n})[0]", "ord({s}[0])", "int({s})", "int(str({n}))", "len(e)", "round({n} / {n})", "a", "b"),
        *(
            "sum(v for v in {l} if v > {n})",
            "(lambda v: v + {n})({n})",
            "{l}.index({n})",
            "len(set({l}))",
            "(v := {n})",
        ),
    )
    TEXT = (
        *(
            "{s} + {s}",
            "{s} * ({n} % 4)",
            "{s}[{n}:{n}]",
            "{s}[::-1]",
            "str({n})",
            "{s}.upper()",
            "{s}.replace({s}, {s})",
        ),
        *('"".join(sorted({s}))', '"-".join(map(str, {l}))', 'f"{{{n}}}{{{s}!r}}"', '"%d %s" % ({n}, {s})', "c"),
        *("e.get({n}, {s})", "{s}.strip({s})", "repr({l})", '"{{}}:{{:>3}}".format({s}, {n})', "e[{n}]", "bin({n})"),
    )
    LIST = (
        *("{l} + {l}", "[{n}, {n}]", "sorted({l})", "{l}[::-1]", "{l}[{n}:]", "[v * {n} for v in {l}]", "[*{l}, {n}]"),
        *(
            "list(range({n} % 7))",
            "list(map(abs, {l}))",
            "[v for v in {l} if v % 2]",
            "list(e)",
            "{l} * ({n} % 3)",
            "d",
        ),
        *("sorted(set({l}))", "[ord(v) for v in {s}]", "[w for v in {l} for w in range(v % 3)]", "list({l} or [{n}])"),
        *("sorted({l}, key=lambda v: -v)", "[p + q for p, q in zip({l}, {l})]", "[i for i, v in enumerate({l})]"),
    )
    TRUTH = (
        *(
            "{n} < {n}",
            "{n} == {n}",
            "{n} in {l}",
            "{s} in {s}",
            "{l} < {l}",
            "{s} >= {s}",
            "{n} < {n} <= {n}",
            "not {n}",
        ),
        *("{n} in e", "any({l})", "all({l})", "{s}.isalpha()", "{l} == {l}", "{s}.startswith({s})", "{n} not in {l}"),
        *("{n} in set({l})", "isinstance({n}, int)", "any(v == {n} for v in {l})"),
    )

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.forms = {"n": self.NUMBER, "s": self.TEXT, "l": self.LIST, "t": self.TRUTH}

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0:
            number = str(self.rng.randint(0, 9))
            return {"n": self.rng.choice(["a", "b", number]), "s": "c", "l": "d", "t": "a < " + number}[kind]
        form = self.rng.choice(self.forms[kind])
        parts = form.replace("{{", "\0").replace("}}", "\1")
        for mark, sub in (("{n}", "n"), ("{s}", "s"), ("{l}", "l"), ("{t}", "t")):
            while mark in parts:
                parts = parts.replace(mark, f"({self.expression(sub, depth - 1)})", 1)
        return parts.replace("\0", "{").replace("\1", "}")


def test_random_expressions_have_the_values_and_errors_of_python():
    grammar, kinds = Grammar(random.Random(5)), {"": 0}
    given = ", ".join(Grammar.NAMES)
    for turn in range(3000):
        # Quotes within an f-string may be of the other kind only, in Python up to 3.11.
        text = grammar.expression(grammar.rng.choice("nslt"), turn % 4)
        program = f"def f({given}):\n    return {text}"
        try:
            compile(program, "program.py", "exec")
        except SyntaxError:
            continue
        expected, found = native(program, *Grammar.NAMES.values()), ours(program, *Grammar.NAMES.values())
        assert (found[0], repr(found[1])) == (expected[0], repr(expected[1])), text
        kinds[found[0]] = kinds.get(found[0], 0) + 1
    assert kinds[""] > 1500
    assert {"IndexError", "ValueError", "ZeroDivisionError", "KeyError"} <= set(kinds)


def test_each_call_begins_afresh():
    program = CountedProgram("seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)")
    assert [program.call("f", [1], MUCH) for _ in range(3)] == [(1, 13)] * 3


def test_a_function_that_is_not_there_is_an_error_of_names():
    with pytest.raises(NameError, match="'g'"):
        CountedProgram("def f(): pass").call("g", [], MUCH)


# In the sandbox.

LIMITS = Limits(seconds=20)


def in_sandbox(program: str, *cases: tuple[list[Any], int]) -> list[CountedCall]:
    found = count_operations(program, "f", cases, LIMITS)
    assert found is not None
    return found


@needs_sandbox
def test_the_sandbox_counts_as_this_process_does():
    program = "from math import gcd\ndef f(x, y=0):\n    return [sorted(x), {'a': (y, 1.5)}, gcd(12, 18), {3}, None]"
    (found,) = in_sandbox(program, ([[3, 1, 2], 7], 500))
    assert found == CountedCall(*CountedProgram(program).call("f", [[3, 1, 2], 7], 500))
    assert found.value == [[1, 2, 3], {"a": (7, 1.5)}, 6, {3}, None]


@needs_sandbox
@pytest.mark.parametrize(
    ("program", "error", "says"),
    [
        ("def f(n):\n    while n:\n        pass", WORK, "more than 900 steps"),
        ("class A: pass", UNCOUNTED, "class is not counted"),
        ("def f(n):\n    return 1 // (n - n)", "ZeroDivisionError", "zero"),
        ("def f(n:\n    return", "SyntaxError", ""),
        ("def f(n):\n    break", "SyntaxError", "outside loop"),
        ("def g(n):\n    return n", "NameError", "'f'"),
        ("f = 5", "TypeError", "not callable"),
        ("def f(n):\n    return f", "failed", "Function is no plain data"),
        ("def f(n):\n    return (v for v in [1])", "failed", "generator is no plain data"),
        ("def f(n):\n    return " + "(" * 1500 + "n" + ")" * 1500, "SyntaxError", ""),
    ],
)
def test_errors_come_back_by_name(program: str, error: str, says: str):
    (found,) = in_sandbox(program, ([1], 900))
    assert (found.value, found.steps, found.error) == (None, 0, error)
    assert says in found.message


@needs_sandbox
def test_calls_nest_as_deep_as_in_python():
    program = "def f(n):\n    if n > 0:\n        for _ in [1]:\n            return 1 + f(n - 1)\n    return 0"
    near, far = in_sandbox(program, ([950], MUCH), ([1100], MUCH))
    assert near.value == 950
    assert far.error == "RecursionError"
    program = "def g(n):\n    if n:\n        yield from g(n - 1)\n    yield n\ndef f(n):\n    return len(list(g(n)))"
    near, far = in_sandbox(program, ([450], MUCH), ([1100], 4 * MUCH))
    assert near.value == 451
    assert far.error == "RecursionError"


@needs_sandbox
@pytest.mark.parametrize("text", ["-" * 4000 + "n", "n" + "+n" * 1900, "n" + "[0]" * 1300, "not " * 1000 + "n"])
def test_the_longest_answers_of_one_kind_do_no_harm(text: str):
    (found,) = in_sandbox(f"def f(n):\n    return {text}", ([1], 20_000))
    assert found.error in ("", "failed", "RecursionError", "MemoryError", "SyntaxError", "TypeError")


@needs_sandbox
def test_another_python_gets_the_text_and_counts_alike(monkeypatch: pytest.MonkeyPatch):
    text = operation_counts._boot()
    monkeypatch.setattr(operation_counts, "_boot", lambda: text.replace("MAGIC_NUMBER ==", "MAGIC_NUMBER !="))
    program = "def f(x):\n    return sum(v * v for v in x)"
    assert in_sandbox(program, ([[1, 2, 3]], 500)) == [
        CountedCall(*CountedProgram(program).call("f", [[1, 2, 3]], 500))
    ]


def test_a_failed_sandbox_differs_from_a_failed_program(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(operation_counts, "run", lambda *_, **__: Result(reason="lost", valid=False))
    assert count_operations("def f(): pass", "f", [([], 9)], LIMITS) is None
