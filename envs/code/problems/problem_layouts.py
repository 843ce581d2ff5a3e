"""Readers of the published layouts of data sets of programs; each makes a problem from a record."""

from __future__ import annotations

import ast
import json
import re
import warnings
from dataclasses import replace
from typing import Any

from ...datasets.layouts import Fields, Layout, UnusableRecord
from ...sandbox import CallTest, StdioTest
from ..judging.assertions import UnreadableAssertion, read_assertions
from ..judging.expectations import Expectation
from ..judging.packed_tests import unpack_tests
from .problem import CALLED, Problem, Test, select_tests

# Maximum number of tests kept per record, and maximum characters of a test; some data sets have gigabytes of tests.
MOST_TESTS, MOST_TEXT = 64, 100_000
_APPS_LEVELS = {"introductory": 1, "interview": 2, "competition": 3}
_LCB_LEVELS = {"easy": 1, "medium": 2, "hard": 3}
# Modules that answers with a class Solution use without importing them.
_IMPORTS = """from typing import *
import bisect, collections, functools, heapq, itertools, math, operator, random, re, string
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
"""
_CALLER = """
def {called}(*arguments):
    return (Solution().{name} if "Solution" in globals() else {name})(*arguments)
"""
_TRUTH = """
def {called}(*arguments):
    return bool({name}(*arguments))
"""


def read_humaneval(fields: Fields, index: int) -> Problem:
    """Read a HumanEval record: ``prompt`` (imports, helpers, and the head of a function with its docstring),
    ``canonical_solution`` (its body), ``test`` (a function ``check(candidate)`` of assertions) and ``entry_point``."""
    function = fields.text("entry_point")
    if not function.isidentifier():
        raise fields.fault(f"the field 'entry_point' must be the name of a function, not {function[:40]!r}")
    fields.text("prompt")
    prompt = str(fields.get("prompt")).replace("\r\n", "\n").strip("\n") + "\n"
    body = fields.get("canonical_solution")
    heads = [node for node in _parse(f"{prompt}    pass\n").body if isinstance(node, ast.FunctionDef)]
    lines = [head.lineno for head in heads if head.name == function]
    if not lines:
        raise UnusableRecord(f"the prompt has no function {function}")
    before = "".join(prompt.splitlines(keepends=True)[: lines[-1] - 1])
    answer = prompt + body.replace("\r\n", "\n").rstrip() if isinstance(body, str) and body.strip() else ""
    tests = _read_tests(fields.text("test"), function)
    return Problem(
        prompt.strip(),
        answer,
        function=function,
        tests=tuple(tests[:MOST_TESTS]),
        before=before,
        after=_truth_function(function, tests),
        stub=prompt,
    )


def read_mbpp(fields: Fields, index: int) -> Problem:
    """Read an MBPP record: ``text`` (or ``prompt``), ``code``, ``test_list`` (assertions), and perhaps
    ``challenge_test_list``."""
    text = fields.text("text", "prompt")
    code = fields.text("code").replace("\r\n", "\n").replace("\r", "\n")
    listed = [*_read_texts(fields, "test_list"), *_read_texts(fields, "challenge_test_list")]
    if not listed:
        raise fields.fault("the field 'test_list' is missing or empty")
    heads = [node for node in _parse(code).body if isinstance(node, ast.FunctionDef)]
    named = [head for head in heads if re.search(rf"\b{head.name}\s*\(", listed[0])]
    if not named:
        raise UnusableRecord("the code has no function that the first test calls")
    head = named[-1]
    tests = []
    for assertion in listed:
        read = _read_tests(assertion, head.name)
        if len(read) != 1:
            raise UnusableRecord(f"{assertion[:60]!r} is not one assertion")
        tests += read
    signature = f"{head.name}({ast.unparse(head.args)})"
    return Problem(
        f"{text}\nThe function is {signature}.",
        code,
        function=head.name,
        tests=tuple(tests[:MOST_TESTS]),
        after=_truth_function(head.name, tests),
        examples=tuple(listed),
    )


def read_apps(fields: Fields, index: int) -> Problem:
    """Read an APPS record: ``question``, ``input_output`` (JSON: ``inputs``, ``outputs`` and perhaps ``fn_name``),
    ``starter_code``, ``solutions`` (JSON: a list) and ``difficulty``."""
    question, level = fields.text("question"), _read_level(fields, _APPS_LEVELS)
    pairs = fields.get("input_output")
    if pairs is None:
        raise UnusableRecord("there are no tests")
    pairs = _load_json(pairs, "input_output")
    if not isinstance(pairs, dict) or not all(isinstance(pairs.get(name), list) for name in ("inputs", "outputs")):
        raise fields.fault("the field 'input_output' must have lists 'inputs' and 'outputs'")
    function = pairs.get("fn_name") or ""
    tests: list[Test] = []
    for given, wanted in zip(pairs["inputs"], pairs["outputs"]):
        if not function:
            tests.append(StdioTest(_join_lines(given), _join_lines(wanted)))
        elif isinstance(given, list):
            # Records often wrap the value in a list; the published judge accepts both.
            values = [wanted, *wanted] if isinstance(wanted, list) and len(wanted) == 1 else [wanted]
            tests.append(CallTest(CALLED, given, Expectation(values, "either")))
    solutions = _load_json(fields.get("solutions"), "solutions")
    solutions = [text for text in solutions or () if isinstance(text, str) and _is_python(text)]
    return _make_problem(question, fields, function, tests, level, solutions[0] if solutions else "")


