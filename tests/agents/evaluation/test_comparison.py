"""Two agents on the same tasks."""

from __future__ import annotations

import json

import numpy as np
import pytest
from palaestra import evaluate
from palaestra.agents import compare
from palaestra.agents.evaluation.comparison import paired_difference
from palaestra.errors import InputError
from palaestra.scripts.cli import main

ARITHMETIC = "palaestra/Arithmetic-v0"


def test_the_interval_of_paired_proportions_is_that_of_bonett_and_price():
    # 10 tasks: 4 only by the second, 1 only by the first. p12 = 5/12, p21 = 2/12, difference 1/4,
    # se = sqrt((7/12 - 1/16) / 12) = 0.2083.
    found = paired_difference([1] * 4 + [-1] + [0] * 5)
    assert found.mean == pytest.approx(0.3)
    assert (found.low, found.high) == pytest.approx((0.25 - 1.959964 * 0.208333, 0.25 + 1.959964 * 0.208333), abs=1e-5)


def test_equal_agents_do_not_differ_and_keep_an_interval():
    found = paired_difference([0.0] * 50)
    assert found.mean == 0
    assert -0.1 < found.low < 0 < found.high < 0.1


def test_pairing_finds_a_small_difference_that_two_intervals_hide():
    # Tasks are solved or not by themselves; the second agent solves every tenth more.
    rng = np.random.default_rng(0)
    easy = rng.random(200) < 0.5
    better = easy | (np.arange(200) % 10 == 0)
    found = paired_difference((better.astype(float) - easy).tolist())
    assert found.low > 0


def add_up(observation: str) -> str:
    import re

    return str(sum(int(number) for number in re.findall(r"\d+", observation)))


def test_reports_and_files_of_both_kinds_compare_alike(tmp_path, capsys):
    options = {"episodes": 24, "seed": 3}
    first = evaluate(add_up, ARITHMETIC, out=tmp_path / "a.jsonl", **options)
    second = evaluate("oracle", ARITHMETIC, out=tmp_path / "b.jsonl", **options)
    found = compare(first, second)
    assert found.agents == ("add_up", "oracle")
    assert found.tasks == first.tasks
    assert found.difference.mean == pytest.approx(second.success.mean - first.success.mean)
    assert found.only == (0, found.tasks - round(first.success.mean * found.tasks))
    assert found.better == "oracle"
    assert "oracle solves more" in str(found)
    assert compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl").to_json() == found.to_json()
    for name, report in (("a.json", first), ("b.json", second)):
        (tmp_path / name).write_text(json.dumps(report.to_json(results=True)))
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    assert main(["compare", *files, "--json", str(tmp_path / "c.json")]) == 0
    assert "oracle solves more" in capsys.readouterr().out
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(json.dumps(found.to_json()))


def test_tasks_of_one_alone_are_left_out_and_counted():
    options = {"difficulties": [0.5], "split": "test"}
    few, many = (evaluate("oracle", ARITHMETIC, episodes=count, **options) for count in (5, 9))
    found = compare(few, many)
    assert (found.tasks, found.left_out, found.better) == (5, 4, None)
    assert found.agents == ("oracle (first)", "oracle (second)")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "holds no valid episode"),
        ("{", "line 1 of .* is no episode"),
        ("[1]", "is no report"),
        ('{"agent": "a", "env": "e", "success": 1}', "no results of single episodes"),
        ('{"agent": "a", "env": "e", "turns": []}', "line 1 of .* is no episode"),
    ],
)
def test_a_file_of_another_kind_is_refused_in_a_sentence(tmp_path, content, sentence):
    (tmp_path / "x").write_text(content)
    with pytest.raises(InputError, match=sentence):
        compare(tmp_path / "x", tmp_path / "x")
    with pytest.raises(InputError, match=r"missing cannot be read: No such file or directory; give a file"):
        compare(tmp_path / "missing", tmp_path / "x")


def test_a_folder_is_answered_with_what_makes_a_file(tmp_path):
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match=r"run is a folder; give a file of palaestra eval --json or --out\."):
        compare(tmp_path / "run", tmp_path / "run")
    (tmp_path / "run" / "config.json").write_text("{}")
    with pytest.raises(InputError, match=r"or --out, such as that of palaestra eval .*run --json scores\.json\."):
        compare(tmp_path / "run", tmp_path / "run")


def test_evaluations_without_a_common_task_are_refused():
    one, other = (evaluate("oracle", ARITHMETIC, episodes=3, split=split) for split in ("train", "test"))
    with pytest.raises(InputError, match="no task was played by both: 3 tasks of palaestra/Arithmetic-v0"):
        compare(one, other)
