"""The layouts of data sets of programs, each read from files of ours, and the records that are left out or refused."""

from __future__ import annotations

import base64
import gzip
import json
import pickle
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from palaestra.envs.code.problems.problem import CALLED
from palaestra.envs.datasets.collection import load_collection
from palaestra.envs.sandbox import CallTest, StdioTest
from palaestra.errors import InputError

from .problem_records import APPS, HUMANEVAL, LCB, MBPP, RECORDS, judged, made, problem, read

# HumanEval.


@pytest.mark.parametrize(
    "answer",
    [
        "def area(r):\n    return math.pi * r * r / 2",
        "def area(r):\n    return half(math.pi * r ** 2)",
        "Sure:\n```python\nfrom __future__ import annotations\nimport math\n\ndef area(r: Float) -> Float:\n"
        "    return math.pi * r * r / 2\n```\nIt works.",
        "```python\nbroken(\n```\nBetter:\n```python\ndef area(r):\n    return half(math.pi * r * r)\n```",
        "area = lambda r: math.pi * r * r / 2",
        HUMANEVAL["prompt"] + HUMANEVAL["canonical_solution"],
        HUMANEVAL["canonical_solution"],
        "    square = r * r\n    return half(math.pi * square)\n",
        "    for _ in range(1):\n        r = abs(r)\n    return half(math.pi * r * r)",
        "```python\n    for _ in range(1):\n        r = abs(r)\n    return half(math.pi * r * r)\n```",
        "```python\n    while True:\n        return half(math.pi * r * r)\n```",
        "def area(r):\n    return math.pi * r * r / 2\n\nif __name__ == '__main__':\n    print(area(float(input())))",
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass Circle:\n"
        "    r: float\n\ndef area(r):\n    return half(math.pi * Circle(r).r ** 2)",
        "    if r < 0:\n        return area(-r)\n    return half(math.pi * r * r)",
        "return half(math.pi * r * r)",
    ],
)
def test_functions_and_bodies_are_taken_with_what_the_prompt_gives(answer: str, tmp_path: Path):
    reward, info = judged(read("HumanEval", tmp_path, HUMANEVAL), answer)
    assert (reward, info["is_success"], info["feedback"]) == (1.0, True, "All 3 tests passed.")


def test_the_prompt_of_humaneval_is_shown_whole(tmp_path: Path):
    env = read("HumanEval", tmp_path, HUMANEVAL)
    assert env.reset(seed=0)[0] == (
        f"Complete this function.\n```python\n{HUMANEVAL['prompt'].strip()}\n```\nAnswer with the whole function in a "
        "block of Python, such as\n```python\ndef double(number):\n    return 2 * number\n```"
    )


def test_humaneval_is_read_as_published(tmp_path: Path):
    file = tmp_path / "HumanEval.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(HUMANEVAL).encode()))
    env = made("HumanEval", source=str(file), split="all")
    env.reset(seed=0)
    item = problem(env)
    assert (item.function, len(item.tests)) == ("area", 3)
    assert item.before == HUMANEVAL["prompt"][: HUMANEVAL["prompt"].index("def area")]
    assert env.step(env.oracle())[4]["is_success"]


def test_a_part_of_the_tests_is_progress_and_no_reward(tmp_path: Path):
    reward, info = judged(read("HumanEval", tmp_path, HUMANEVAL), "def area(r):\n    return r")
    assert (reward, info["is_success"], info["progress"]) == (0.0, False, pytest.approx(1 / 3))
    assert info["feedback"] == "1 of 3 tests passed. A test that is not shown failed."
    reward, info = judged(read("HumanEval", tmp_path, HUMANEVAL, graded=True), "def area(r):\n    return r")
    assert (reward, info["is_success"]) == (pytest.approx(1 / 3), False)


# MBPP.


def test_mbpp_shows_the_requested_assertions_and_feedback_names_only_these(tmp_path: Path):
    for shown in (0, 1, 3):
        env = read("MBPP", tmp_path, MBPP, shown=shown)
        prompt = env.here().prompt
        assert "The function is found(text)." in prompt
        assert [assertion in prompt for assertion in MBPP["test_list"]] == [place < shown for place in range(4)]
        _, info = judged(env, "def found(text):\n    return 'c' not in text")
        told = "A test that is not shown failed."
        if shown:
            told = "found('cab') returned False; expected something true."
        assert info["feedback"] == f"2 of 5 tests passed. {told}"


