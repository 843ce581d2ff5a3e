"""Data sets of programs: those of the package, which tests are run, and programs judged that try to cheat."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from palaestra.envs.code.judging.assertions import read_assertions
from palaestra.envs.code.problems import problem_set
from palaestra.envs.code.problems.problem import Problem, select_tests
from palaestra.envs.datasets.collection import load_collection
from palaestra.envs.sandbox import CallTest, ProgramJudgement, run_tests
from palaestra.errors import InputError

from .problem_records import APPS, MBPP, NAMES, RECORDS, judged, made, problem, read


@pytest.mark.parametrize("name", NAMES)
def test_the_programs_of_the_package_pass_all_their_tests(name: str):
    env = made(name, split="all", tests=64)
    items = load_collection(env._source()).items
    assert len(items) >= 24
    constants = 0
    for item in items:
        assert isinstance(item, Problem)
        assert 3 <= len(item.tests) <= 8
        task = env.task(item, None, {})
        assert env.verify(task, env.oracle(task)).success, item.question
        # Nothing that can be guessed from the form of the question.
        thoughtless = f"def {item.function}(*_):\n    return True" if item.function else "print(input())"
        constants += env.verify(task, thoughtless).success
        assert item.question.isascii()
    assert constants == 0


def test_the_examples_in_the_docstrings_are_true():
    env = made("HumanEval", split="all")
    for item in load_collection(env._source()).items:
        found = re.findall(r">>> (.*)\n\s*(.*)\n", f"{item.question}\n")
        source = "\n".join(f"assert {call} == {value}" for call, value in found)
        tests = read_assertions(source, item.function)
        assert run_tests(item.assemble(item.answer), tests, problem_set.meets_expectation).success


def test_no_hidden_test_is_in_a_prompt():
    for name in NAMES:
        env = made(name, split="all")
        for item in load_collection(env._source()).items:
            prompt = env.task(item, None, {}).prompt
            hidden = [test for test in env.tests_of(item) if not test.public]
            assert len(hidden) >= 2
            for test in hidden:
                if isinstance(test, CallTest) and name != "LiveCodeBench":
                    called = f"({', '.join(map(repr, test.arguments))})"
                    assert f"assert {item.function}{called}" not in prompt


def test_a_program_never_receives_the_expected_values():
    for name in NAMES:
        for item in load_collection(made(name, split="all")._source()).items:
            run = item.assemble("PROGRAM = 1")
            for part in (item.stub, item.before, item.after, "PROGRAM = 1", '__name__ = "builtins"'):
                run = run.replace(part, "", 1)
            assert not run.strip()
            assert "assert" not in item.before + item.after


def test_a_longer_program_makes_a_problem_harder_and_longer_names_in_it_do_not(tmp_path: Path):
    plain = MBPP["code"]
    renamed = plain.replace("text", "the_text_in_which_the_pattern_may_occur_several_times_or_not_at_all")
    longer = plain.replace("return", "text = text.lower()\n    while ' ' in text:\n        text = text[1:]\n    return")
    easy, same, hard = (problem(read("MBPP", tmp_path, {**MBPP, "code": code})) for code in (plain, renamed, longer))
    assert len(renamed) > len(longer)
    assert same.effort - len(same.question) == easy.effort - len(easy.question) < hard.effort - len(hard.question)
    # Of two problems alike but for the program, the harder one is in the harder half.
    records = [{**MBPP, "text": f"Text {place}", "code": code} for place, code in enumerate((longer, plain))]
    env = read("MBPP", tmp_path, *records)
    assert [env.reset(options={"params": {"length": length}})[0][:6] for length in (0.0, 1.0)] == ["Text 1", "Text 0"]


# Which tests are run.


def test_the_selected_tests_are_spread_over_all():
    tests = [CallTest("f", [number], number, public=number < 2) for number in range(20)]
    assert [test.expected for test in select_tests(tests, 5)] == [0, 1, 2, 10, 19]
    assert [test.expected for test in select_tests(tests, 2)] == [0, 2]
    assert [test.expected for test in select_tests(tests, 1)] == [2]
    assert select_tests(tests, 20) == tests
    assert [test.expected for test in select_tests(tests[:2], 1)] == [0]
    for most in range(1, 25):
        chosen = select_tests(tests, most)
        assert len({test.expected for test in chosen}) == len(chosen) == min(most, 20)


def test_at_most_the_requested_number_of_tests_is_run(tmp_path: Path):
    pairs = {"inputs": [f"{n} 1" for n in range(50)], "outputs": [str(n + 1) for n in range(50)]}
    env = read("APPS", tmp_path, {**APPS, "input_output": json.dumps(pairs)}, tests=3)
    assert judged(env, env.oracle())[1]["feedback"] == "All 3 tests passed."
    for wrong in (0, 65, 2.5, True, "8"):
        with pytest.raises(InputError, match="tests must be a whole number from 1 to 64"):
            made("APPS", tests=wrong)
    with pytest.raises(InputError, match="shown must be"):
        made("MBPP", shown=-1)


# Answers that are no programs, and programs that cheat.


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        ("HumanEval", "I do not know.", "must be Python code that defines area"),
        ("HumanEval", "def volume(r): pass", "must be Python code that defines area"),
        ("MBPP", "def find(text):\n    return 1", "must be Python code that defines found"),
        ("LiveCodeBench", "class Solution: pass", "must be Python code that defines add"),
        ("APPS", "7", "must be a Python program that prints"),
    ],
)
def test_an_answer_without_the_program_is_refused(name: str, answer: str, told: str, tmp_path: Path):
    reward, info = judged(read(name, tmp_path, RECORDS[name]), answer)
    assert reward == 0.0
    assert told in info["action_error"]


CHEATS = [
    "import os\ndef found(text):\n    os._exit(0)",
    "import os\nos._exit(0)  # found",
    "import sys\ndef found(text):\n    return True\nsys.exit(0)",
    "class Any:\n    __eq__ = __bool__ = lambda *_: True\ndef found(text):\n    return Any()",
    "class Yes(str):\n    __bool__ = lambda *_: True\ndef found(text):\n    return Yes('')",
    "def found(text):\n    print('All 5 tests passed.')",
    "def found(text):\n    while True: pass",
    "import builtins\nbuiltins.bool = lambda _: True\ndef found(text):\n    return 1",
    "def found(text):\n    raise SystemExit(0)",
    "def found(text):\n    return [0] * 10**9",
    "def found(",
]


@pytest.mark.parametrize("program", CHEATS)
def test_programs_that_cheat_or_fail_get_no_reward_and_are_valid(program: str, tmp_path: Path):
    began = time.monotonic()
    reward, info = judged(read("MBPP", tmp_path, MBPP, seconds=0.3), program)
    assert (reward, info["is_success"], info["reward_valid"]) == (0.0, False, True)
    assert info["progress"] < 1.0
    assert time.monotonic() - began < 50.0


def test_a_lost_sandbox_is_no_judgement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    env = read("MBPP", tmp_path, MBPP)
    monkeypatch.setattr(problem_set, "run_tests", lambda *_, **__: ProgramJudgement(("wrong",), "lost", valid=False))
    reward, info = judged(env, "def found(text): ...")
    assert (reward, info["reward_valid"], info["is_success"]) == (0.0, False, False)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["```" * 2700, "```python\n" * 900, "(" * 8000, "from __future__ import \n" * 300])
def test_hostile_answers_are_read_in_bounded_time(name: str, text: str):
    env = made(name)
    env.reset(seed=0)
    name = problem(env).function or "print"
    began = time.process_time()
    _, reward, *_, info = env.step(f"{name} return {text}")
    assert (reward, info["reward_valid"]) == (0.0, True)
    assert time.process_time() - began < 1.0


def test_the_steps_of_a_solution_are_the_program_without_its_last_line_and_remarks():
    program = 'def f(a):\n    """Twice."""\n    # Why not.\n    b = (a +\n         a)\n\n    return b\n'
    assert Problem("?", program, function="f").outline == ["def f(a):", "    b = a + a"]
    assert Problem("?", "print 5\n").outline == []


def test_a_record_without_a_program_has_no_reference_and_no_steps(tmp_path: Path):
    env = read("LiveCodeBench", tmp_path, RECORDS["LiveCodeBench"])
    _, info = env.reset(seed=0)
    assert (info["extras"]["reference"], info["extras"]["solution_steps"]) == (None, None)
