from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]

SCHEMA = """
create table a (x int, y int, z int); create table b (x int);
insert into a values (1, 2, 3), (4, 5, 6); insert into b values (1);
"""
REFERENCE = {"schema": SCHEMA, "gold": "select a.x, a.y, a.z from a join b on a.x = b.x"}


def saying(query: str) -> str:
    return f"<think>tables</think><answer>{query}</answer>"


def test_the_gold_query_has_everything(episode: Maker):
    verdict = make("reasoning-sql")(episode(text=saying(REFERENCE["gold"]), sql_reference=REFERENCE))
    assert verdict.terms == {"execution": 3.0, "schema": 1.0, "ngram": 1.0, "syntax": 1.0, "format": 1.0}
    assert verdict.score == 1.0


def test_two_of_two_tables_and_three_of_four_columns(episode: Maker):
    verdict = make("reasoning-sql")(episode(text=saying("select x, y from a"), sql_reference=REFERENCE))
    # {a, x, y} of {a, b, x, y, z}
    assert verdict.terms["schema"] == pytest.approx(3 / 5)
    assert verdict.terms["execution"] == 0.0
    assert verdict.terms["syntax"] == 1.0


def test_a_query_on_a_missing_column_does_not_run(episode: Maker):
    verdict = make("reasoning-sql")(episode(text=saying("select q from a"), sql_reference=REFERENCE))
    assert verdict.valid
    assert verdict.terms["syntax"] == verdict.terms["execution"] == 0.0


def test_the_worst_right_result_is_worth_no_less_than_the_best_wrong_one(episode: Maker):
    reward = make("reasoning-sql")
    right = reward(episode(text="values (1, 2, 3)", sql_reference=REFERENCE))
    wrong = reward(episode(text=saying(REFERENCE["gold"] + " where a.x > 1"), sql_reference=REFERENCE))
    assert right.terms["execution"] == 3.0
    assert wrong.terms["execution"] == 0.0
    assert wrong.reward < right.reward
    # and for whatever text there may be: 3 + 1 against 1 + 1 + 1 + 1
    weights = reward.weights
    assert weights["execution"] >= weights["schema"] + weights["ngram"] + weights["format"]


def test_a_judge_is_asked_about_other_results_only_and_must_not_outweigh_the_right_one(episode: Maker):
    with pytest.raises(InputError, match="outranks"):
        make("reasoning-sql", judge=lambda _: 1.0)
    reward = make("reasoning-sql", execution=5.0, judge=lambda _: 0.5)
    gold = episode(text=saying(REFERENCE["gold"]), sql_reference=REFERENCE)
    assert reward(gold).terms["judge"] == 0.0
    assert reward(episode(text=saying("select 1"), sql_reference=REFERENCE)).terms["judge"] == 1.0
    silent = make("reasoning-sql", execution=5.0, judge=lambda _: None)
    assert not silent(episode(text=saying("select 1"), sql_reference=REFERENCE)).valid


def test_an_invalid_episode_stays_invalid(episode: Maker):
    assert not make("reasoning-sql")(episode(valid=False, sql_reference=REFERENCE)).valid
