"""Runs of blocks: bounded, and the same as Python."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from palaestra.envs.code.programs.block_runs import is_supported, run_blocks, trace_states


@pytest.mark.parametrize(
    ("block", "value"),
    [
        ("total = 0\nfor i, v in enumerate(given):\n    total += i * v\nreturn total", 8),
        ("for v in given:\n    if v > 2:\n        return v\nreturn 0", 3),
        ("found = []\nfor v in given:\n    if v == 2:\n        continue\n    found.append(v)\nreturn found", [1, 3]),
        ("found = []\nfor v in given:\n    if v == 2:\n        break\n    found.append(v)\nreturn found", [1]),
        ("i = 0\nwhile True:\n    i += 1\n    if i == 2:\n        continue\n    if i > 4:\n        break\nreturn i", 5),
        ("a, b = (given[0], given[-1])\ngiven[0], given[-1] = (b, a)\nreturn given", [3, 2, 1]),
        ("return [v for v in given[1:] if v % 2 == 1 and v > 0]", [3]),
        ("return sorted(given, reverse=True)[::2]", [3, 1]),
        ("return 1 < given[1] < 3", True),
        ("return -given[0] if not given[1] == 2 or given[2] < 0 else max(given) // 2", 1),
        ("return '-'.join((str(v) for v in given)).replace('2', 'x')", "1-x-3"),
        ("counts = {}\nfor v in given:\n    counts[v] = v * v\nreturn counts[3]", 9),
        ("v = 7\nreturn [v for v in given] + [v]", [1, 2, 3, 7]),
        ("pass", None),
        ("try:\n    return given[9]\nexcept IndexError:\n    return 'none'", "none"),
        (
            "def g(v):\n    return [v for v in given if v > 1]\nreturn g(1), [*map(lambda w: w * 2, given)]",
            ([2, 3], [2, 4, 6]),
        ),
    ],
)
def test_statements_mean_what_they_do_in_python(block: str, value: object):
    outcome = run_blocks([block], {"given": [1, 2, 3]})
    assert (outcome.value, outcome.error) == (value, "")


def test_variables_of_a_comprehension_are_gone_after_it():
    assert run_blocks(["found = [v for v in given]", "return v"], {"given": [1]}).error == "NameError"


@pytest.mark.parametrize(
    ("block", "error"),
    [
        ("return given[3]", "IndexError"),
        ("return given + 1", "TypeError"),
        ("return 1 // (given[0] - 1)", "ZeroDivisionError"),
        ("return int('x')", "ValueError"),
        ("a, b = given", "ValueError"),
        ("return other", "NameError"),
        ("return given.upper()", "AttributeError"),
        ("return len.count(1)", "AttributeError"),
        ("return len((v for v in given))", "TypeError"),
        ("return (v for v in given)[0]", "TypeError"),
    ],
)
def test_errors_are_named(block: str, error: str):
    assert run_blocks([block], {"given": [1, 2, 3]}).error == error


@pytest.mark.parametrize(
    "block",
    [
        "while True:\n    pass",
        "for v in given:\n    given.append(v)",
        "return [0] * 10000000000",
        "return 10000000000 * 'ab'",
        "n = 10\nfor v in range(100):\n    n = n * n",
        "text = 'ab'\nfor v in range(100):\n    text = text + text",
        "for v in range(1000000000):\n    pass",
        "return sum([w for w in range(50000)])",
    ],
)
def test_work_and_values_are_bounded(block: str):
    assert run_blocks([block], {"given": [1]}) == (None, "endless")


@pytest.mark.parametrize(
    "block", ["import os", "with given:\n    pass", "class A:\n    pass", "x = b'a'", "given.x = 1", "return (", "\0"]
)
def test_unsupported_statements_are_refused(block: str):
    assert not is_supported(block)


@pytest.mark.parametrize(
    "expression", ["exec('1')", "open('x')", "given.__class__", "getattr(given, 'x')", "__import__('os')"]
)
def test_nothing_outside_is_in_reach(expression: str):
    assert is_supported(f"return {expression}")
    assert run_blocks([f"return {expression}"], {"given": [1]}) == (None, "uncounted")


def test_arguments_are_left_alone():
    given = [1, 2]
    assert run_blocks(["given.append(3)", "return given"], {"given": given}).value == [1, 2, 3]
    assert given == [1, 2]


def test_equal_texts_of_two_blocks_stay_apart():
    blocks = ["a = given == 'one longer text'", "b = given == 'another longer text'", "return a, b"]
    assert run_blocks(blocks, {"given": "one longer text"}).value == (True, False)


def test_states_are_listed_until_the_function_returns():
    blocks = ["if given > 5:\n    return 0", "twice = given * 2", "more = twice + 1", "return more"]
    assert trace_states(blocks[:-1], ["", "twice", "more"], {"given": 4}) == [None, 8, 9]
    assert trace_states(blocks[:-1], ["", "twice", "more"], {"given": 6}) == []


def test_threads_do_not_share_their_steps():
    endless, short = "while True:\n    pass", "return sum([v for v in range(given)])"
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda n: run_blocks([endless if n % 2 else short], {"given": n}), range(60)))
    assert found == [(None, "endless") if n % 2 else (n * (n - 1) // 2, "") for n in range(60)]
