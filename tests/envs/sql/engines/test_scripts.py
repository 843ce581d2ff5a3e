"""Scripts on every engine: the state that they leave, what is refused, and that nothing is left for the next one."""

from __future__ import annotations

import time

import pytest
from palaestra.envs.sql.engines import QueryLimits, ScriptCase, StateProbe, grade_script, make_engine
from palaestra.envs.sql.engines.scripts import split_script
from palaestra.rewards.verifiers.sql import Database, QueryError

from .engines import engine_or_skip, every_engine
from .hostile_scripts import DEFINING, FILLING, HOSTILE

SCHEMA = (
    "CREATE TABLE store (store_id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
    "CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, store_id INTEGER REFERENCES store, price INTEGER NOT NULL);"
)
SHOP = Database(
    schema=f"{SCHEMA} INSERT INTO store VALUES (1, 'North'), (2, 'South');"
    "INSERT INTO sale VALUES (1, 1, 5), (2, NULL, 7);"
)
STATE = (StateProbe((), "SELECT * FROM store"), StateProbe((), "SELECT * FROM sale"))
BEFORE = (((1, "North"), (2, "South")), ((1, 1, 5), (2, None, 7)))
LAST = BEFORE[1][1:]
ALL = tuple((table, name, "") for table, name in [("store", "store_id"), ("store", "name"), ("sale", "sale_id")])
COLUMNS = (*ALL, ("sale", "store_id", ""), ("sale", "price", ""))


def grade(engine, text, expected, columns=None, probes=STATE, seconds=2.0):
    case = ScriptCase(SHOP, probes, expected, columns)
    return grade_script(text, [case], engine=engine, schema=SCHEMA, limits=QueryLimits(seconds))


@every_engine
@pytest.mark.parametrize(
    ("script", "stores", "sales"),
    [
        ("UPDATE sale SET price = price + 1", BEFORE[0], ((1, 1, 6), (2, None, 8))),
        (
            "DELETE FROM sale WHERE store_id = 1; DELETE FROM store WHERE store_id = 1;",
            ((2, "South"),),
            ((2, None, 7),),
        ),
        ("INSERT INTO sale (sale_id, price) VALUES (3, 9); -- the end", BEFORE[0], (*BEFORE[1], (3, None, 9))),
        ("INSERT INTO store SELECT store_id + 10, name || ';' FROM store", None, BEFORE[1]),
        (
            "UPDATE sale SET store_id = 2 FROM store WHERE store.store_id = sale.store_id",
            None,
            ((1, 2, 5), (2, None, 7)),
        ),
        (
            "WITH low AS (SELECT 6 AS top) DELETE FROM sale WHERE price < (SELECT top FROM low)",
            BEFORE[0],
            ((2, None, 7),),
        ),
        (
            "INSERT INTO store VALUES (2, 'East') ON CONFLICT (store_id) DO UPDATE SET name = excluded.name",
            None,
            BEFORE[1],
        ),
    ],
)
def test_a_script_is_judged_by_the_state_that_it_leaves(engine, script, stores, sales):
    engine_or_skip(engine)
    changed = {"10": ((1, "North"), (2, "South"), (11, "North;"), (12, "South;")), "East": ((1, "North"), (2, "East"))}
    stores = stores or next((rows for sign, rows in changed.items() if sign in script), BEFORE[0])
    assert grade(engine, script, (stores, sales)).success
    verdict = grade(engine, script, BEFORE)
    assert (verdict.success, verdict.malformed) == (False, False)


@every_engine
@pytest.mark.parametrize(
    "script",
    [
        "DELETE FROM store",
        "INSERT INTO sale VALUES (3, 9, 1)",
        "INSERT INTO sale VALUES (1, 1, 1)",
        "UPDATE sale SET price = NULL",
        "UPDATE sale SET price = 1; UPDATE sale SET store_id = 77",
    ],
)
def test_a_violated_constraint_is_an_error_in_the_words_of_the_engine(engine, script):
    engine_or_skip(engine)
    verdict = grade(engine, script, BEFORE)
    assert verdict.malformed
    assert "constraint" in verdict.feedback.lower()