def read_live_code_bench(fields: Fields, index: int) -> Problem:
    """Read a LiveCodeBench record: ``question_content``, ``public_test_cases`` and ``private_test_cases`` (JSON, the
    latter perhaps packed), ``starter_code``, ``metadata`` with ``func_name``, ``difficulty``, perhaps ``solution``."""
    question, level = fields.text("question_content", "question"), _read_level(fields, _LCB_LEVELS)
    metadata = _load_json(fields.get("metadata"), "metadata")
    function = (metadata.get("func_name") if isinstance(metadata, dict) else "") or ""
    tests: list[Test] = []
    for name in ("public_test_cases", "private_test_cases"):
        cases = fields.get(name)
        if isinstance(cases, str) and name.startswith("private"):
            cases = unpack_tests(cases)
        for case in _load_json(cases, name) or ():
            if not isinstance(case, dict) or not {"input", "output"} <= case.keys():
                raise fields.fault(f"the field {name!r} must be a list of records with 'input' and 'output'")
            given, wanted, public = str(case["input"]), str(case["output"]), name.startswith("public")
            if not function:
                tests.append(StdioTest(given, wanted, public))
                continue
            arguments = [_load_json(line, "input of a test") for line in given.splitlines() if line.strip()]
            value = Expectation(_load_json(wanted, "output of a test"), "alike")
            tests.append(CallTest(CALLED, arguments, value, public))
    solution = fields.get("solution")
    return _make_problem(question, fields, function, tests, level, solution if isinstance(solution, str) else "")


def _make_problem(question: str, fields: Fields, function: str, tests: list[Test], level: int, answer: str) -> Problem:
    if function and not str(function).isidentifier():
        raise UnusableRecord(f"{function!r} is no name of a function")
    tests = [test for test in tests if _size(test) <= MOST_TEXT]
    if not tests:
        raise UnusableRecord(f"there is no test of at most {MOST_TEXT} characters")
    starter = fields.get("starter_code")
    starter = starter.strip() if isinstance(starter, str) else ""
    if starter:
        question = f"{question}\nStart from this code:\n```python\n{starter}\n```"
    before, after = (_IMPORTS, _CALLER.format(called=CALLED, name=function)) if function else ("", "")
    answer = answer.replace("\r\n", "\n").strip("\n")
    return Problem(question, answer, (), level, (), function, tuple(select_tests(tests, MOST_TESTS)), before, after)


def _read_tests(source: str, function: str) -> list[CallTest]:
    try:
        tests = read_assertions(source, function)
    except UnreadableAssertion as reason:
        raise UnusableRecord(str(reason)) from None
    # A value of which only the truth is tested need not be plain data.
    about_truth = [test.expected.relation in ("true", "false") and not test.expected.through for test in tests]
    return [replace(test, function=CALLED) if is_so else test for test, is_so in zip(tests, about_truth)]


def _truth_function(function: str, tests: list[CallTest]) -> str:
    called = any(test.function == CALLED for test in tests)
    return _TRUTH.format(called=CALLED, name=function) if called else ""


def _parse(source: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnusableRecord(f"the code is no Python 3 ({error})") from None


def _is_python(source: str) -> bool:
    try:
        _parse(source)
    except UnusableRecord:
        return False
    return True


def _load_json(value: Any, name: str) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise UnusableRecord(f"the {name} is no JSON that can be read ({str(error)[:80]})") from None


def _read_level(fields: Fields, levels: dict[str, int]) -> int:
    level = fields.text("difficulty").lower()
    if level not in levels:
        raise UnusableRecord(f"the difficulty {level[:40]!r} is none of {', '.join(levels)}")
    return levels[level]


def _read_texts(fields: Fields, name: str) -> list[str]:
    value = _load_json(fields.get(name), name)
    value = [] if value is None else value
    if not isinstance(value, (list, tuple)) or not all(isinstance(text, str) for text in value):
        raise fields.fault(f"the field {name!r} must be a list of texts")
    return [text.strip() for text in value if text.strip()]


def _join_lines(value: Any) -> str:
    """Return an input or output as text; some records store a list of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _size(test: Test) -> int:
    if isinstance(test, StdioTest):
        return max(len(test.stdin), len(test.expected))
    return max(len(repr(test.arguments)), len(repr(test.expected)))


HUMANEVAL = Layout(
    "HumanEval",
    "a HumanEval record has 'prompt', 'canonical_solution', 'test' and 'entry_point'",
    read_humaneval,
)
MBPP = Layout("MBPP", "an MBPP record has 'text' (or 'prompt'), 'code' and 'test_list'", read_mbpp)
APPS = Layout("APPS", "an APPS record has 'question', 'input_output', 'solutions' and 'difficulty'", read_apps)
LIVE_CODE_BENCH = Layout(
    "LiveCodeBench",
    "a LiveCodeBench record has 'question_content', 'public_test_cases', 'private_test_cases' and 'difficulty'",
    read_live_code_bench,
)
