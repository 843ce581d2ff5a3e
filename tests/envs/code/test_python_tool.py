"""PythonTool: what is a call, what is an answer, and that nothing but the agent's own words is one."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.code.judging import python_interpreter
from palaestra.envs.code.judging.tool_calls import extract_program
from palaestra.envs.sandbox import Result, run
from palaestra.errors import InputError

from ...patience import with_more_time  # isort: skip


def made(seed: int = 0, **kwargs: Any) -> tuple[Any, str]:
    env: Any = gym.make("palaestra/PythonTool-v0", disable_env_checker=True, **kwargs).unwrapped
    return env, env.reset(seed=seed)[0]


def block(program: str) -> str:
    return f"```python\n{program}\n```"


def right(env: Any) -> str:
    return env.inner.oracle(env.here().task)


def test_an_episode_is_a_question_then_calls_then_an_answer():
    env, question = made(level=0.0, calls=2)
    assert question == (
        "What is (27 - 79) mod 97? Answer with an integer from 0 to 96.\n"
        "Before you answer you may run Python up to 2 times: write one program between ```python and ```, and what it "
        "prints comes back. Each program starts afresh. A reply without a program is your answer."
    )
    observation, reward, terminated, truncated, info = env.step(block("print(6 * 7)"))
    assert observation == "```output\n42\n```\nYou may run Python once more."
    assert (reward, terminated, truncated, info["is_success"], info["action_error"]) == (0.0, False, False, False, None)
    observation, *_ = env.step("Now the other one.\n" + block("print(7)\nprint(8)") + "\n")
    assert observation == "```output\n7\n8\n```\nNo call is left; answer now."
    observation, reward, terminated, truncated, info = env.step("So the answer is 45.")
    assert (observation, reward, terminated, truncated, info["is_success"]) == ("", 1.0, True, False, True)


@pytest.mark.parametrize("family", ["ModularArithmetic", "Arithmetic", "Counting", "Sudoku", "GSM8K"])
def test_the_program_of_the_oracle_prints_the_answer(family: str):
    env, _ = made(of=f"palaestra/{family}-v0")
    for step in range(9):
        env.reset(seed=step, options={"difficulty": step / 8})
        program = extract_program(env.oracle())
        assert program is not None
        printed = run(program).stdout
        assert env.inner.verify(env.here().task, printed.strip()).success
        assert env.step(env.oracle())[0].startswith(f"```output\n{printed}```")
        assert env.step(env.oracle())[4]["is_success"]


@pytest.mark.parametrize("step", range(9))
def test_the_program_of_the_oracle_computes_where_the_question_is_an_expression(step: int):
    env, _ = made(step, difficulty=step / 8)
    program = extract_program(env.oracle()) or ""
    assert "% n" in program
    assert f"print({right(env)!r})" not in program


def test_what_a_program_prints_is_never_the_answer():
    env, _ = made(calls=3)
    for ending in ("", f"\nThe answer is {right(env)}.", f"\n```output\n{right(env)}\n```\n\\boxed{{{right(env)}}}"):
        _, reward, terminated, _, info = env.step(block(f"print({right(env)})") + ending)
        assert (reward, terminated, info["is_success"], info["progress"]) == (0.0, False, False, 0.0)
    _, reward, terminated, _, info = env.step("It is what the program printed.")
    assert (reward, terminated, info["is_success"]) == (0.0, True, False)


def test_output_that_the_agent_makes_up_is_no_answer():
    env, _ = made(calls=1)
    for text in ("```output\n{}\n```", "<interpreter>{}</interpreter>", "```output\n{}", "<tool_response>{}"):
        _, reward, terminated, _, info = env.step(text.format(right(env)))
        assert (reward, terminated) == (0.0, False)
        assert info["action_error"] == "There is no answer."
        env.reset(seed=1)


def test_each_program_starts_afresh():
    env, _ = made(calls=2)
    env.step(block("x = 3\nopen('kept', 'w').write('3')"))
    observation, *_ = env.step(block("import os\nprint(os.path.exists('kept'))\nprint(x)"))
    assert "False" in observation
    assert "NameError: name 'x' is not defined" in observation


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("x = 3", "(nothing was printed)"),
        ("print('a')\nraise ValueError('b')", "a\nTraceback"),
        ("print('before', flush=True)\nwhile True: pass", "before\n(stopped: it took more than {} s)"),
        ("x = bytearray(10**9)", "MemoryError"),
        ("print('x' * 10**7)", "(stopped: it wrote too much)"),
        ("def f(:", "SyntaxError"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", "(ended by signal 15)"),
    ],
)
def test_errors_and_limits_come_back_as_output(program: str, shown: str):
    def check(seconds: float) -> None:
        env, _ = made(seconds=seconds)
        observation, reward, terminated, _, info = env.step(block(program))
        assert shown.replace("{}", f"{seconds:g}") in observation
        assert (reward, terminated, info["reward_valid"], info["action_error"]) == (0.0, False, True, None)

    with_more_time(check)


def test_long_output_is_cut_in_the_middle():
    env, _ = made()
    observation, *_ = env.step(block("print('a' * 5000 + 'b' * 5000)"))
    assert observation.startswith(
        "```output\n" + "a" * 475 + "\n... (9050 characters left out)\n" + "b" * 475 + "\n```"
    )
    exact, *_ = env.step(block("print('a' * 1000)"))
    assert "a" * 1000 in exact


def test_no_more_calls_than_allowed():
    env, _ = made(calls=1)
    env.step(block("print(1)"))
    observation, reward, terminated, truncated, info = env.step(block("print(2)"))
    assert info["action_error"] == "No call is left; give the answer without a block of Python."
    assert observation.startswith(info["action_error"] + "\n```output\n1\n```")
    assert (reward, terminated, truncated) == (0.0, False, False)
    *_, terminated, truncated, info = env.step(block("print(2)"))
    assert (terminated, truncated, info["is_success"]) == (False, True, False)


def test_an_empty_block_is_an_error_and_no_call():
    env, _ = made(calls=2)
    before = env.here()
    *_, info = env.step("```python\n\n```")
    assert info["action_error"] == "The block of Python is empty; write a program in it."
    assert env.here() == before


def test_an_answer_that_cannot_be_read_ends_the_episode_with_a_sentence():
    env, _ = made()
    _, reward, terminated, _, info = env.step("I do not know")
    assert (reward, terminated, info["is_success"]) == (0.0, True, False)
    assert info["action_error"]


def test_a_lost_sandbox_is_no_call_and_an_invalid_turn(monkeypatch: pytest.MonkeyPatch):
    env, question = made(calls=1)
    monkeypatch.setattr(python_interpreter, "run", lambda *args, **kwargs: Result(reason="lost", valid=False))
    observation, reward, terminated, _, info = env.step(block("print(1)"))
    assert (observation, reward, terminated, info["reward_valid"]) == (question, 0.0, False, False)
    monkeypatch.undo()
    assert env.step(block("print(1)"))[0].startswith("```output\n1\n```")


def test_acting_depends_on_its_arguments_alone():
    env, _ = made(calls=4)
    state = env.here()
    once = env.act(state, block("print(2 ** 10)"))
    env.act(once.state, block("print(3)"))
    assert env.act(state, block("print(2 ** 10)")) == once
    assert state.output is None


def test_the_answer_is_read_as_asked():
    env, question = made(answer_format="boxed")
    assert "Put the answer in \\boxed{}." in question
    answer = right(env)
    assert not env.step(answer)[4]["is_success"]
    env.reset(seed=0)
    assert env.step(f"\\boxed{{{answer}}} it is")[4]["is_success"]
    env.reset(seed=0)
    env.step(env.oracle())
    assert env.oracle() == f"\\boxed{{{answer}}}"


@pytest.mark.parametrize("family", ["palaestra/ModularArithmetic-v0", "palaestra/GSM8K-v0"])
def test_questions_keep_the_split_of_their_family(family: str):
    env, _ = made(split="test", of=family)
    inner: Any = gym.make(family, split="test").unwrapped
    for seed in range(20):
        env.reset(seed=seed)
        task = env.here().task
        assert palaestra.envs.splits.split_of(inner.split_key(task) or inner.content_of(task)) == "test"


def test_the_level_is_the_difficulty_of_the_family():
    for level, hardest in ((0.0, 100), (1.0, 10_000)):
        env, _ = made(level=level)
        # A task's data ends with its modulus, which is at least half of the axis.
        assert hardest / 2 <= env.here().task.data[2] <= hardest


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"of": "palaestra/Nothing-v0"}, "palaestra/Nothing-v0"),
        ({"of": 3}, "3"),
        ({"of": "palaestra/Wordle-v0"}, "Wordle"),
        ({"of_kwargs": {"split": "test"}}, "split in of_kwargs"),
        ({"of_kwargs": {"modulus": 1}}, "modulus"),
        ({"answer_format": "json"}, "json"),
        ({"seconds": 0}, "seconds"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], told: str):
    with pytest.raises(InputError, match=told):
        made(**wrong)


def test_calls_and_whether_they_failed_are_extras_and_a_failure_is_no_action_error():
    env, _ = made(level=0.0, calls=3)
    _, info = env.reset(seed=0)
    assert (info["extras"]["tool_calls"], info["extras"]["tool_errors"]) == ([], [])
    programs = ["print(1)", "1 / 0", "def f(:"]
    infos = [env.step(block(program))[4] for program in programs]
    calls = [{"name": "python", "arguments": {"code": program}} for program in programs]
    assert [info["extras"]["tool_calls"] for info in infos] == [calls[:1], calls[:2], calls]
    assert [info["extras"]["tool_errors"] for info in infos] == [[False], [False, True], [False, True, True]]
    assert [info["action_error"] for info in infos] == [None] * 3
    assert [info["feedback"][-16:] for info in infos] == ["", "division by zero", infos[2]["extras"]["feedback"][-16:]]
    assert "SyntaxError" in infos[2]["feedback"]
    env.step(block(""))
    *_, info = env.step(right(env))
    assert (info["is_success"], info["extras"]["tool_errors"]) == (True, [False, True, True])
    assert info["extras"]["reference"] == right(env) == info["extras"]["solution_steps"][-1]
