"""The grader of scripts is right on rewritten and wrong scripts."""

from __future__ import annotations

from palaestra.benchmarks.sql.scripts import FAMILIES, grade_scripts


def test_the_grader_refuses_no_right_script_and_accepts_no_wrong_one():
    found, undecided = grade_scripts(("sqlite",), 4, 10, 100, (0.0, 0.5, 1.0))
    assert [one.grader for one in found] == [f"{name}, sqlite" for name in FAMILIES]
    for one in found:
        assert one.right > 10
        assert one.wrong > 50
        assert (one.refused, one.accepted) == (0, 0), one.failures
    assert undecided.total() < found[0].wrong / 4
