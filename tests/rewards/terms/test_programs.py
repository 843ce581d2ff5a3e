from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def reward_of(name: str, episode: Episode, **options: Any) -> float:
    return make(name, **options)(episode).reward


def test_the_share_of_the_tests_that_passed(episode: Maker):
    half = episode(success=False, tests=["", "wrong", "", "error"])
    assert reward_of("tests-passed", half) == 0.5
    assert reward_of("tests-passed", half, power=2.0) == 0.25
    assert reward_of("tests-passed", half, partial=0.4) == pytest.approx(0.2)
    assert reward_of("tests-passed", half, partial=0.0) == 0.0


def test_a_success_gets_1_and_a_failure_that_passed_all_tests_less(episode: Maker):
    for options in ({}, {"partial": 0.0}, {"power": 5.0}):
        assert reward_of("tests-passed", episode(tests=["", ""]), **options) == 1.0
    # Programs may also have to be fast.
    slow = episode(success=False, tests=["", "", ""])
    nearly = episode(success=False, tests=["", "", "wrong"])
    assert reward_of("tests-passed", nearly) < reward_of("tests-passed", slow) < 1.0


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        ((["", "wrong"]), -0.3),
        ((["wrong", "", "error"]), -0.6),
        ((["", "limit"]), -0.6),
        ((["syntax", "syntax"]), -1.0),
        (([]), -1.0),
        ((None), -1.0),
    ],
)
def test_values_of_coderl_by_the_worst_test(tests: list[str] | None, expected: float, episode: Maker):
    assert reward_of("error-kind", episode(success=False, tests=tests)) == expected


def test_a_program_that_passes_gets_1(episode: Maker):
    assert reward_of("error-kind", episode(tests=["", ""])) == 1.0


def test_adaptive_feedback_of_rltf_grows_with_the_share(episode: Maker):
    def adaptive(*tests: str) -> float:
        return reward_of("error-kind", episode(success=False, tests=list(tests)), adaptive=True)

    # -0.3 + 1.3 * passed / all; the programs that fail otherwise keep their value.
    assert adaptive("wrong", "wrong") == pytest.approx(-0.3)
    assert adaptive("", "wrong", "", "") == pytest.approx(-0.3 + 1.3 * 0.75)
    assert adaptive("", "", "", "error") == -0.6
    assert adaptive("syntax") == -1.0


def test_values_must_be_in_order():
    with pytest.raises(InputError, match=r"error must be a finite number of at most -0\.9"):
        make("error-kind", wrong=-0.9)
    with pytest.raises(InputError, match="wrong must be a finite number of at most 1"):
        make("error-kind", wrong=1.0)
    with pytest.raises(InputError, match="penalty must be a finite number of at most -2"):
        make("syntax", bonus=-2.0)


@pytest.mark.parametrize(
    ("tests", "expected"), [(["syntax"], -1.0), (None, -1.0), (["error"], 0.5), (["", "wrong"], 0.5), ([""], 0.5)]
)
def test_code_that_python_can_read(tests: list[str] | None, expected: float, episode: Maker):
    assert reward_of("syntax", episode(success=False, tests=tests), bonus=0.5) == expected


@pytest.mark.parametrize("tests", [["passed"], "wrong", [None], {"": 1}, [True]])
def test_other_tests_are_refused(tests: Any, episode: Maker):
    for name in ("tests-passed", "error-kind", "syntax"):
        with pytest.raises(InputError, match="the extra 'tests' must be a list of '', 'wrong', 'error'"):
            reward_of(name, episode(success=False, tests=tests))


def test_a_failure_gets_a_tenth_for_each_milestone(episode: Maker):
    reward = make("milestones")
    assert reward(episode(success=False, milestones=[0, 7])).reward == -10.0
    assert reward(episode(success=False, milestones=(3, 7))).reward == pytest.approx(-9.7)
    assert reward(episode(success=False, milestones=None)).reward == -10.0


def test_milestones_never_outrank_a_score(episode: Maker):
    reward = make("milestones")
    most = reward(episode(success=False, milestones=[50, 50])).reward
    assert most == pytest.approx(-9.3)
    assert reward(episode(progress=0.0, milestones=[0, 7])).reward == 0.0
    assert reward(episode(milestones=[0, 7])).reward == 1.0
    with pytest.raises(InputError, match=r"failure must be a finite number of at most -0\.7"):
        make("milestones", failure=-0.5)