def test_any_value_that_is_true_will_do_where_the_assertion_asks_for_no_more(tmp_path: Path):
    env = read("MBPP", tmp_path, MBPP)
    assert judged(env, env.oracle())[0] == 1.0
    assert judged(env, "def found(text):\n    return 'ab' in text")[0] == 1.0
    assert judged(env, "def found(text):\n    return object()")[1]["progress"] == pytest.approx(3 / 5)


def test_mbpp_takes_the_function_that_the_tests_call(tmp_path: Path):
    code = "def helper(n):\n    return n\n\ndef twice(n):\n    return 2 * helper(n)"
    env = read("MBPP", tmp_path, {"prompt": "Double.", "code": code, "test_list": ["assert twice(2)==4"]})
    assert problem(env).function == "twice"
    assert judged(env, env.oracle())[0] == 1.0


# APPS.


def test_apps_reads_programs(tmp_path: Path):
    env = read("APPS", tmp_path, APPS)
    item = problem(env)
    assert item.tests == (StdioTest("1 2\n", "3\n"), StdioTest("5 5", "10"))
    assert (item.rung, item.answer) == (2, json.loads(APPS["solutions"])[1])
    assert "reads its standard input" in env.here().prompt
    assert judged(env, env.oracle())[0] == 1.0
    assert judged(env, "print(3)")[1]["progress"] == 0.5


@pytest.mark.parametrize("outputs", [[[3], [7]], [3, 7]])
@pytest.mark.parametrize("starter", ["class Solution:\n    def add(self, numbers: List[int]):\n", ""])
def test_apps_reads_functions_and_methods_with_values_in_lists_or_not(outputs: Any, starter: str, tmp_path: Path):
    pairs = {"fn_name": "add", "inputs": [[[1, 2]], [[3, 4]]], "outputs": outputs}
    env = read(
        "APPS", tmp_path, {**APPS, "input_output": json.dumps(pairs), "starter_code": starter, "solutions": "[]"}
    )
    method = "class Solution:\n    def add(self, numbers: List[int]):\n        return sum(numbers)"
    assert judged(env, method)[0] == 1.0
    assert judged(env, "def add(numbers):\n    return reduce(lambda a, b: a + b, numbers)")[0] == 1.0
    assert judged(env, "def add(numbers):\n    return 3")[1]["progress"] == 0.5
    env.reset(seed=0)
    with pytest.raises(InputError, match="no program that solves it"):
        env.oracle()


# LiveCodeBench.


def packed(cases: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(cases)))).decode()


@pytest.mark.parametrize("protocol", ["json", "pickle", "zlib"])
def test_tests_are_read_however_they_are_packed(protocol: str, tmp_path: Path):
    text = LCB["private_test_cases"]
    if protocol != "json":
        data = pickle.dumps(text) if protocol == "pickle" else text.encode()
        text = base64.b64encode(zlib.compress(data)).decode()
    env = read("LiveCodeBench", tmp_path, {**LCB, "private_test_cases": text})
    item = problem(env)
    assert [(test.function, test.arguments, test.public) for test in item.tests if isinstance(test, CallTest)] == [
        (CALLED, [1, [2, 3]], True),
        *[(CALLED, [0, []], False)] * 2,
    ]
    assert (item.function, item.rung, item.answer) == ("add", 3, "")
    assert item.effort == len(item.question)
    assert LCB["starter_code"].strip() in env.here().prompt
    right = "class Solution:\n    def add(self, a: int, numbers: List[int]) -> int:\n        return a + sum(numbers)"
    assert judged(env, right)[0] == 1.0
    _, info = judged(env, right.replace("a + ", ""))
    assert info["feedback"] == "2 of 3 tests passed. add(1, [2, 3]) returned 5; expected 6."


