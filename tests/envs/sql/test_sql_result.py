"""SQLResult: the result asked for is the query's on the rows shown, in any spelling, and no other."""

from __future__ import annotations

import re
import sqlite3
from typing import Any

import gymnasium as gym
import pytest
from palaestra.envs.question import Task
from palaestra.envs.sql.queries.query_tree import SelectQuery, is_ordered_query
from palaestra.envs.sql.sql_result import ResultTask, SQLResult, read_rows
from palaestra.rewards.verifiers.sql import Database

from .queries.shop import PRICE, QUERY  # isort: skip

FAMILY = SQLResult()
ROWS = ((1.5, "North Hall"), (1 / 3, None))


def judge(answer: str, ordered: bool = False, rows: tuple = ROWS) -> bool:
    query = QUERY if ordered else SelectQuery((PRICE,), "sale")
    return FAMILY.verify(Task("", rows, data=ResultTask(query, Database(schema=""), rows)), answer).success


def test_the_result_is_that_of_the_query_on_the_rows_shown():
    """The tables are made again from the text of the prompt alone."""
    env: Any = gym.make("palaestra/SQLResult-v0", disable_env_checker=True, split="all").unwrapped
    for seed in range(40):
        prompt, info = env.reset(seed=seed)
        shown, _, rest = prompt.partition("\n\n")
        connection = sqlite3.connect(":memory:")
        for line in shown.split("\n"):
            if head := re.fullmatch(r"(\w+) \((.+)\)", line):
                table = head[1]
                connection.execute(f"CREATE TABLE {table} ({head[2]})")
                continue
            cells = [None if cell == "NULL" else cell for cell in line.split(" | ")]
            numbers = [float(cell) if cell and re.fullmatch(r"[\d.]+", cell) else cell for cell in cells]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(cells))})", numbers)
        rows = connection.execute(rest.split("```sql\n")[1].split("\n```")[0]).fetchall()
        text = "\n".join(" | ".join("NULL" if cell is None else f"{cell}" for cell in row) for row in rows)
        assert env.step(f"```\n{text}\n```")[4]["is_success"], text
        assert ("in their order" in prompt) is is_ordered_query(env.here().data.query)
        assert info["extras"]["solution_steps"][0].startswith(("The rows come", "First side: The rows come"))
        assert len(rows) > 1 or len(rows[0]) > 1 or isinstance(rows[0][0], str) or rows[0][0] > 50


@pytest.mark.parametrize(
    "answer",
    [
        "1.5 | North Hall\n0.33 | NULL",
        "0.3333 | null\n1.50 | North Hall",
        "```\n1.5, 'North Hall'\n.33, NULL\n```",
        "(1.5, 'North Hall'),\n(0.333333, None)",
        "| price | name |\n|---|---|\n| 1.5 | North Hall |\n| 0.33 | NULL |",
        "First thoughts.\n```text\n1.5\tNorth Hall\n0.33\tNULL\n```\nThat is all.",
    ],
)
def test_spellings_of_the_right_rows(answer: str):
    assert judge(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "1.5 | North Hall",
        "1.5 | North Hall\n0.33 | NULL\n0.33 | NULL",
        "1.5 | North Hall\n1.5 | North Hall",
        "1.5 | north hall\n0.33 | NULL",
        "1.51 | North Hall\n0.33 | NULL",
        "1.5 | North Hall\nnan | NULL",
        "1.5\n0.33",
        "",
    ],
)
def test_other_rows_are_wrong(answer: str):
    assert not judge(answer)


def test_the_order_counts_where_the_query_has_one():
    assert judge("1.5 | North Hall\n0.33 | NULL", ordered=True)
    assert not judge("0.33 | NULL\n1.5 | North Hall", ordered=True)


def test_rows_are_read_line_by_line():
    assert read_rows('a | b\n\n`c` | "d"') == [["a", "b"], ["c", "d"]]
    assert read_rows("(1, 'x'),\n(2, 'y')") == [["1", "x"], ["2", "y"]]
    assert read_rows("(1,)") == [["1"]]
