"""Constructs: each is drawn, asked for, told from its near misses, and the same on all engines."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql import text_to_sql
from palaestra.envs.sql.databases.contents import draw_rows, make_database, tidy_rows
from palaestra.envs.sql.engines import ENGINES, grade_query, make_engine
from palaestra.envs.sql.engines.dialects import translate_query
from palaestra.envs.sql.queries.constructs import CONSTRUCTS, draw_with, prepare_plan
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_plans import draw_plan
from palaestra.envs.sql.queries.query_steps import write_steps
from palaestra.envs.sql.queries.query_tree import is_ordered_query
from palaestra.envs.sql.queries.witnesses import find_witnesses
from palaestra.envs.sql.queries.wording import STYLES, write_question
from palaestra.errors import InputError

from ..engines.engines import engine_or_skip

WORDS = {
    "arithmetic": (r"\w \* \w", r"\w - \w", r"SUM\([\w.]+ [*+-] [\w.]+\)"),
    "case": (r"CASE WHEN \S+ >= \S+ THEN '\w+' WHEN \S+ >= \S+ THEN '\w+' ELSE '\w+' END",),
    "having": (r"HAVING AVG\([\w.]+\) [<>]=? \(SELECT AVG\(\w+\) FROM \w+\)",),
    "sets": tuple(rf"SELECT [\w.]+, [\w.]+ FROM .* {word} SELECT" for word in ("UNION", "INTERSECT", "EXCEPT")),
    "columns": (r"WHERE ([\w]+\.)?[a-z_]+ [<>]=? ([\w]+\.)?[a-z_]+( |$)",),
    "contains": (r"LIKE '%[a-z]+%'",),
    "window": (r"LAG\([\w.]+\) OVER \(", r"SUM\([\w.]+\) OVER \(", "PARTITION BY"),
    "self": (
        r"\(SELECT COUNT\(\*\) FROM (\w+) AS other WHERE other.(\w+) = \1.\2 AND other.(\w+) [<>] \1.\3\)",
        r"\(SELECT M(IN|AX)\(other.\w+\) FROM",
        r"FROM (\w+) JOIN \1 AS other ON other.(\w+) = \1.\2 AND other.\1_id > \1.\1_id",
        r" IS NOT DISTINCT FROM ",
        r"[<>] \(SELECT AVG\(other.\w+\) FROM",
        r"FROM (\w+) JOIN \1 AS superior ON superior.\1_id = \1.\w+_id WHERE",
    ),
    "children": (
        r"^SELECT .*\(SELECT \w+\([\w.*]+\) FROM (\w+) WHERE .*, \(SELECT \w+\([\w.*]+\) FROM (?!\1)\w+ WHERE",
        r"WHERE \(SELECT COUNT\(\*\) FROM .*\) [<>] \(SELECT COUNT\(\*\) FROM",
    ),
    "recursive": (
        r"WHERE \w+_id = \d+ UNION ALL SELECT .* FROM related JOIN",
        r"WHERE \w+_id IS NULL UNION ALL",
        r"RECURSIVE related\(top, id\)",
        r"SELECT (SUM|COUNT)\([\w.*]+\) FROM related",
        r"RECURSIVE months\(n\)",
    ),
    "view": (r"FROM \w+_\w+ AS \w+ JOIN", r"COALESCE\(\w+.number, 0\)", r"\(SELECT AVG\(number\) FROM \w+\)"),
    "note": (
        r"\w [+-] COALESCE\([\w.]+, 0\)",
        r"BETWEEN '2022-\d\d-01' AND '2023-",
        r"= '[A-Z1-9]'",
        r"WHERE \([^()]* AND [^()]*\)",
    ),
    "dirty": (
        *(r"LOWER\(TRIM\(", r"[ (]TRIM\(", r"CAST\(REPLACE\(.* AS INTEGER\)", r"'EUR ', ''\) AS DOUBLE PRECISION\)"),
        *(r"NULLIF\([\w.]+, -1\)", r"NULLIF\([\w.]+, '(N/A|-|)'\)", r"= '\.' THEN SUBSTR"),
    ),
}


def draw(construct, seeds):
    """Yield plans, rows and queries with a construct."""
    for seed in seeds:
        dice = Dice(np.random.default_rng(seed))
        plan = prepare_plan(dice, draw_plan(dice, seed % 2, 1, 2), construct)
        if plan is None:
            continue
        rows = draw_rows(plan.schema, seed)
        query = draw_with(dice, plan, tidy_rows(plan.schema, rows), 1 + seed % 3, 0, construct)
        if query:
            yield plan, rows, query


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_construct_is_drawn_in_all_its_forms_and_asked_for(construct):
    texts = []
    for plan, rows, query in draw(construct, range(150)):
        texts.append(query.sql())
        with contextlib.closing(make_database(plan.schema, rows)) as connection:
            connection.execute(texts[-1]).fetchall()
            for _, miss in near_misses(query, plan.schema):
                connection.execute(miss.sql()).fetchall()
        dice = Dice(np.random.default_rng(0))
        questions = {write_question(query, plan.schema, style, dice) for style in STYLES}
        assert len(questions) == 2
        assert all(one.isascii() and one.endswith(".") and "  " not in one for one in questions)
        assert len(write_steps(query)) >= 2
    assert len(texts) > 10
    for word in WORDS[construct]:
        assert any(re.search(word, text) for text in texts), word


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_near_misses_of_a_construct_are_told(construct):
    env: Any = gym.make("palaestra/TextToSQL-v0", constructs=construct, split="all", difficulty=0.3).unwrapped
    for seed in range(5):
        env.reset(seed=seed)
        witnesses = env.here().data.witnesses
        assert witnesses.near_misses
        assert witnesses.survivors == ()
        assert env.step(env.oracle())[4]["is_success"]


def test_a_construct_that_no_query_can_have_is_refused(monkeypatch):
    monkeypatch.setattr(text_to_sql, "_PLANS", 20)
    # Without spare columns, no two columns of this domain's tables can be compared.
    env: Any = gym.make("palaestra/TextToSQL-v0", constructs="columns", domains="restaurant", difficulty=0.0).unwrapped
    with pytest.raises(InputError, match=r"no query of \('restaurant',\) with .* has \('columns',\)"):
        env.reset(seed=0)


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "sqlite"])
def test_engines_agree_about_constructs(engine):
    engine_or_skip(engine)
    dialect = make_engine(engine).dialect
    for construct in CONSTRUCTS:
        # One query of each form.
        for plan, rows, query in {type(one[2]): one for one in draw(construct, range(30))}.values():
            with contextlib.closing(make_database(plan.schema, rows)) as connection:
                witnesses = find_witnesses(query, plan.schema, rows, connection, 1)
            verdict = grade_query(
                translate_query(query.sql(), dialect),
                witnesses.expected[:1],
                ordered=is_ordered_query(query),
                engine=engine,
                schema=plan.schema.ddl_for(dialect),
            )
            assert verdict.success, (query.sql(), verdict.feedback)
