from __future__ import annotations

import pytest
from palaestra.teachers.benchmarks.hypercube import SWEEP, TEACHERS, Record, main, run, summarise, sweep, table
from palaestra.teachers.students import HypercubeStudent


def test_the_summary_is_mean_and_standard_error_over_seeds():
    records = [Record("2d", "random", s, (0.0, m), 0.5, 1000) for s, m in enumerate((0.1, 0.2, 0.6))]
    (summary,) = summarise(records)
    assert summary.score == pytest.approx(0.3)
    assert summary.standard_error == pytest.approx((0.07 / 3) ** 0.5)  # variance (0.04 + 0.01 + 0.09) / 2
    assert (summary.lowest, summary.highest) == (0.1, 0.6)
    assert summary.milliseconds == pytest.approx(0.5)


def test_runs_are_repeatable_and_come_in_every_combination():
    records = list(sweep(["2d", "3d"], ["random", "alp-gmm"], range(2), episodes=40))
    assert len({(r.setting, r.teacher, r.seed) for r in records}) == 8
    assert records[1].mastered == run("2d", "alp-gmm", 0, episodes=40).mastered


@pytest.mark.parametrize("checkpoints", [1, 4])
def test_mastery_is_recorded_at_equal_distances_and_at_the_end(checkpoints):
    assert len(run("2d", "random", 0, episodes=41, checkpoints=checkpoints).mastered) == checkpoints


@pytest.mark.parametrize("setting", SWEEP)
@pytest.mark.parametrize("teacher", TEACHERS)
def test_every_setting_runs_with_every_teacher(setting, teacher):
    assert run(setting, teacher, 0, episodes=300).episodes == 300
    HypercubeStudent(**SWEEP[setting].student)


def test_the_command_prints_one_line_per_teacher(capsys):
    main(["--seeds", "1", "--episodes", "40", "--teachers", "random", "alp-gmm"])
    lines = capsys.readouterr().out.strip().splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["random", "alp-gmm"]


def test_the_command_refuses_no_seeds(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["--seeds", "0"])
    assert "--seeds must be at least 1" in capsys.readouterr().err


def test_the_table_gives_percent():
    records = [Record("2d", "random", s, (0.25, 0.5), 1.0, 1000) for s in range(2)]
    assert "50.0 ± 0.0" in table(summarise(records))
