"""The harness of the benchmarks: who takes which turn, what is counted, and how figures are shown."""

from __future__ import annotations

import functools
import io
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from palaestra.benchmarks.harness import (
    Side,
    Spread,
    check_least,
    check_names,
    check_pythons,
    compare,
    format_markdown,
    make_table,
    plain_text,
    read_lines,
    read_options,
    write_json,
)
from palaestra.errors import InputError
from rich.console import Console


@dataclass(frozen=True)
class Options:
    rounds: int = 5
    """Rounds."""
    json: Path | None = None
    """Figures."""


def record_sides(*names: str) -> tuple[list[Side[int]], list[str]]:
    """Sides that measure the number of the round, and their turns."""
    log: list[str] = []

    def measure(name: str, number: int) -> int:
        log.append(name)
        return number

    return [Side(name, functools.partial(measure, name), lambda: log.append("warm")) for name in names], log


def test_sides_take_turns_and_the_order_is_reversed_every_other_round():
    sides, log = record_sides("a", "b")
    assert compare(sides, 3) == {"a": [0, 1, 2], "b": [0, 1, 2]}
    assert log == ["warm", "a", "warm", "b", "b", "a", "a", "b"]


def test_dropped_rounds_are_watched_and_do_not_count():
    sides, _ = record_sides("a", "b")
    seen: list[tuple[str, int | None]] = []
    assert compare(sides, 1, dropped=1, watch=lambda side, found: seen.append((side.name, found))) == {
        "a": [1],
        "b": [1],
    }
    assert seen == [("a", 0), ("b", 0), ("b", 1), ("a", 1)]


def test_a_side_that_fails_has_no_rounds_and_is_not_asked_again():
    asked: list[int] = []

    def fail(number: int) -> int:
        asked.append(number)
        if number:
            raise InputError("no more.")
        return number

    sides = [Side("broken", fail), *record_sides("whole")[0]]
    assert compare(sides, 4, failures=(InputError,)) == {"broken": [], "whole": [0, 1, 2, 3]}
    assert str(sides[0].failure) == "no more."
    assert asked == [0, 1]
    with pytest.raises(InputError):
        compare([Side("broken", fail)], 2)


def test_a_spread_is_the_median_and_the_quartiles():
    assert Spread.of([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    # The medians are 3 and 2, whose ratio is outside the quartiles of the rounds' ratios 3, 1 and 4.
    assert Spread.of_ratios([3.0, 2.0, 16.0], [1.0, 2.0, 4.0]) == Spread(3.0, 2.0, 3.5)
    assert Spread(3.0, 2.0, 3.5).show(".2f") == ("3.00", "2.00 to 3.50")


def test_files_that_cannot_be_written_are_refused_before_anything_is_measured(tmp_path: Path):
    assert read_options(Options, "envs", ["--rounds", "2"], "about") == Options(2)
    with pytest.raises(InputError, match="--json"):
        read_options(Options, "envs", ["--json", str(tmp_path)], "about")


def test_values_names_and_interpreters_that_do_not_fit_are_one_sentence(tmp_path: Path):
    check_least(Options(), 5, "rounds", "json")
    with pytest.raises(InputError, match=r"^--rounds must be at least 6, not 5\.$"):
        check_least(Options(), 6, "rounds")
    with pytest.raises(InputError, match=r"unknown line 'sudokku'.*'sudoku'"):
        check_names("line", ["sudokku"], ["sudoku"])
    with pytest.raises(InputError, match="--peer-python must be a Python interpreter"):
        check_pythons([tmp_path])


def test_figures_are_written_only_where_a_file_is_named(tmp_path: Path):
    write_json(None, {})
    write_json(tmp_path / "a.json", {"x": [1]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": [1]}
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n{"x": 2}\n')
    assert read_lines(tmp_path / "a.jsonl") == [{"x": 1}, {"x": 2}]
    assert read_lines(tmp_path / "none.jsonl") == []


def test_a_table_has_its_numbers_to_the_right():
    shown = format_markdown(("name", "of", "time"), [("a", "b", "1")], "ll")
    assert shown.splitlines() == ["| name | of | time |", "| --- | --- | ---: |", "| a | b | 1 |"]
    console = Console(file=io.StringIO(), width=60)
    console.print(make_table(("name", "time"), [("a", "1")], text=1, title="all", plain=True))
    title, head, _, row = filter(str.strip, console.file.getvalue().splitlines())  # type: ignore[attr-defined]
    assert title.strip() == "all"
    assert row.index("a") == head.index("name")
    assert row.index("1") == head.index("time") + 3


def test_no_text_controls_the_terminal():
    assert plain_text("\u0410\x9b") == "\\u0410\\x9b"
    assert plain_text("a\x1b[2J\r\x07\x7f") == "a\\x1b[2J\\x0d\\x07\\x7f"
    assert plain_text("a\tb\nc") == "a\tb\nc"
