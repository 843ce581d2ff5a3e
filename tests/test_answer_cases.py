"""Replies and files as people and models write them, each with the score that it deserves: `answer_cases.jsonl`.

In a reply, {r} stands for the right answer, {w} for a wrong one and {t} for the text of the right option.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.rewards import verify

from .envs.replies.hedges import HEDGES

CASES = [json.loads(line) for line in Path(__file__).with_name("answer_cases.jsonl").read_text("utf-8").splitlines()]
REWRITES = {
    "{r:,}": lambda right: f"{int(right):,}",
    "{r:plain}": lambda right: right.replace(",", ""),
    "{r:pctspace}": lambda right: right.rstrip("%") + " %",
    "{r:point0}": lambda right: right + ".0",
    "{r:last}": lambda right: right,
}


def cases(kind: str) -> list[dict[str, Any]]:
    return [case for case in CASES if case["kind"] == kind]


def shown(case: dict[str, Any]) -> str:
    return str(case.get("about") or case.get("reply") or case.get("answer"))


@pytest.mark.parametrize("case", cases("verify"), ids=shown)
def test_a_reply_is_read_as_it_is_meant(case: dict[str, Any]):
    found = verify(case["verifier"], case["answer"], case["reference"], **case["options"])
    assert found.score == case["expected"], found


@pytest.mark.parametrize("case", cases("env_reply"), ids=shown)
def test_a_reply_in_an_environment_is_read_as_it_is_meant(case: dict[str, Any]):
    if case["env"].startswith("palaestra/ReasoningGym"):
        pytest.importorskip("reasoning_gym")
    env: Any = gym.make(case["env"], **case["kwargs"])
    env.reset(seed=case["seed"])
    right = env.unwrapped.oracle()
    wrong = next(letter for letter in "ABCD" if letter != right) if case["wrong"] == "letter" else case["wrong"]
    option = re.search(rf"^{right}\) (.+)$", env.unwrapped.here().prompt, re.MULTILINE)
    numbers = re.findall(r"-?[0-9.]+", right)
    reply = case["reply"]
    for mark, text in {
        "{r rewritten: double quotes}": json.dumps(numbers),
        "{r rewritten: numbers without quotation marks}": f"[{', '.join(numbers)}]",
        "{r rewritten: reversed}": str(numbers[::-1]),
        "{r}": right,
        "{w}": wrong,
        "{t}": option[1] if option else "",
    }.items():
        reply = reply.replace(mark, text)
    assert env.step(reply)[1] == case["expected"], reply


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("case", cases("dataset"), ids=shown)
def test_a_file_is_asked_and_judged_as_it_is_meant(case: dict[str, Any], tmp_path: Path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in case["rows"]))
    settings = {"split": "all", **case.get("options", {})}
    env: Any = gym.make(case["env"], source=str(tmp_path / "a.jsonl"), **settings).unwrapped
    usable = [row for row in case["rows"] if (answer := row.get("answer", "")) is not None and answer == answer]
    assert len(env.rows) == len({json.dumps(row) for row in usable})
    for row in env.rows:
        env.reset(options={"row": row})
        right = env.oracle(env.here())
        rewrite = REWRITES.get(case["reply"])
        assert env.step(rewrite(right) if rewrite else case["reply"].replace("{r}", right))[1] == case["expected"]


def ask_program(env_id: str, record: dict[str, Any], reply: str, tmp_path: Path) -> float:
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    env = gym.make(env_id, source=str(tmp_path / "a.jsonl"), split="all")
    env.reset(seed=0)
    return float(env.step(reply)[1])


@pytest.mark.parametrize("case", cases("apps"), ids=shown)
def test_programs_are_graded_as_published_graders_do(case: dict[str, Any], tmp_path: Path):
    tests = {name: case[name] for name in ("inputs", "outputs", "fn_name") if case[name] is not None}
    record = {"problem_id": 1, "question": "Q", "difficulty": "introductory", "input_output": json.dumps(tests)}
    record |= {"solutions": json.dumps([case["program"]]), "starter_code": ""}
    reply = f"```python\n{case['program']}\n```"
    assert ask_program("palaestra/APPS-v0", record, reply, tmp_path) == case["expected"]


@pytest.mark.parametrize("case", cases("humaneval"), ids=shown)
def test_programs_are_found_in_replies(case: dict[str, Any], tmp_path: Path):
    record = {"task_id": "t/0", "prompt": "def total(xs):\n", "canonical_solution": "    return sum(xs)\n"}
    record |= {"test": "def check(candidate):\n    assert candidate([1, 2]) == 3\n", "entry_point": "total"}
    assert ask_program("palaestra/HumanEval-v0", record, case["reply"], tmp_path) == case["expected"]


FAMILIES = [
    *("palaestra/Arithmetic-v0", "palaestra/GSM8K-v0", "palaestra/MATH-v0", "palaestra/WordProblem-v0"),
    *("palaestra/MultipleChoiceQuestions-v0", "palaestra/Sequences-v0", "palaestra/Dataset-v0", "palaestra/AIME-v0"),
]
PLAIN = [
    *("{r}", "The answer is {r}.", "**{r}**", "\\boxed{{r}}", "<answer>{r}</answer>", "So the final answer is {r}"),
    *("{r}\n\nThis follows from what was said.", "It is {r}, not {w}.", "The answer is {r} because of that."),
    *("\\boxed{{w}}\n\nWait, that is wrong. The answer is {r}.", "First {w} seemed right.\n\n**Answer:** {r}"),
    *("<think>{w}?</think>\n{r}", "{r}<|im_end|>", "<|im_start|>assistant\n{r}<|im_end|>", "*{r}*", "Answer: {r}"),
]


@pytest.mark.parametrize("env_id", FAMILIES)
def test_no_family_takes_a_hedge_and_every_one_takes_plain_words(env_id: str):
    if env_id.endswith("MATH-v0"):
        pytest.importorskip("sympy")
    env: Any = gym.make(env_id, split="all").unwrapped
    for seed in range(3):
        env.reset(seed=seed)
        state, right = env.get_state(), env.oracle(env.here())
        wrong = next(letter for letter in "ABCD" if letter != right) if "Choice" in env_id else "12345"
        for forms, expected in ((HEDGES, 0.0), (PLAIN, 1.0)):
            for form in forms:
                env.set_state(state)
                reply = form.replace("{r}", right).replace("{w}", wrong)
                assert env.step(reply)[1] == expected, (reply, env_id)


def test_the_cases_are_all_used():
    kinds = {"verify", "env_reply", "dataset", "apps", "humaneval"}
    assert {case["kind"] for case in CASES} == kinds
    assert len(CASES) == 116
    assert all(math.isfinite(case["expected"]) for case in CASES)
    assert palaestra.envs.ids()