@pytest.mark.parametrize("found", [3, [1], [2, 1], [-1, 2], "ab"])
def test_other_milestones_are_refused(found: Any, episode: Maker):
    with pytest.raises(InputError, match=r"must be \(reached, of how many\), or None, not"):
        make("milestones")(episode(success=False, milestones=found))


SCHEMA = """
create table a (x int, y int, z int); create table b (x int);
insert into a values (1, 2, 3), (4, 5, 6); insert into b values (1);
"""


REFERENCE = {"schema": SCHEMA, "gold": "select a.x, a.y, a.z from a join b on a.x = b.x"}


def saying(query: str) -> str:
    return f"<think>tables</think><answer>{query}</answer>"


def test_the_gold_query_has_everything(episode: Maker):
    verdict = make("reasoning-sql")(episode(text=saying(REFERENCE["gold"]), sql_reference=REFERENCE))
    assert verdict.terms == {"execution": 3.5, "schema": 1.0, "ngram": 1.0, "syntax": 1.0, "format": 1.0}
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


def test_the_worst_right_result_gets_no_less_than_the_best_wrong_one(episode: Maker):
    reward = make("reasoning-sql")
    right = reward(episode(text="values (1, 2, 3)", sql_reference=REFERENCE))
    wrong = reward(episode(text=saying(REFERENCE["gold"] + " where a.x > 1"), sql_reference=REFERENCE))
    assert right.terms["execution"] == 3.5
    assert wrong.terms["execution"] == 0.0
    assert wrong.reward < right.reward
    # and for whatever text there may be: 3 + 1 against 1 + 1 + 1 + 1
    weights = reward.weights
    assert weights["execution"] >= weights["schema"] + weights["ngram"] + weights["format"]


def test_a_judge_is_asked_about_other_results_only_and_must_not_outweigh_the_right_one(episode: Maker):
    with pytest.raises(InputError, match="outranks"):
        make("reasoning-sql", judge=lambda _: 1.0)
    reward = make("reasoning-sql", execution=5.5, judge=lambda _: 0.5)
    gold = episode(text=saying(REFERENCE["gold"]), sql_reference=REFERENCE)
    assert reward(gold).terms["judge"] == 0.0
    assert reward(episode(text=saying("select 1"), sql_reference=REFERENCE)).terms["judge"] == 1.0
    silent = make("reasoning-sql", execution=5.5, judge=lambda _: None)
    assert not silent(episode(text=saying("select 1"), sql_reference=REFERENCE)).valid


def test_an_invalid_episode_stays_invalid(episode: Maker):
    assert not make("reasoning-sql")(episode(valid=False, sql_reference=REFERENCE)).valid


def test_the_query_of_a_reply_is_its_last_block_of_sql_behind_the_thoughts(episode: Maker):
    reward = make("reasoning-sql")
    block = f"```sql\n{REFERENCE['gold']}\n```"
    assert reward(episode(text=f"Here it is.\n{block}", sql_reference=REFERENCE)).terms["execution"] == 3.5
    assert reward(episode(text=f"<think>{block}", sql_reference=REFERENCE)).terms["execution"] == 0.0


def test_partial_credit_for_clauses_stays_below_a_success(episode: Maker):
    reward = make("sql-clauses")
    gold, join_only = REFERENCE["gold"], "select a.x from a join b on a.x = b.x"
    assert reward(episode(text=saying(gold), success=True, sql_reference=REFERENCE)).reward == 1.0
    # One of three columns, and all of the tables and the join.
    wrong = reward(episode(text=saying(join_only), success=False, sql_reference=REFERENCE)).reward
    assert wrong == pytest.approx(0.5 * (1 / 3 + 1) / 2)
    for text in (saying(gold), f"answer {gold}", f"```sql\nanswer {gold}\n```"):
        assert reward(episode(text=text, success=False, sql_reference=REFERENCE)).reward == 0.5
    assert reward(episode(text="no query", success=False, sql_reference=REFERENCE)).reward == 0.0
    with pytest.raises(InputError, match="partial"):
        make("sql-clauses", partial=1.0)
