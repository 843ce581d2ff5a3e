"""The demonstration on a ladder: what it prints and keeps of two climbs."""

from __future__ import annotations

import io

from palaestra.benchmarks import demo
from palaestra.benchmarks.teachers.language_model import LadderRun
from palaestra.scripts.report import by_step, read_rows
from palaestra.scripts.report_plots import climb_lines
from rich.console import Console

CLIMBS = {
    "teacher": LadderRun([0.0, 50.0, 100.0], [0.0, 1.0, 4.0], [0.9] * 4, 0.95, 0.21),
    "uniform": LadderRun([0.0, 50.0, 100.0], [0.0, 0.0, 2.0], [0.8] * 2, 0.9, 0.07),
}


def render(*renderables) -> str:
    console = Console(file=io.StringIO(), width=100)
    for each in renderables:
        console.print(each)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_and_the_bars_show_both_climbs():
    text = render(demo._climb_table(CLIMBS, 3), demo._climb_plot(CLIMBS))
    for part in ("seed 3: 100 attempts", "95%", "21%", "7%", "3.6", "1.6"):
        assert part in text
    last = text.splitlines()[-1]
    teacher, uniform = (run.count("█") for run in last.split(" 2 "))
    assert teacher == 2 * uniform > 0


def test_climbs_are_kept_where_the_report_draws_them(tmp_path):
    demo._write_climb(tmp_path, CLIMBS["teacher"], 10)
    rows = by_step(read_rows(tmp_path / "rungs.jsonl"))
    assert [(row["step"], row["rungs"]) for row in rows] == [(0, 0.0), (5, 1.0), (10, 4.0)]
    assert "rungs climbed" in climb_lines({"palaestra": rows, "random": []})
    assert climb_lines({"palaestra": []}) == ""


def test_what_processes_return_comes_back_by_name_in_their_order():
    assert list(demo.follow({"b": (_sum, (1, 2)), "a": (_sum, (3, 4))}).items()) == [("b", 3), ("a", 7)]


def _sum(tell, one: int, other: int) -> int:
    return one + other
