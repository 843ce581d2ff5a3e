"""T7 in small: one warm-up for all teachers, equal attempts, the same numbers again; any teacher can take part."""

from __future__ import annotations

import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from palaestra.agents.grpo.config import TrainConfig, WarmUp
from palaestra.benchmarks.ladders import LADDERS, LadderCase
from palaestra.benchmarks.teachers import command as bench_teachers
from palaestra.benchmarks.teachers import language_model
from palaestra.teachers import TEACHERS
from palaestra.teachers.benchmarks.runs import plan_runs

QUICK = LadderCase(
    *("palaestra/GuessNumber-v0", "bits", (1, 1), (1, 2), 3, {"slack": 0}, WarmUp(steps=2, batch=4)), tokens=2, turns=4
)


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.setitem(language_model.LADDERS, "Quick", QUICK)
    found = language_model._ladder("Quick", 2)
    found["config"] |= {"prompts": 2, "samples": 2}
    monkeypatch.setattr(language_model, "TASKS_AT_THE_END", 2)
    monkeypatch.setattr(language_model, "TASKS_ON_THE_WAY", 1)
    return found


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[TrainConfig]:
    """The warm-ups that were made."""
    made, inner = [], language_model.warm_up_tiny

    def count(config, watch):
        made.append(config)
        return inner(config, watch)

    monkeypatch.setattr(language_model, "warm_up_tiny", count)
    return made


def test_rungs_are_measured_up_to_a_gap():
    solved = {5: 0.9, 6: 0.5, 9: 0.7, 16: 1.0}  # five rungs without success are passed over, six are not
    assert language_model.scan_rungs(lambda rung: solved.get(rung, 0.0), 5, 20) == [0.9, 0.5, 0, 0, 0.7, *[0.0] * 6]
    assert language_model.scan_rungs(lambda rung: solved.get(rung, 0.0), 10, 20)[-1] == 0.0
    assert len(language_model.scan_rungs(lambda rung: 1.0, 5, 20)) == 16


def test_teachers_share_a_warm_up_and_have_equal_attempts(setting, warmed, tmp_path: Path):
    uniform = language_model.TABLE.run(setting, "random", 0, 2, tmp_path)
    # This one screens prompts: its steps have more attempts, and it has fewer steps.
    screening = language_model.TABLE.run(setting, "speed", 0, 2, tmp_path)
    assert len(warmed) == 1
    assert uniform.curve[0][-1] == 2 * 2 * 2 <= screening.curve[0][-1]
    assert uniform.curve[0] == sorted(uniform.curve[0])
    assert {"over the run", "mixed groups"} <= set(uniform.measures)
    assert language_model.TABLE.run(setting, "random", 0, 2, tmp_path) == uniform
    language_model.TABLE.run(setting, "random", 1, 2, tmp_path)
    assert [config.seed for config in warmed] == [0, 1]


def test_two_processes_do_not_make_the_same_warm_up_and_a_killed_one_leaves_no_model(setting, warmed, tmp_path: Path):
    config = replace(TrainConfig.from_json(setting["config"]), seed=5)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: language_model.find_warm_model(config, tmp_path), range(2))
    assert first == second
    assert len(warmed) == 1
    # What a process leaves that is killed while it writes.
    first.rename(first.with_suffix(".partial"))
    (first.with_suffix(".partial") / "model.safetensors").write_bytes(b"half")
    again = language_model.find_warm_model(config, tmp_path)
    assert again == first
    assert len(warmed) == 2
    assert (first / "model.safetensors").stat().st_size > 1_000_000


def test_ones_own_teacher_takes_part(setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mine_for_t7.py").write_text(
        textwrap.dedent("""
            from palaestra.teachers import RandomTeacher

            class Mine(RandomTeacher):
                '''Uniform.'''
        """)
    )
    monkeypatch.syspath_prepend(tmp_path)
    mine = language_model.TABLE.run(setting, "mine_for_t7:Mine", 0, 2, tmp_path)
    assert mine == language_model.TABLE.run(setting, "random", 0, 2, tmp_path)


@pytest.mark.parametrize("name", language_model.SETTINGS)
def test_a_setting_holds_all_of_its_configuration(name):
    options = language_model.SETTINGS[name]
    config = language_model.LEVEL if name == "level" else LADDERS[name].climb(0)
    assert TrainConfig.from_json(options["config"]) == config
    assert bool(options["axis"]) == (name in language_model.TABLE.joint)
    if options["axis"]:
        assert config.warmup.axes[options["axis"]][1] == options["shown"] < config.axes[options["axis"]][1]


def test_all_teachers_that_can_take_part_with_fewer_seeds(monkeypatch: pytest.MonkeyPatch):
    tables = {"T7": language_model.TABLE}
    config = bench_teachers.TeacherBenchOptions(tables=("T7",), teachers=("all",))
    chosen = bench_teachers.choose_teachers(config, tables)["T7"]
    assert chosen[: len(language_model.TABLE.teachers())] == language_model.TABLE.teachers()
    assert set(TEACHERS) - set(chosen) == {"format-ladder", "format-stages"}
    places = {"T7": bench_teachers.TABLES["T7"]}
    planned = plan_runs(places, {"T7": chosen}, None, None, "here", {"mopps"})
    assert {(run.setting, run.seed) for run in planned if run.teacher == "mopps"} == {("NextDigits", 1), ("level", 1)}
    runs = [run for run in planned if run.setting == "level"]
    assert sum(run.teacher == "rlve" for run in runs) == 10
    # The first of each seed makes the warm-up that the others use.
    assert [run.teacher for run in runs[:11]] == ["random"] * 10 + ["palaestra"]
    assert {run.folder for run in runs} == {"here"}