class Planted:
    """Writes a file where it is loaded from a pickle."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self) -> Any:
        return Path.touch, (self.file,)


def test_no_pickle_is_ever_loaded(tmp_path: Path):
    planted = tmp_path / "planted"
    for bad in (Planted(planted), ["[]"], {"a": "[]"}, 3, ("[]", Planted(planted))):
        text = base64.b64encode(zlib.compress(pickle.dumps(bad))).decode()
        with (
            pytest.warns(UserWarning, match="1 of 2 LiveCodeBench records .* which is never loaded"),
        ):
            read("LiveCodeBench", tmp_path, LCB, {**LCB, "question_content": "Other.", "private_test_cases": text})
        assert not planted.exists()


# What is left out, and what is refused.


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        (
            "HumanEval",
            {"test": "def check(candidate):\n    for n in range(3):\n        assert candidate(n)"},
            "statement",
        ),
        ("HumanEval", {"test": "def check(candidate):\n    assert candidate(1) == area(1)"}, "no constant"),
        ("HumanEval", {"entry_point": "other"}, "no function other"),
        ("HumanEval", {"prompt": "def area(r:"}, "no Python 3"),
        ("MBPP", {"test_list": ["assert found(Pair(1)) == 2"]}, "no constant"),
        ("MBPP", {"test_list": ["assert seek('a') == 2"]}, "no function that the first test calls"),
        ("MBPP", {"test_list": ["assert found('a')\nassert found('b')"]}, "is not one assertion"),
        ("MBPP", {"code": "print 3"}, "no Python 3"),
        ("APPS", {"input_output": ""}, "no tests"),
        ("APPS", {"input_output": "{"}, "no JSON"),
        ("APPS", {"input_output": '{"inputs": [], "outputs": []}'}, "no test of at most"),
        (
            "APPS",
            {"input_output": json.dumps({"inputs": ["1" * 10**5 + "1"], "outputs": ["1"]})},
            "no test of at most",
        ),
        ("APPS", {"input_output": json.dumps({"inputs": [[1]], "outputs": [1], "fn_name": "a b"})}, "no name"),
        ("APPS", {"difficulty": "mixed"}, "'mixed' is none of"),
        ("LiveCodeBench", {"private_test_cases": "%%"}, "neither JSON nor packed JSON"),
        ("LiveCodeBench", {"private_test_cases": base64.b64encode(zlib.compress(b"[]")[:-4]).decode()}, "cut off"),
        ("LiveCodeBench", {"private_test_cases": base64.b64encode(zlib.compress(b"\xff\xfe")).decode()}, "no pickle"),
        ("LiveCodeBench", {"public_test_cases": '[{"input": "x", "output": "1"}]'}, "no JSON"),
    ],
)
def test_what_cannot_be_judged_is_left_out_and_counted(name: str, change: dict[str, Any], why: str, tmp_path: Path):
    good = RECORDS[name]
    other = {**good, "prompt": "Other.", "text": "Other.", "question": "Other.", "question_content": "Other."}
    if name == "HumanEval":
        other["prompt"] = good["prompt"]
    with pytest.warns(UserWarning, match=rf"1 of 2 {name} records .*{re.escape(why)}"):
        env = read(name, tmp_path, good, {**other, **change})
    assert len(load_collection(env._source()).items) == 1


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("HumanEval", {"prompt": ""}, "'prompt' is missing"),
        ("HumanEval", {"test": None}, "'test' is missing"),
        ("HumanEval", {"entry_point": "a b"}, "the name of a function, not 'a b'"),
        ("MBPP", {"test_list": 3, "challenge_test_list": []}, "'test_list' must be a list of texts"),
        ("MBPP", {"test_list": [], "challenge_test_list": []}, "'test_list' is missing"),
        ("MBPP", {"code": ""}, "'code' is missing"),
        ("APPS", {"input_output": "[]"}, "must have lists 'inputs' and 'outputs'"),
        ("APPS", {"difficulty": ""}, "'difficulty' is missing"),
        ("LiveCodeBench", {"public_test_cases": "[3]"}, "must be a list of records"),
    ],
)
def test_a_record_that_is_not_of_the_layout_is_refused_by_line_and_field(
    name: str, change: dict[str, Any], told: str, tmp_path: Path
):
    with pytest.warns(UserWarning, match=rf"1 of 2 {name} records .*line 2: .*{re.escape(told)}.*{name} record has"):
        read(name, tmp_path, RECORDS[name], {**RECORDS[name], **change})
    with pytest.raises(InputError, match=rf"line 1: .*{re.escape(told)}.*{name} record has"):
        read(name, tmp_path, {**RECORDS[name], **change})
