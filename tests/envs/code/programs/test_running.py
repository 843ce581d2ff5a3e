"""The interpreter of programs: bounded, and the same as Python where it knows the words."""

from __future__ import annotations

import pytest
from palaestra.envs.code.programs.running import MOST_WORK, is_supported, run_blocks, trace_states


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
        "return [w for w in range(5000)] + [w for w in range(5000)]",
    ],
)
def test_work_and_values_are_bounded(block: str):
    outcome = run_blocks([block], {"given": [1]})
    assert outcome.error == "endless"
    assert outcome.work <= MOST_WORK + 5001


@pytest.mark.parametrize(
    "block",
    [
        *("import os", "exec('1')", "open('x')", "return given.__class__", "return (lambda: 1)()", "global x"),
        *(
            "return given.pop()",
            "def f():\n    pass",
            "return getattr(given, 'x')",
            "with given:\n    pass",
            "x = {1: 2}",
        ),
        *("return [v for v in given for w in given]", "x = {1: 2}", "return 2 ** 9", "return f'{given}'", "return ("),
    ],
)
def test_what_programs_here_do_not_need_is_not_known(block: str):
    assert not is_supported(block)


def test_arguments_are_left_alone():
    given = [1, 2]
    assert run_blocks(["given.append(3)", "return given"], {"given": given}).value == [1, 2, 3]
    assert given == [1, 2]


def test_work_counts_statements_and_turns():
    assert run_blocks(["return given"], {"given": 0}).work == 1
    assert run_blocks(["total = 0", "for v in given:\n    total += v", "return total"], {"given": [1] * 10}).work == 13
    assert run_blocks(["return [v for v in given]"], {"given": [1] * 10}).work == 11


def test_states_are_listed_until_the_function_returns():
    blocks = ["if given > 5:\n    return 0", "twice = given * 2", "more = twice + 1", "return more"]
    assert trace_states(blocks[:-1], ["", "twice", "more"], {"given": 4}) == [None, 8, 9]
    assert trace_states(blocks[:-1], ["", "twice", "more"], {"given": 6}) == []
