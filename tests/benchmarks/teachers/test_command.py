"""``palaestra bench teachers`` in small: it resumes exactly, is the same with any number of processes, takes a teacher
from a module, and one that breaks spoils nothing else."""

from __future__ import annotations

import html
import json
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from palaestra.benchmarks.teachers import command as bench_teachers
from palaestra.benchmarks.teachers.figures import compare_to_uniform, format_estimate
from palaestra.benchmarks.teachers.page import describe_row, rank_teachers
from palaestra.errors import InputError
from palaestra.estimates import MeanEstimate
from palaestra.scripts.cli import main
from palaestra.teachers.benchmarks import categories, cost, hypercube, regret, runs, selection
from palaestra.teachers.benchmarks.runs import BenchmarkRun, Failure, Records, play_all
from palaestra.teachers.benchmarks.statistics import Line
from palaestra.teachers.benchmarks.table import Table

SETTINGS = ["2d", "2d-bernoulli", "R1 transfer"]
SMALL = [
    "--tables",
    "T1",
    "T3",
    "--settings",
    *SETTINGS,
    "--teachers",
    "random",
    "sec",
    "--seeds",
    "2",
    "--episodes",
    "12",
]
MODULE = """
    import contextlib
    import os
    import pathlib
    import time
    from palaestra.teachers.arms.arm_teacher import ArmTeacher
    import numpy as np

    class Last(ArmTeacher):
        '''Always the last arm.'''
        def __init__(self, space, *, arm=-1, **common):
            super().__init__(space, settings={"arm": arm}, **common)
            self.arm = arm
        def _probabilities(self):
            return np.eye(self.arms.n)[self.arm]
        def _learn(self, evidence):
            pass

    class Slow(Last):
        '''Takes its time, and for ever once there are as many results as a file "hold" says.'''
        def _learn(self, evidence):
            time.sleep(0.02)
            here = pathlib.Path(__file__).parent
            with contextlib.suppress(FileNotFoundError):
                while len((here / "out" / "results.jsonl").read_bytes().splitlines()) >= int(
                    (here / "hold").read_bytes()
                ):
                    time.sleep(0.01)

    class Broken(Last):
        '''Cannot learn.'''
        def _learn(self, evidence):
            raise ZeroDivisionError("a teacher's own defect")

    class Deadly(Last):
        '''Takes its process along.'''
        def _learn(self, evidence):
            os._exit(3)
"""


def bench(*arguments: object) -> int:
    return main(["bench", "teachers", *map(str, arguments)])


