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
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.engines import ENGINES, grade_query, make_engine
from palaestra.envs.sql.engines.dialects import translate_query
from palaestra.envs.sql.queries.constructs import CONSTRUCTS, add_construct
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_grammar import draw_plan, draw_query
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
}


def draw(construct, seeds):
    """Yield plans, rows and queries with a construct."""
    for seed in seeds:
        dice = Dice(np.random.default_rng(seed))
        plan = draw_plan(dice, seed % 2, 1, 2)
        rows = draw_rows(plan.schema, seed)
        query = draw_query(dice, plan, rows, 1 + seed % 3, 0)
        changed = query and add_construct(dice, plan, rows, query, construct)
        if changed:
            yield plan, rows, changed


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_a_construct_is_drawn_in_all_its_forms_and_asked_for(construct):
    texts = []
    for plan, rows, query in draw(construct, range(120)):
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
        for plan, rows, query in [*draw(construct, range(12))][:2]:
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