@every_engine
def test_probes_tell_what_a_schema_accepts_and_refuses(engine):
    engine_or_skip(engine)
    query = "SELECT price FROM sale WHERE sale_id = 9"
    rows = ["(9, 1, 3)", "(9, 1, -3)", "(9, 1, NULL)", "(9, 8, 3)"]
    probes = tuple(StateProbe((f"INSERT INTO sale VALUES {row}",), query) for row in rows)
    table = "sale (sale_id INTEGER PRIMARY KEY, store_id INTEGER REFERENCES store, price INTEGER NOT NULL{})"
    for check, expected in (("", ((3,),)), (" CHECK (price > 0)", None)):
        script = f"DROP TABLE sale; CREATE TABLE {table.format(check)}"
        outcomes = (((3,),), ((-3,),) if expected else None, None, None)
        assert grade(engine, script, outcomes, COLUMNS, probes).success
        assert not grade(
            engine, script, (outcomes[0], None if expected else ((-3,),), None, None), COLUMNS, probes
        ).success


@every_engine
def test_tables_and_classes_of_types_are_compared(engine):
    engine_or_skip(engine)
    wanted = tuple((table, name, "text" if name == "name" else "whole") for table, name, _ in COLUMNS)
    for script, right in [
        ("ALTER TABLE sale ADD COLUMN note TEXT", False),
        ("CREATE TABLE note (note_id INTEGER)", False),
        ("CREATE INDEX i ON sale (price)", True),
        ("DROP TABLE sale; CREATE TABLE sale (sale_id BIGINT, store_id INTEGER, price INT)", True),
        ("DROP TABLE sale; CREATE TABLE sale (sale_id INTEGER, store_id INTEGER, price VARCHAR(9))", False),
    ]:
        assert grade(engine, script, (BEFORE[0],), wanted, STATE[:1]).success is right, script


@every_engine
@pytest.mark.parametrize("defines", [False, True])
def test_hostile_scripts_change_nothing_and_are_refused_with_an_error(engine, defines, tmp_path, monkeypatch):
    engine_or_skip(engine)
    monkeypatch.chdir(tmp_path)
    columns = COLUMNS if defines else None
    fills = [one.format(into="sale", values="i + 5000, NULL, 1") for one in FILLING]
    for statement in [*HOSTILE, *fills, *([] if defines else DEFINING)]:
        start = time.monotonic()
        verdict = grade(engine, statement.replace("{t}", "sale"), BEFORE, columns, seconds=0.1)
        assert time.monotonic() - start < 20, statement[:80]
        assert not verdict.success, statement[:80]
        assert verdict.valid, (statement[:80], verdict.feedback)
        if "pg_settings" not in statement:
            assert verdict.malformed, statement[:80]
            assert 0 < len(verdict.feedback) < 300
    assert list(tmp_path.iterdir()) == []
    # Nothing is left: neither rows nor tables nor settings.
    assert grade(engine, "DELETE FROM sale WHERE sale_id = 9", BEFORE, COLUMNS).success
    loaded = make_engine(engine).load(SHOP, SCHEMA if engine != "sqlite" else None)
    assert loaded.query("SELECT COUNT(*) FROM sale").rows == ((2,),)


@every_engine
def test_one_grading_leaves_nothing_for_the_next(engine):
    engine_or_skip(engine)
    emptied = (BEFORE[0], ())
    for _ in range(3):
        assert grade(engine, "DELETE FROM sale", emptied).success
        assert grade(engine, "DELETE FROM sale; DELETE FROM nothing", emptied).malformed
        assert grade(engine, "UPDATE sale SET price = price", BEFORE).success
        made = (*COLUMNS, ("leak", "a", ""))
        assert grade(engine, "CREATE TABLE leak (a INTEGER)", BEFORE, made).success
        assert grade(engine, "DROP TABLE sale", BEFORE[:1], COLUMNS[:2], STATE[:1]).success


def test_statements_are_split_outside_texts_and_comments():
    assert split_script("DELETE FROM a;; UPDATE b SET c = ';--' -- ;\n WHERE \"d;\" = 1 /* ; */;") == (
        "DELETE FROM a",
        "UPDATE b SET c = ';--'  \n WHERE \"d;\" = 1",
    )
    with pytest.raises(QueryError, match="not PRAGMA"):
        split_script("PRAGMA foreign_keys = OFF; DELETE FROM a")
    with pytest.raises(QueryError, match="no statement"):
        split_script(" ; -- DELETE FROM a")
    assert split_script("CREATE UNIQUE INDEX i ON a (b)", defines=True)
