"""T6: spaces by chance are repeatable, lie within what is stated, and can be learned in their run."""

from __future__ import annotations

import json

import pytest
from palaestra.teachers.benchmarks.hypercube import teach
from palaestra.teachers.benchmarks.irregular import SETTINGS, TABLE, draw_space
from palaestra.teachers.students import HypercubeStudent


def test_the_table_has_every_dimension_defect_and_noise():
    spaces = list(SETTINGS.values())
    assert {options["dimensions"] for options in spaces} == set(range(1, 7))
    assert {options["noise"] for options in spaces} == {"none", "gaussian", "bernoulli"}
    assert {isinstance(options["unlearnable"], list) for options in spaces} == {True, False}
    assert any("forget_after" in options for options in spaces)
    assert json.loads(json.dumps(SETTINGS)) == {f"space-{i:02}": draw_space(i) for i in range(len(SETTINGS))}
    assert set(TABLE.notes) == set(SETTINGS)


@pytest.mark.parametrize("number", [2, 1000, 1001, 1023, 4444, 10**9])
def test_a_space_lies_within_its_ranges_and_has_two_and_a_half_times_what_it_takes(number):
    options = draw_space(number)
    assert all(4 <= cubes <= 20 for cubes in options["cubes"])
    assert 0 <= options["irrelevant"] <= 6
    arguments = {name: value for name, value in options.items() if name not in ("length", "forget_after")}
    student = HypercubeStudent(**arguments, seed=number)
    assert student.reachable * (75 // student.gain + 1) * 2.5 == pytest.approx(options["length"], abs=1)
    assert student.reachable > 0.5 * student.competence.size


def test_an_omniscient_teacher_masters_a_space_in_its_run():
    options = draw_space(1014)
    assert teach(options, "oracle", 0, options["length"]).mastered[-1] == 1.0


def test_short_runs_are_practised_in_small_batches():
    lesson = teach({"dimensions": 1, "cubes": 2}, "oracle", 0, 160)
    assert lesson.student.practised == 160
    assert lesson.mastered[-1] == 1.0  # 152 are needed: batches of 25 would waste some
