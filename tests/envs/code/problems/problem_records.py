"""What the tests of the data sets of programs share: a record of each layout, and an environment over some."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
from palaestra.envs.code.problems.problem import Problem

NAMES = ("HumanEval", "MBPP", "APPS", "LiveCodeBench")
HUMANEVAL = {
    "task_id": "T/0",
    "prompt": 'import math\n\n\ndef half(n):\n    return n / 2\n\n\ndef area(r: float) -> float:\n    """Return half '
    'the area of a circle.\n    >>> area(0)\n    0.0\n    """\n',
    "canonical_solution": "    return half(math.pi * r * r)\n",
    "test": "def check(candidate):\n    assert candidate(0) == 0\n    assert abs(candidate(2) - 6.2831853) < 1e-6\n"
    "    assert candidate(10) == 157.07963267948966\n",
    "entry_point": "area",
}
MBPP = {
    "task_id": 1,
    "text": "Write a function to find the pattern ab in a text.",
    "code": "import re\r\ndef found(text):\r\n    return re.search('ab', text)",
    "test_list": ["assert found('cab')", "assert not found('ba')", "assert not found('')", "assert found('ab')"],
    "test_setup_code": "",
    "challenge_test_list": ["assert found('aab') "],
}
APPS = {
    "problem_id": 0,
    "question": "Print the sum of two numbers.",
    "solutions": json.dumps(["print input() + 1", "a, b = map(int, input().split())\nprint(a + b)"]),
    "input_output": json.dumps({"inputs": ["1 2\n", "5 5"], "outputs": ["3\n", ["10"]]}),
    "difficulty": "interview",
    "starter_code": "",
}
LCB = {
    "question_title": "Sum",
    "question_content": "Return the sum of a and the numbers.",
    "starter_code": "class Solution:\n    def add(self, a: int, numbers: List[int]) -> int:\n        ",
    "difficulty": "hard",
    "public_test_cases": json.dumps([{"input": "1\n[2, 3]", "output": "6", "testtype": "functional"}]),
    "private_test_cases": json.dumps([{"input": "0\n[]", "output": "0", "testtype": "functional"}] * 2),
    "metadata": json.dumps({"func_name": "add"}),
}
RECORDS: dict[str, dict[str, Any]] = {"HumanEval": HUMANEVAL, "MBPP": MBPP, "APPS": APPS, "LiveCodeBench": LCB}


def made(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **kwargs).unwrapped


def read(name: str, folder: Path, *records: dict[str, Any], **kwargs: Any) -> Any:
    """An environment over these records, on the first of them."""
    file = folder / f"{name}{len(list(folder.iterdir()))}.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    env = made(name, source=str(file), split="all", **kwargs)
    env.reset(seed=0)
    return env


def problem(env: Any) -> Problem:
    return env.here().data


def judged(env: Any, answer: str) -> tuple[float, dict[str, Any]]:
    env.reset(seed=0)
    _, reward, _, _, info = env.step(answer)
    return reward, info