def rows(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def comparable(found: list[dict]) -> dict:
    """Records by key, without the times that a clock measured."""
    return {(r["table"], r["setting"], r["teacher"], r["seed"]): {**r, "calls": None} for r in found}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "out"
    assert bench(*SMALL, "--out", folder, "--jobs", 1) == 0
    return folder


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "mine_for_bench.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    return "mine_for_bench"


@pytest.fixture
def no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plots take longer than such short runs."""
    monkeypatch.setattr(bench_teachers, "_report", lambda *arguments: None)


def test_every_run_is_a_record_with_the_options_that_made_it(done: Path):
    found = comparable(rows(done))
    assert len(found) == len(rows(done)) == len(SETTINGS) * 2 * 2
    made = found["T1", "2d", "sec", 1]["made"]
    assert made["length"] == 12
    assert made["setting"] == {"dimensions": 2, "cubes": 10}
    assert made["teacher"]["tau"] == 1.0


@pytest.mark.usefixtures("no_page")
def test_two_processes_give_the_same_numbers(done: Path, tmp_path: Path):
    assert bench(*SMALL, "--out", tmp_path, "--jobs", 2) == 0
    assert comparable(rows(tmp_path)) == comparable(rows(done))


@pytest.mark.usefixtures("no_page")
def test_a_stopped_benchmark_goes_on_where_it_was(done: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kept = (done / "results.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "results.jsonl").write_bytes(b"".join(kept[:-3]) + kept[-3][:40])
    played: list[BenchmarkRun] = []

    def counted(left, jobs, peers):
        played.extend(left)
        return play_all(left, jobs, peers)

    monkeypatch.setattr(bench_teachers, "play_all", counted)
    assert bench(*SMALL, "--out", tmp_path) == 0
    assert len(played) == 3
    assert comparable(rows(tmp_path)) == comparable(rows(done))
    assert bench(*SMALL, "--out", tmp_path) == 0
    assert len(played) == 3


@pytest.mark.usefixtures("no_page")
def test_what_was_done_before_ctrl_c_or_a_kill_is_kept_and_nothing_goes_on_running(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    arguments = ["--tables", "T3", "--settings", "R1 transfer", "--teachers", "random", f"{module}:Slow"]
    arguments += ["--seeds", "4", "--episodes", "20", "--jobs", "2", "--out", str(tmp_path / "out")]
    # A shell lets the jobs in its background ignore Ctrl-C, and their children with them.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{heed}; import palaestra.scripts.cli as cli; raise SystemExit(cli.main())"]
    command += ["bench", "teachers"]
    results = tmp_path / "out" / "results.jsonl"
    hold = tmp_path / "hold"
    for stop, exit_code, most in ((signal.SIGINT, 130, 3), (signal.SIGKILL, -signal.SIGKILL, 6)):
        # It is not done before it is stopped.
        hold.write_text(str(most))
        kept = results.read_bytes() if results.exists() else b""
        with subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True) as process:
            while len(results.read_bytes() if results.exists() else b"") <= len(kept) and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(stop)
            hold.unlink()
            # The pipe has no end before the last worker has ended.
            said = process.communicate(timeout=120)[1]
        assert process.returncode == exit_code
        assert ("the same command goes on where it was" in said) == (stop == signal.SIGINT)
        assert results.read_bytes().startswith(kept)
        assert len(kept) < len(results.read_bytes())
    left = len(rows(tmp_path / "out"))
    assert 2 <= left < 8
    assert bench(*arguments) == 0
    assert len(comparable(rows(tmp_path / "out"))) == len(rows(tmp_path / "out")) == 8


def test_results_of_another_length_are_refused_and_kept(done: Path, capsys: pytest.CaptureFixture[str]):
    before = (done / "results.jsonl").read_bytes()
    assert bench(*SMALL[:-1], 13, "--out", done) == 2
    assert "made with another length (12)" in capsys.readouterr().err
    assert (done / "results.jsonl").read_bytes() == before


@pytest.mark.usefixtures("no_page")
def test_more_seeds_and_teachers_add_to_what_is_there(done: Path, tmp_path: Path):
    (tmp_path / "results.jsonl").write_bytes((done / "results.jsonl").read_bytes())
    arguments = ["--tables", "T1", "--settings", "3d", "2d", "--teachers", "random", "--seeds", "3", "--episodes", "12"]
    assert bench(*arguments, "--out", tmp_path) == 0
    assert len(rows(tmp_path)) == len(rows(done)) + 1 + 3


@pytest.mark.usefixtures("no_page")
def test_several_settings_end_in_a_comparison_over_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--tables", "T6", "--teachers", "random", "palaestra", "--seeds", "1", "--episodes", "12"]
    assert bench(*arguments, "--settings", "space-06", "space-07", "--out", tmp_path, "--jobs", 1) == 0
    shown = capsys.readouterr().out
    assert "T6 over its settings" in shown
    assert "worst rank" in shown
    assert "of 2" in shown


def test_a_damaged_line_is_named(tmp_path: Path):
    (tmp_path / "results.jsonl").write_text('{"table": 1}\n')
    with pytest.raises(InputError, match="line 1 "):
        Records(tmp_path / "results.jsonl")


def test_the_page_names_every_table_and_needs_no_network(done: Path):
    page = (done / "report.html").read_text()
    for name in ("T1", "T3"):
        assert f'<h2 id="{name}">' in page
    assert page.count("<svg") >= 4
    assert "http" not in re.sub(r'(xmlns(:\w+)?|rdf:resource)="[^"]*"|<!DOCTYPE[^>]*>', "", page)
    for word in ("sec", "random", "2d-bernoulli", "R1 transfer"):
        assert word in page


def test_the_summary_has_means_and_paired_gains(done: Path):
    summary = json.loads((done / "summary.json").read_text())
    line = next(line for line in summary["T3"] if (line["setting"], line["teacher"]) == ("R1 transfer", "sec"))
    found = comparable(rows(done))
    gains = [
        found["T3", "R1 transfer", "sec", s]["score"] - found["T3", "R1 transfer", "random", s]["score"] for s in (0, 1)
    ]
    assert line["gain"]["mean"] == pytest.approx(sum(gains) / 2)


def test_ones_own_teacher_joins_and_broken_ones_spoil_nothing(
    module: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    own = [f"{module}:Last arm=0", f"{module}:Broken", f"{module}:Deadly"]
    added = [part for name in own for part in ("--teacher", name)]
    out = tmp_path / "out"
    chosen = ["--tables", "T3", "--settings", "R1 transfer", "--teachers", "random", *added]
    assert bench(*chosen, "--seeds", 2, "--episodes", 10, "--out", out) == 1
    error = capsys.readouterr().err
    assert f"teacher '{module}:Broken' failed in 2 runs of T3" in error
    assert error.count("ZeroDivisionError: a teacher's own defect") == 1
    assert re.search(rf"own defect \(in \w+, \S*{module}\.py:\d+\)", error)
    assert "its process died" in error
    found = comparable(rows(out))
    assert {teacher for _, _, teacher, _ in found} == {"random", own[0]}
    assert len(found) == 2 * 2
    assert found["T3", "R1 transfer", own[0], 0]["made"]["teacher"]["arm"] == 0
    assert "a teacher&#39;s own defect" in (out / "report.html").read_text()


def test_without_any_run_left_no_process_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runs, "_pool", None)
    assert list(play_all([], 2)) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--tables", "T0"], "unknown table 'T0'"),
        (["--teachers", "alp-gm"], "did you mean 'alp-gmm'"),
        (["--teachers", "alp-gmm histori=3"], "histori"),
        (["--teacher", "nowhere:Teacher"], "cannot be imported"),
        (["--tables", "T1", "--settings", "4d"], "unknown setting '4d'"),
        (["--tables", "T4", "--teachers", "alp-gmm"], "fits none of T4"),
        (["--seeds", "0"], "--seeds must be at least 1"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert bench(*arguments, "--out", tmp_path / "out") == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_failures_are_told_once_for_each_teacher_and_error():
    failures = [Failure(BenchmarkRun(bench_teachers.TABLES["T1"], "2d", "x", s, 10), "E: same") for s in range(4)]
    assert bench_teachers.summarise_failures(failures) == [
        "teacher 'x' failed in 4 runs of T1, first in '2d' with seed 0: E: same"
    ]


def test_the_environment_is_left_as_it_was():
    before = dict(os.environ)
    with runs._pool(1, {}):
        assert os.environ["OMP_NUM_THREADS"] == "1"
    assert dict(os.environ) == before


def line(setting: str, teacher: str, score: float) -> Line:
    return Line(setting, teacher, MeanEstimate(score, score, score, 2), None, {}, {})


def test_teachers_alike_share_a_rank():
    alike = [line("a", name, 1.0) for name in ("x", "1", "2", "3", "4")]  # rank 2 each, so that x has 2 + 4 in all
    apart = [line("b", name, -place) for place, name in enumerate(("y", "1", "2", "3", "x", "4"))]
    order = rank_teachers(categories.TABLE, [*alike, line("a", "y", 0.0), *apart])  # and y 5 + 0
    assert order.index("y") < order.index("x")


@pytest.mark.parametrize(("seeds", "verdict"), [(2, ""), (4, ""), (5, "better"), (20, "better")])
def test_fewer_than_five_seeds_give_no_verdict(seeds, verdict):
    gain = MeanEstimate(0.2, 0.1, 0.3, seeds)
    assert compare_to_uniform(Line("2d", "sec", gain, gain, {}, {}), hypercube.TABLE) == verdict


@pytest.mark.parametrize(("best", "is_told"), [(0.0, True), (0.9, False)])
def test_scores_that_are_all_zero_are_told_to_say_nothing(best: float, is_told: bool, tmp_path, capsys):
    write_results(tmp_path, best, 0.0)
    arguments = ["--tables", "T1", "--settings", "2d", "--teachers", "random", "sec", "--episodes", 12]
    assert bench(*arguments, "--seeds", 3, "--out", tmp_path) == 0
    assert ("Every score on 2d is 0" in " ".join(capsys.readouterr().out.split())) == is_told


def write_results(folder: Path, best: float, worst: float, step: float = 0.0) -> None:
    """Write results of three seeds: "sec" has the score ``best``, uniform choice ``worst``, and each is higher by
    ``step`` with the next seed."""
    made = {"length": 12, "setting": {"dimensions": 2, "cubes": 10}}
    lines = []
    for teacher, score in (("random", worst), ("sec", best)):
        options = json.loads(json.dumps(runs.resolve_options(teacher)))
        for seed in range(3):
            row = {"table": "T1", "setting": "2d", "teacher": teacher, "seed": seed, "score": score + seed * step}
            row |= {"made": {**made, "teacher": options}, "curve": [[], []], "measures": {}, "heat": None}
            lines.append(json.dumps({**row, "calls": {}, "also": {}}))
    (folder / "results.jsonl").write_text("".join(line + "\n" for line in lines))


def test_equal_gains_of_three_seeds_are_not_called_better(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    write_results(tmp_path, 0.9, 0.1, step=0.001)
    arguments = ["--tables", "T1", "--settings", "2d", "--teachers", "random", "sec", "--episodes", 12]
    assert bench(*arguments, "--seeds", 3, "--out", tmp_path) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "80.0" in shown
    assert "better" not in shown
    assert "3 seeds; a verdict takes 5" in shown
    page = (tmp_path / "report.html").read_text()
    assert not re.search(r'<small class="[^"]*better', page)
    assert "best on average" not in page


@pytest.mark.usefixtures("no_page")
def test_a_table_without_the_settings_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = ["--settings", "2d", "--teachers", "random", "--seeds", "1", "--episodes", "12", "--out", tmp_path]
    assert bench("--tables", "T1", "T3", *arguments) == 0
    shown = capsys.readouterr()
    assert "T1:" in shown.out
    assert "T3" not in shown.out
    assert "T3 left out" in shown.err
    assert set(json.loads((tmp_path / "summary.json").read_text())) == {"T1"}
    assert bench(*arguments) == 0
    assert "left out" not in capsys.readouterr().err


def test_random_stands_before_those_that_are_no_better():
    lines = [line("a", name, score) for name, score in {"z": 0.9, "random": 0.5, "b": 0.5, "oracle": 0.2}.items()]
    lines += [line("b", name, 0.0) for name in ("b", "random", "z", "oracle")]
    assert rank_teachers(categories.TABLE, lines) == ["oracle", "z", "random", "b"]
    assert rank_teachers(selection.TABLE, lines) == ["oracle", "random", "b", "z"]  # where less is better


def test_a_number_and_its_interval_have_the_same_decimals():
    def text(mean: float, half: float, table: Table) -> str:
        return format_estimate(MeanEstimate(mean, mean - half, mean + half, 5), table)

    assert text(0.3432, 0.0181, categories.TABLE) == "34.3 ± 1.8"
    assert text(0.852, 0.0322, regret.TABLE) == "0.85 ± 0.03"
    assert text(43.21, 1.04, cost.TABLE) == "43.2 ± 1.0"
    assert text(12_345.6, 78.9, selection.TABLE) == "12,346 ± 79"
    assert text(0.5, math.nan, categories.TABLE) == "50.0"


def test_the_page_explains_every_setting_and_every_row(done: Path):
    page = html.unescape((done / "report.html").read_text())
    for setting in SETTINGS:
        table = hypercube.TABLE if setting in hypercube.TABLE.settings else categories.TABLE
        assert f"<dt>{setting}</dt><dd>{table.notes[setting]}</dd>" in page
    for name in ("random", "sec"):
        assert describe_row(categories.TABLE, name)[0] in page
    assert "What to look at" in page
    assert "batches of 64" in page
