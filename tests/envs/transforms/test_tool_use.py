"""ToolUse: SQL and Python before one answer."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from palaestra.errors import InputError

from ..sql.engines.engines import engine_or_skip, every_engine


def made(seed: int = 0, **kwargs: Any) -> tuple[Any, str]:
    env: Any = gym.make("palaestra/ToolUse-v0", disable_env_checker=True, **kwargs).unwrapped
    return env, env.reset(seed=seed)[0]


def test_sql_and_python_are_called_in_one_episode():
    env, prompt = made(level=0.5, calls=6)
    assert "\n- sql: " in prompt
    assert "\n- python: " in prompt
    query = env.here().task.data.query.sql()
    rows = len(env.here().task.data.rows)
    seen = env.step(f"```sql\n{query}\n```")[0]
    assert seen.startswith(f"```output\n{rows} row")
    assert "-\n" in seen
    assert env.step("```python\nprint(6 * 7)\n```")[0].startswith("```output\n42\n```\nYou may use tools up to 4 times")
    seen, *_, info = env.step("```sql\nSELECT nowhere\n```")
    assert seen.startswith("The query fails: no such column: nowhere.\nYou may use tools up to 3 times more.")
    assert info["action_error"] == "The query fails: no such column: nowhere."
    *_, info = env.step("```python\n1 / 0\n```")
    assert info["action_error"] is None
    *_, info = env.step('<tool_call>{"name": "sql", "arguments": {"query": "SELECT 7"}}</tool_call>')
    assert [call["name"] for call in info["extras"]["tool_calls"]] == ["sql", "python", "sql", "python", "sql"]
    assert info["extras"]["tool_errors"] == [False, False, True, True, False]
    # SQL has the higher priority.
    assert env.step("```python\nprint(1)\n```\n```sql\nSELECT 9 AS nine\n```")[0].startswith(
        "```output\n1 row:\nnine\n"
    )
    assert (
        env.step("```sql\nSELECT 1\n```")[4]["action_error"]
        == "No call is left; give the answer without a block of SQL."
    )
    *_, terminated, _, info = env.step(env.inner.oracle(env.here().task))
    assert terminated
    assert info["is_success"]


@every_engine
def test_the_solver_writes_sql_of_the_engine(engine: str):
    engine_or_skip(engine)
    for of in ("SQLResult", "TextToSQL"):
        env, _ = made(of=f"palaestra/{of}-v0", of_kwargs={"engine": engine}, tools=["sql"])
        while not env._ended:
            info = env.step(env.oracle())[4]
            assert info["action_error"] is None
        assert info["is_success"]
        assert info["extras"]["tool_errors"] == [False]


def test_a_query_as_an_answer_stands_where_no_tool_takes_it_for_a_call():
    env, _ = made(of="palaestra/TextToSQL-v0", split="test")
    gold = env.here().task.reference
    env.step(f"```sql\n{gold}\n```")
    answer = env.write_answer(env.here())
    assert answer == f"<answer>\n{gold}\n</answer>"
    assert env.step(answer)[4]["is_success"]


def test_other_questions_have_a_database_without_tables():
    env, _ = made(of="palaestra/Arithmetic-v0")
    assert env.step("```sql\nSELECT 6 * 7\n```")[0].startswith("```output\n1 row:\n6 * 7\n-----\n   42\n")
    assert env.step(env.inner.oracle(env.here().task))[4]["is_success"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tools": ["sqll"]}, "sqll"),
        ({"tools": []}, "tools"),
        ({"tools": "sql"}, "tools"),
        ({"tools": ["sql", "sql"]}, "once"),
        ({"tool_kwargs": {"search": {}}}, "search"),
        ({"tool_kwargs": {"python": {"speed": 1}}}, "speed"),
        ({"of": "palaestra/Wordle-v0"}, "Wordle"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any], told: str):
    with pytest.raises(InputError, match=told):
        made(**wrong)
