"""What steps cost, that no work is free, and that nothing of Python is in reach."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest
from palaestra.envs.code.counting.counted_program import CountedProgram
from palaestra.envs.code.counting.meter import OutOfWork, Uncounted

MUCH = 200_000


def steps(program: str, *arguments: Any, most: int = MUCH) -> int:
    return CountedProgram(program).call("f", copy.deepcopy(arguments), most)[1]


def steps_of(expression: str, *arguments: Any) -> int:
    """What an expression of x (and y) costs, beyond an empty function."""
    names = "xy"[: len(arguments)]
    given = ", ".join(names)
    head = f"import math, itertools, collections, bisect, heapq\ndef f({given}):\n    return "
    return steps(head + expression, *arguments) - steps(head + "x", *arguments)


# What things cost.


@pytest.mark.parametrize(
    ("body", "cost"),
    [
        ("pass", 1),
        ("'a text alone'\npass", 1),
        ("return 1", 2),
        ("return 1 + 2 * 3", 6),
        ("x = 1", 2),
        ("x, y = 1, 2", 1 + 3 + 2),
        ("x = 1\nx += 2", 2 + 3),
        ("if 0:\n    x = 1\nelse:\n    x = 2", 2 + 2),
        ("for i in range(3):\n    pass", 1 + 3 + 3 * (1 + 1)),
        ("x = 3\nwhile x > 0:\n    x -= 1", 2 + 1 + 4 * 3 + 3 * 3),
        ("return [i for i in range(4)]", 1 + 1 + 3 + 4 * (1 + 1)),
        ("return [i for i in range(4) if i]", 1 + 1 + 3 + 4 * (1 + 1) + 3),
        ("return 0 and 1 / 0", 1 + 2),
        ("return 1 and 2", 1 + 2 + 1),
        ("return 1 if 0 else 2", 1 + 2 + 1),
        ("return 1 < 2 < 3", 1 + 3 + 1 + 1),
        ("return (lambda v: v)(1)", 1 + 1 + 1 + 1 + 1),
        ("def g(v):\n    return v\nreturn g(1)", 1 + 1 + 3 + 2),
        ("return [1, 2][0]", 1 + 1 + 3 + 1),
        ("try:\n    x = [][0]\nexcept IndexError:\n    x = 1", 1 + 4 + 1 + 2),
        ("import math\nreturn math.pi", 1 + 1 + 2),
        ("return max(3, 4)", 1 + 4 + 2),
        ("return f'{1}'", 1 + 1 + 1 + 1 + 1 + 1),
        ("del [1][0]", 1 + 2 + 1 + 1),
    ],
)
def test_steps_counted_by_hand(body: str, cost: int):
    program = "def f():\n    " + body.replace("\n", "\n    ")
    assert steps(program) - 2 == cost  # the definition, and the call


# Of an expression of x, a list or text of that many items: what it costs for each item, and for none.
PER_ITEM = [
    *[("sum(x)", 1), ("min(x)", 1), ("max(x)", 1), ("list(x)", 1), ("tuple(x)", 1), ("set(x)", 1), ("x[:]", 1)],
    *[("x + x", 2), ("x * 3", 3), ("x == list(x)", 2), ("-1 in x", 1), ("x.count(1)", 1), ("x.copy()", 1)],
    *[("x.reverse()", 1), ("x.insert(0, 1)", 1), ("x.pop(0)", 1), ("any(v < 0 for v in x)", 5), ("x.index(x[-1])", 1)],
    *[("x.append(1)", 0), ("x.pop()", 0), ("len(x)", 0), ("x[5]", 0)],
    *[("5 in dict.fromkeys(x)", 1), ("list(map(abs, x))", 2), ("list(zip(x, x))", 3), ("list(enumerate(x))", 2)],
    *[("list(reversed(x))", 1), ("x.extend(x)", 1), ("[*x]", 1), ("collections.Counter(x)", 1)],
    *[
        ("collections.deque(x)", 1),
        ("heapq.heapify(x)", 2),
        ("math.prod(x[:0])", 0),
        ("list(itertools.chain(x, x))", 4),
    ],
    *[("list(itertools.accumulate(x))", 2), ("list(itertools.pairwise(x))", 4), ("frozenset(x)", 1), ("x[1:-1]", 1)],
    *[
        ("len({v for v in x})", 2),
        ("{v: v for v in x}", 3),
        ("x.remove(x[-1])", 1),
        ("x.clear()", 1),
        ("reversed(x)", 0),
    ],
    *[("bisect.insort(x, -1)", 1), ("all(x[:0])", 0), ("x != list(x)", 2), ("x < list(x)", 2), ("range(len(x))", 0)],
]


@pytest.mark.parametrize(("expression", "each"), PER_ITEM)
def test_what_goes_over_a_list_costs_its_length(expression: str, each: int):
    costs = [steps_of(expression, list(range(count))) for count in (257, 457)]
    # The rest is what does not grow, but for one step of a search by bisection.
    assert costs[1] - costs[0] == pytest.approx(200 * each, abs=2)


@pytest.mark.parametrize(
    ("expression", "each"),
    [
        *[("x + x", 2), ("x.upper()", 1), ("x.count('b')", 1), ("x.find('b')", 1), ("'b' in x", 1), ("x[::-1]", 1)],
        *[("x.replace('a', 'bb')", 3), ("x.split('b')", 1), ("''.join(x)", 2), ("x.join('ab')", 1), ("list(x)", 1)],
        *[("x.startswith('a')", 0), ("x[5]", 0), ("x * 2", 2), ("f'{x}'", 1), ("'%s' % x", 1.125), ("x.strip()", 1)],
        *[("x.translate({97: 'bb'})", 2), ("x.isdigit()", 1), ("x.find('b', 5)", 1), ("x.index('a', len(x) - 1)", 0)],
        *[("x == x.lower()", 1.125), ("x < x.lower()", 1.125), ("sum(map(ord, x))", 2), ("'{}'.format(x)", 1)],
        *[("x.ljust(9)", 1), ("'a'.ljust(len(x))", 1), ("x.partition('b')", 1), ("reversed(x)", 0), ("hex(len(x))", 0)],
    ],
)
def test_what_goes_over_a_text_costs_its_length(expression: str, each: float):
    costs = [steps_of(expression, "a" * count) for count in (256, 456)]
    assert costs[1] - costs[0] == pytest.approx(200 * each, abs=2)


@pytest.mark.parametrize(("count", "cost"), [(0, 0), (1, 0), (2, 2), (64, 64 * 6), (65, 65 * 7)])
def test_sorting_costs_n_log_n(count: int, cost: int):
    numbers = list(range(count, 0, -1))
    assert steps_of("sorted(x)", numbers) == 2 + count + cost
    assert steps_of("x.sort()", numbers) == 2 + cost
    # Pairs are weighed: their two items.
    assert steps_of("x.sort()", [(v, v) for v in numbers]) == 2 + 3 * cost


def test_sets_and_dicts_are_searched_at_once_but_tuples_are_hashed():
    for box in ({*range(900)}, dict.fromkeys(range(900))):
        assert steps_of("5 in x", box) == steps_of("5 in x", type(box)()) == 2
    assert steps_of("(1, 2) in x", set()) == 4 + 2
    assert steps_of("x[1, (2, 3)]", {(1, (2, 3)): 4}) == 6 + 4


def test_large_numbers_cost_their_words():
    word = 1 << 6400
    assert steps_of("x + y", word, 1) == 2 + 100
    assert steps_of("x * y", word, word) == 2 + 101 * 101
    assert steps_of("x % y", word, 3) == 2 + 101
    assert steps_of("x < y", word, word + 1) == 2 + 100
    assert steps_of("x >> y", word, 6390) == 2 + 100
    assert steps_of("x + y", 1 << 61, 1) == 2
    assert steps_of("sum(x)", [word] * 10) == 2 + 10 + 10 * 100
    assert steps_of("max(x)", [word] * 10) == 2 + 10 + 10 * 100
    assert steps_of("pow(3, x, y)", 1 << 100, 7) == 4 + 101
    assert steps_of("math.gcd(x, y)", 1 << 10, 3) == 4 + 2


def test_remembered_values_cost_a_look():
    program = "from functools import cache\n@cache\ndef g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\n"
    assert steps(program + "def f():\n    return g(60)", most=5000) < 2000
    assert (
        steps(program + "def f():\n    g(5)\n    return g(5)") - steps(program + "def f():\n    return g(5)") == 4 + 2
    )


# What is hidden in one step costs what it does, before it is done.
HIDDEN = {
    "text times": "'a' * 10**9",
    "list times": "[0] * 10**9",
    "list times in place": "(x := [0]).extend([0] * 10**9)",
    "power": "7 ** 10**7",
    "power by pow": "pow(7, 10**7)",
    "power modulo": "pow(3, 10**4000, 10**4000 + 1)",
    "shift": "1 << 10**9",
    "products of large numbers": "[v for v in [10**4000] if v * v * v]",
    "factorial": "math.factorial(10**6)",
    "binomial": "math.comb(10**6, 5 * 10**5)",
    "permutations counted": "math.perm(10**6)",
    "width in an f-string": "f'{1:1000000000}'",
    "width given": "f'{1:{10**9}}'",
    "precision": "f'{1.5:.1000000000f}'",
    "width by %": "'%1000000000d' % 1",
    "width by format": "format(1, '1000000000')",
    "width by str.format": "'{:1000000000}'.format(1)",
    "width within str.format": "'{:{}}'.format(1, 10**9)",
    "ljust": "'a'.ljust(10**9)",
    "zfill": "'a'.zfill(10**9)",
    "tabs": "'\\t'.expandtabs(10**9)",
    "tabs by keyword": "'\\t'.expandtabs(tabsize=10**9)",
    "sum of large numbers": "sum(v for v in [10**4000] * 900)",
    "replace": "('a' * 3000).replace('a', 'b' * 3000)",
    "translate": "('a' * 3000).translate({97: 'b' * 3000})",
    "join": "('a' * 3000).join('b' * 3000)",
    "sum of lists": "sum([[0] * 300] * 300, [])",
    "number from text": "int('9' * 4000) if [int('9' * 4000) for _ in range(9)] else 0",
    "range as a list": "list(range(10**9))",
    "range sorted": "sorted(range(10**9))",
    "range searched": "0.5 in range(10**9)",
    "range summed": "sum(range(10**9))",
    "range compared": "max(range(10**9))",
    "range joined": "set(range(10**9))",
    "range spread": "print(*range(10**9))",
    "range unpacked": "[v for [*v] in [range(10**9)]]",
    "range filtered": "any(map(lambda v: v < 0, range(10**9)))",
    "counting without end": "list(itertools.count())",
    "repeating without end": "sum(itertools.repeat(1))",
    "turning without end": "list(itertools.cycle([1]))",
    "searching without end": "-1 in itertools.count()",
    "zip without end": "list(zip(itertools.count(), itertools.count()))",
    "product of many": "list(itertools.product([1], repeat=10**8))",
    "products": "list(itertools.product(range(10), repeat=9))",
    "permutations": "list(itertools.permutations(range(12)))",
    "combinations": "sum(map(len, itertools.combinations(range(30), 15)))",
    "islice": "list(itertools.islice(itertools.count(), 10**9, 10**9 + 1))",
    "dropwhile": "next(itertools.dropwhile(lambda v: True, itertools.count()))",
    "groups": "next(itertools.groupby(itertools.repeat(1)))",
    "counter": "sum(collections.Counter({1: 10**9}).elements())",
    "deque times": "collections.deque([1]) * 10**9",
    "deque without end": "collections.deque(itertools.count(), maxlen=1)",
    "set of large tuples": "{(t := tuple(range(3000))), *[(*t, v) for v in [1, 2, 3]]}",
    "searching for lists": "[x := list(range(100))] * 200 == [[*range(100)] for _ in range(200)]",
    "sorting lists": "sorted([[*range(90)] for v in range(90)])",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_no_work_is_hidden(name: str):
    begun = time.process_time()
    with pytest.raises(OutOfWork):
        CountedProgram(f"import math, itertools, collections\ndef f():\n    return {HIDDEN[name]}").call("f", [], 9_000)
    assert time.process_time() - begun < 2.0


# Lists of lists that are small, but have 2 to the 60 leaves.
TREE = "def f():\n    x = y = ()\n    for _ in range(60):\n        x, y = (x, x), (y, y)\n    return {}"


@pytest.mark.parametrize(
    "use",
    [
        *(
            "x == y",
            "str({1: x}.values())",
            "repr({1: x}.items())",
            "{}.get(x)",
            "{x}",
            "x in [y]",
            "[y].index(x)",
            "str(x)",
            "f'{x}'",
        ),
        *(
            "sorted([x, y])",
            "min(x, y)",
            "x < y",
            "[x].count(y)",
            "'%s' % (x,)",
            "{x: 1}",
            "{v for v in [x]}",
            "repr(x)",
        ),
        *("dict([(x, 1)])", "set([x])", "ValueError(x)", "{1: 2}.setdefault(x)", "{1: [y]} == {1: [x]}", "print(x)"),
        *("max([x, y], key=lambda v: v)", "'{}'.format(x)", "[v for v in [[y]] if v == [x]]"),
    ],
)
def test_values_that_share_their_parts_are_weighed_in_full(use: str):
    with pytest.raises(OutOfWork):
        CountedProgram(TREE.format(use)).call("f", [], MUCH)


def test_an_exception_weighs_what_it_holds_when_it_is_written():
    held = "def f():\n    v = []\n    e = ValueError(v)\n    x = ()\n    for _ in range(60):\n        x = (x, x)\n"
    for use in ("str(e)", "f'{e!r}'", "str([e])", "'%s' % e"):
        with pytest.raises(OutOfWork):
            CountedProgram(held + f"    v.append(x)\n    return {use}").call("f", [], MUCH)


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n        pass",
        "while True:\n        try:\n            pass\n        except:\n            pass",
        "while True:\n        try:\n            sum(range(10**9))\n        except BaseException:\n            pass",
        "try:\n        while True:\n            pass\n    finally:\n        return 1",
        "try:\n        return sum(range(10**9))\n    except Exception:\n        return 1",
        "def g():\n        while True:\n            yield 1\n    return list(g())",
        "x = [1]\n    for v in x:\n        x.append(v)",
        "x = [1]\n    while True:\n        x += x",
        "return sorted([3, 2, 1], key=lambda v: sum(range(10**8)))",
    ],
)
def test_nothing_gets_around_the_limit(body: str):
    with pytest.raises(OutOfWork):
        CountedProgram(f"def f():\n    {body}").call("f", [], MUCH)


def test_the_limit_is_exact():
    program = "def f():\n    return sum([1, 2, 3])"
    cost = steps(program)
    assert CountedProgram(program).call("f", [], cost) == (6, cost)
    with pytest.raises(OutOfWork):
        CountedProgram(program).call("f", [], cost - 1)


# Ways out.


@pytest.mark.parametrize(
    "expression",
    [
        *('"{0.__class__}".format(1)', '"{0[0]}".format([1])', '"{a.b}".format(a=1)', '"{:{0.real}}".format(1)'),
        *("().__class__", "f.__globals__", "f.__code__", "(lambda: 0).__closure__", "(v for v in []).gi_frame"),
        *(
            "[].__len__()",
            "str.__subclasses__()",
            "int.__bases__",
            "''.__class__.__mro__",
            "len.__self__",
            "f.__call__",
        ),
        *(
            "getattr(1, 'real')",
            "eval('1')",
            "exec('1')",
            "__import__('os')",
            "open('/etc/passwd')",
            "globals()",
            "vars()",
        ),
        *(
            "locals()",
            "type(1)",
            "compile('1', '', 'eval')",
            "setattr(f, 'a', 1)",
            "dir()",
            "input()",
            "super()",
            "object()",
        ),
        *("ValueError().__traceback__", "ValueError().with_traceback(None)", "math.__loader__", "math.__dict__"),
        *("'{a}'.format_map({'a': 1})", "'a'.encode()", "(1).real", "(1).to_bytes(1, 'big')", "bytes(3)", "b'a'", "1j"),
        *("dict.__class__", "math.gcd.__self__", "collections._sys", "collections.namedtuple", "functools.wraps"),
        *(
            "itertools.chain.__class__",
            "range(3).start",
            "'%*d' % (9, 1)",
            "print.__self__.__dict__",
            "f.f",
            "[].append.a",
        ),
        *("(yield)", "hash('a')", "id(1)", "iter(int, 1)", "(x := ValueError()).args.__class__", "str.format.__self__"),
    ],
)
def test_nothing_of_python_is_in_reach(expression: str):
    text = f"import math, collections, functools, itertools\ndef f():\n    return {expression}"
    with pytest.raises((Uncounted, AttributeError)):
        CountedProgram(text).call("f", [], MUCH)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("class A:\n    pass", "class is not counted here: use functions"),
        ("import os", "the module os is not counted here: use math,"),
        ("import os.path", "the module os.path"),
        ("from os import system", "the module os "),
        ("from math import *", r"math\.\* is not counted"),
        ("from math import floor as g, sinh", "math.sinh is not counted"),
        ("from . import x", "the module"),
        ("async def g():\n    pass", "async is not counted here"),
        ("with open('a') as b:\n    pass", "with is not counted here"),
        ("match 1:\n    case 1:\n        pass", "match is not counted here: use if"),
        ("def g():\n    x = yield 1", "the value of yield is not counted here"),
        ("def g():\n    try:\n        yield 1\n    finally:\n        pass", "yield within try is not counted here"),
        ("x = 1\nx.y = 2", "attributes of values are not counted here: use a dict"),
        ("x = [v async for v in y]", "async is not counted here"),
        ("x = b'a'", "bytes is not counted here"),
        ("x = 1 @ 2", "@ is not counted here"),
        ("eval('1')", "eval is not counted here"),
    ],
)
def test_what_is_not_counted_is_named(program: str, says: str):
    with pytest.raises(Uncounted, match=says):
        CountedProgram(program).call("f", [], MUCH)


def test_handlers_do_not_catch_what_is_not_counted():
    text = "def f():\n    try:\n        eval('1')\n    except BaseException:\n        return 1"
    with pytest.raises(Uncounted):
        CountedProgram(text).call("f", [], MUCH)
