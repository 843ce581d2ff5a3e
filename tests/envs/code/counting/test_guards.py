"""Attacks on the meter of programs that Python runs, and the order in which rewritten operations are evaluated."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.envs.code.counting.counted_program import CountedProgram
from palaestra.envs.code.counting.meter import OutOfWork, Uncounted

MUCH = 200_000


def call(program: str) -> Any:
    return CountedProgram(program).call("f", [], MUCH)[0]


def indent(text: str) -> str:
    return text.replace("\n", "\n    ")


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    return __builtins__",
        "def f():\n    global __builtins__\n    __builtins__ = {'.charge': lambda n: True}",
        "__builtins__ = {}\ndef f():\n    pass",
        "__ｂuiltins__ = {}\ndef f():\n    pass",
        "import math as __builtins__\ndef f():\n    pass",
        "for __builtins__ in [{}]:\n    pass\ndef f():\n    pass",
        "def f(__builtins__):\n    pass",
        "def __builtins__():\n    pass",
        "(__builtins__ := {})",
        "try:\n    pass\nexcept ValueError as __builtins__:\n    pass",
        "del __builtins__",
    ],
)
def test_the_dictionary_of_the_guards_is_out_of_reach(program: str):
    with pytest.raises(Uncounted, match="__builtins__"):
        CountedProgram(program)


def test_names_like_those_of_guards_are_a_programs_own():
    assert call("def f():\n    charge = Add = function = 1\n    return charge + Add + function") == 3
    assert call("def g(**k):\n    return k\ndef f():\n    return g(**{'.charge': 1})") == {".charge": 1}
    assert (
        call("def g(meter, function):\n    return meter - function\ndef f():\n    return g(function=1, meter=3)") == 2
    )


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "(v for v in []).gi_frame",
            "(v for v in []).send(None)",
            "g().gi_code",
            "g().throw(ValueError)",
            "g().close()",
        ),
        *("f.run", "f.__globals__", "f.__builtins__", "len.run", "int.kind", "math.names", "math.name", "math + ()"),
        *("[*math]", "math[1]", "'%s %s' % math", "f'{f.__code__}'", "'{0.run}'.format(f)", "e.__traceback__"),
        *("e.__context__", "e.name", "e.with_traceback(None)"),
    ],
)
def test_nothing_of_the_running_program_is_in_reach(expression: str):
    program = (
        "import math\ndef g():\n    yield 1\ndef f():\n    try:\n        z\n    except NameError as e:\n        {}"
    )
    with pytest.raises((Uncounted, AttributeError, TypeError)):
        call(program.format(f"return {expression}"))


@pytest.mark.parametrize(
    "body",
    [
        "try:\n    while True:\n        pass\nfinally:\n    return 1",
        "while True:\n    try:\n        list(range(10**9))\n    finally:\n        continue",
        "while True:\n    try:\n        list(range(10**9))\n    finally:\n        break",
        "try:\n    try:\n        list(range(10**9))\n    finally:\n        raise ValueError\nexcept:\n    pass",
        "try:\n    try:\n        list(range(10**9))\n    except 1 // 0:\n        pass\nexcept:\n    pass",
        "while 1:\n    'a text'",
        "while 1:\n    global x",
        "x = [1]\nfor v in x:\n    x.append(v)",
        "return [0 for _ in itertools.repeat(0) if 0]",
        "return any(0 for _ in itertools.repeat(0))",
        "return -1 in itertools.count()",
        "a, *b = itertools.count()",
        "a, *b = range(10**12)",
        "return max(*range(10**12))",
        "return next(filter(None, itertools.repeat(0)))",
        "return f'{1:{10**9}}'",
        "return ('a' * 4000) * 4000",
        "x: int\nx = [0]\nx[[v for v in x for w in x if x.append(w)]]: int = 1",
    ],
)
def test_loops_and_handlers_do_not_outlast_the_meter(body: str):
    with pytest.raises(OutOfWork):
        call(f"import itertools\ndef f():\n    {indent(body)}")


@pytest.mark.parametrize("body", ["return 1", "raise ValueError", "x = 1"])
def test_final_statements_do_not_hide_what_is_not_counted(body: str):
    with pytest.raises(Uncounted, match="eval"):
        call(f"def f():\n    try:\n        eval('1')\n    finally:\n        {body}")


def test_a_target_without_a_value_is_not_evaluated():
    assert call("def f():\n    x = [1]\n    x[g()]: int\n    x[0]: undefined = 5\n    return x") == [5]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("return 1 < p(2) < p(3) < p(1) < p(9), r", (False, [2, 3, 1])),
        ("return 1 < (a := p(2)) < (b := 3) < (c := a + b), a, b, c", (True, 2, 3, 5)),
        ("return [x for x in ([1] if 0 < p(1) < 2 else [2])]", [1]),
        ("return [0 < v + 1 < (q := 3) for v in range(4)], q", ([True, True, False, False], 3)),
        (
            "try:\n    0 < p(1) < 1 // 0\nexcept ZeroDivisionError:\n    return 0 < p(2) < 3 < p(4), r",
            (True, [1, 2, 4]),
        ),
        ("x = [0, 0]\nx[p(0)] = p(1)\nx[p(1)] += p(5)\nreturn r, x", ([1, 0, 1, 5], [1, 5])),
        ("x = [0, 0]\ni, x[i] = 1, 5\nx[i], i = 7, 0\nreturn x, i", ([0, 7], 0)),
        ("x = [0]\nfor x[0], (a, *b) in [(1, (2, 3, 4))]:\n    pass\nreturn x, a, b", ([1], 2, [3, 4])),
        ("return [(a, b, c) for a, (b, *c) in [(1, (2, 3, 4))]]", [(1, 2, [3, 4])]),
        ("a, (b, c) = [v for v in [1, (2, 3)]]\nreturn a, b, c", (1, 2, 3)),
        ("max(p(1), *[p(2), p(3)], key=lambda v: p(-v))\nreturn r", [1, 2, 3, -1, -2, -3]),
        ("def g(a=p(1), *, b=p(2)):\n    return a + b\nreturn g(), r", (3, [1, 2])),
        ("@p\n@p\ndef g():\n    return 5\nreturn g(), len(r), r[0] is r[1]", (5, 2, True)),
        ("g = (r.append(v) or v for v in [1, 2])\nr.append(9)\nreturn list(g), r", ([1, 2], [9, 1, 2])),
        ("def g():\n    return len(q)\nq = [1]\nreturn g(), [len for len in [1]], len(q)", (1, [1], 1)),
        ("try:\n    return 1\nfinally:\n    p(2)", 1),
    ],
)
def test_operations_are_evaluated_in_the_order_of_python(body: str, value: Any):
    head = "def f():\n    r = []\n    def p(v):\n        r.append(v)\n        return v\n    "
    assert call(head + indent(body)) == value
    names: dict[str, Any] = {}
    exec(head + indent(body), names)
    assert names["f"]() == value


def test_a_name_of_python_that_the_program_replaces_is_the_programs():
    assert call("def len(x):\n    return 7\ndef f():\n    return len([])") == 7
    assert call("def f():\n    return len([])\ndef g():\n    global len\n    len = max\ng()\nlen = lambda x: 3") == 3
    assert call("def f():\n    global len\n    len = max\n    del len\n    return len([1])") == 1


def test_the_tables_of_modules_do_not_outlast_a_call():
    program = CountedProgram("import math\ndef f():\n    return {math: 1}[math], str(math)[:6]")
    assert program.call("f", [], MUCH) == program.call("f", [], MUCH)
