"""``palaestra bench gpu`` without a GPU: the plan, a few rows end to end, and rows that fail without harm to others."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from palaestra.benchmarks import gpu
from palaestra.benchmarks.gpu import command, rows
from palaestra.benchmarks.gpu.command import GpuBenchOptions, Results, format_lines, main, measure, measure_row
from palaestra.benchmarks.gpu.rows import GpuRow, rows_of
from palaestra.benchmarks.gpu.setup import PAIRS, Figure, Setup
from palaestra.benchmarks.gpu.steps import compare_steps
from palaestra.errors import InputError

from ...patience import wait_until  # isort: skip

ROW = GpuRow(lambda setup: [], 20.0)
"""Stands in a plan whose processes are replaced, so that its measurement is not asked for."""
BEGIN = "import json, os, sys, time; request = json.loads(sys.stdin.readline()); name = request['name']; "
WRITE = "open(request['out'], 'w').write(json.dumps([{'name': name, 'value': 1.0}]))"


def measure_with(monkeypatch, tmp_path, plan, program, minutes=9.0, device="cuda:0"):
    monkeypatch.setattr(command, "_PROGRAM", program)
    monkeypatch.setattr(command, "describe_machine", lambda device: "a machine")
    return measure(plan, device, GpuBenchOptions(out=tmp_path, minutes=minutes)).lines


@pytest.mark.parametrize("kind", ["cuda", "cpu"])
def test_the_plan_takes_less_than_nine_minutes(kind):
    assert sum(row.seconds for row in rows_of(kind).values()) < 9 * 60


def test_what_is_compared_comes_first_and_then_a_figure_of_each_kind():
    names = list(rows_of("cuda"))
    assert names[:6] == ["device", "attention", "kernels", "gap", "captured", "training"]
    assert names[6:10] == ["decode-256", "step", "profile-decoding", "profile-update"]
    runs = {"train", "train-ahead", "train-bfloat16", "train-turns", "train-lora", "train-compile"}
    assert runs | {"ragged", "turns", "learner", "trl"} <= set(names)


def test_a_row_runs_end_to_end_on_a_cpu(tmp_path, capsys):
    assert main(["--device", "cpu", "--rows", "training-small", "--out", str(tmp_path)]) == 0
    machine, *lines = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert "CPU, to try the command out" in machine["machine"]
    found = {line["name"]: line for line in lines}
    # Nothing that only a GPU can show is said to be met.
    assert found["training, with the optimiser step, tiny-llama"]["value"] > 0
    assert {line["met"] for line in lines} == {None}
    assert (tmp_path / "results.md").read_text() == capsys.readouterr().out.rstrip("\n") + "\n"


def test_a_row_that_crashes_hangs_or_is_killed_leaves_its_line_and_the_others_run(monkeypatch, tmp_path):
    program = BEGIN + (
        "name == 'raises' and 1 / 0; name == 'hangs' and time.sleep(60); name == 'killed' and os.kill(os.getpid(), 9); "
        + WRITE
    )
    plan = {"raises": ROW, "hangs": GpuRow(ROW.measure, 0.1), "killed": ROW, "good": ROW}
    monkeypatch.setattr(command, "LATEST", 0.2)
    found = {line.name: line for line in measure_with(monkeypatch, tmp_path, plan, program, minutes=60.1 / 60)}
    assert list(found) == list(plan)
    assert "exit code 1: ZeroDivisionError" in found["raises"].note
    assert found["hangs"].note == "missing: it took longer than its 0 s"
    assert "exit code -9" in found["killed"].note
    assert found["good"].value == 1.0
    assert "=== raises: exit code 1\nTraceback" in (tmp_path / "log.txt").read_text()
    written = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()[1:]]
    assert [line["row"] for line in written] == list(plan)


def test_a_row_that_hangs_at_its_end_has_its_figures():
    def run(request, limit, more):
        Path(request["out"]).write_text(json.dumps([{"name": "speed", "value": 2.0}]))
        return None, ""

    assert measure_row(SimpleNamespace(run=run), "row", Setup("cpu", "tiny-llama"), 1.0) == [Figure("speed", 2.0)]


def test_a_row_that_raises_says_what_is_missing(monkeypatch, tmp_path, capsys):
    def fail(setup):
        raise RuntimeError("CUDA out of memory.\nmore")

    rows = {"bad": GpuRow(fail, 1.0), "small": GpuRow(lambda setup: [Figure("speed", 2.0)], 1.0, smaller=True)}
    monkeypatch.setattr(command, "rows_of", lambda kind: rows)
    monkeypatch.setattr(command, "end_with", lambda parent: None)
    monkeypatch.setattr(command, "load_libraries", lambda: None)
    out, found = tmp_path / "lines.json", []
    for name in rows:
        request = {"name": name, "out": str(out), "device": "cpu", "shape": "tiny-llama", "folder": ""}
        monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request)))
        command.run_row_process(0)
        found += json.loads(out.read_text())
    assert (found[0]["value"], found[0]["note"]) == (None, "missing: RuntimeError: CUDA out of memory.")
    assert found[1]["name"] == "speed, tiny-llama"
    assert "more" in capsys.readouterr().err  # the whole goes to the log


def test_what_was_measured_is_on_disk_before_the_next_row(monkeypatch, tmp_path):
    table = tmp_path / "results.md"
    program = BEGIN + (
        f"text = open({str(table)!r}).read(); open(request['out'], 'w').write(json.dumps([{{'name': name, "
        "'value': text.count('not measured yet'), 'note': str(text.count('| first | 3 |'))}]))"
    )
    found = measure_with(monkeypatch, tmp_path, dict.fromkeys(("first", "second", "third"), ROW), program)
    # A command that is killed in a row leaves this behind.
    assert [(line.value, line.note) for line in found] == [(3, "0"), (2, "1"), (1, "1")]


def test_a_row_has_its_own_time_and_what_those_before_it_left(monkeypatch, tmp_path):
    limits, clock = [], iter([0.0, 0.0, 3.0, 3.0, 60.0, 60.0, 60.0, 60.0, 60.0])
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(command, "describe_machine", lambda device: "a machine")
    monkeypatch.setattr(command, "measure_row", lambda rows, name, setup, limit, more: limits.append(limit) or [])
    plan = {"a": ROW, "b": GpuRow(ROW.measure, 40.0), "c": ROW, "d": ROW}
    results = measure(plan, "cuda:0", GpuBenchOptions(out=tmp_path, minutes=1))
    # The second has 17 s that the first left beside its own; the minute is over before the third.
    assert limits == [20.0, 57.0]
    assert [(line.name, line.note) for line in results.lines] == [
        ("c", "missing: not reached in 1 minutes"),
        ("d", "missing: not reached in 1 minutes"),
    ]


def test_more_minutes_give_each_row_more(monkeypatch, tmp_path):
    limits = []
    monkeypatch.setattr(command.time, "monotonic", lambda: 0.0)
    monkeypatch.setattr(command, "describe_machine", lambda device: "a machine")
    monkeypatch.setattr(command, "measure_row", lambda rows, name, setup, limit, more: limits.append(limit) or [])
    measure({"a": ROW, "b": ROW}, "cuda:0", GpuBenchOptions(out=tmp_path, minutes=2))
    assert limits == [60.0, 120.0]


def test_a_figure_is_a_line_of_the_file_whole_and_the_ratio_to_trl_follows(monkeypatch, tmp_path):
    monkeypatch.setattr(command, "describe_machine", lambda device: "a machine")
    results = Results(tmp_path, "cuda:0", ["step", "trl"])
    results.add("step", [Figure("GRPO step, ours", 2.0, "s", rounds=(2.0, 2.0, 1.0))], 4.0)
    results.add("trl", [Figure("GRPO step, TRL", 5.0, "s", rounds=(5.0, 6.0, 4.0))], 5.0)
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()[1:]]
    assert [(line["row"], line["name"]) for line in lines] == [
        ("step", "GRPO step, ours"),
        ("trl", "GRPO step, TRL"),
        ("trl", "time of TRL's step against ours"),
    ]
    # The median of the ratios 2.5, 3 and 4, not the ratio of the medians.
    assert (lines[2]["value"], lines[2]["floor"], lines[2]["met"]) == (3.0, 2.0, True)
    assert lines[2]["note"] == "2.75 to 3.5"
    assert "not measured" not in (tmp_path / "results.md").read_text()
    assert compare_steps([Figure("GRPO step, ours", 2.0), Figure("GRPO step, TRL", note="missing: ...")], True) == []


def test_a_command_that_is_killed_takes_its_rows_along(tmp_path):
    mark = str(tmp_path / "mark")
    inner = f"import sys; from {command.__name__} import end_with; end_with(int(sys.argv[1])); "
    inner += f"import subprocess; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)', {mark!r}])"
    program = (
        f"import {command.__name__} as command; from pathlib import Path; command._PROGRAM = {inner!r}; "
        f"rows = command.RowProcesses(command._PROGRAM, Path({str(tmp_path / 'log.txt')!r})); "
        "rows.run({'name': 'row'}, 60.0)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program])
    try:
        wait_until(lambda: any("time.sleep" in text and "end_with" not in text for text in running(mark)))
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: running(mark) == [])


def running(mark: str) -> list[str]:
    """Command lines with a mark in them, of processes that run."""
    return [text for path in Path("/proc").glob("[0-9]*/cmdline") if mark in (text := read(path))]


def read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # the process has ended
        return ""


def test_floors_are_least_or_largest_values():
    assert Figure("speed", 2.0, floor=2.0).met is True
    assert Figure("speed", 1.9, floor=2.0).met is False
    assert Figure("gap", 0.1, floor=0.05, most=True).met is False
    assert Figure("gap", floor=0.05, most=True).met is None
    text = format_lines([Figure("speed", 1234.5, "tokens/s", 2000.0), Figure("gap", 0.01, "nats", 0.05, most=True)])
    assert text.splitlines()[-2:] == [
        "| speed | 1,234 tokens/s | at least 2,000 | **no** |  |",
        "| gap | 0.01 nats | at most 0.05 | yes |  |",
    ]


def test_a_gpu_that_is_not_there_is_one_sentence():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match=r"--device cuda: there is no GPU .*auto or cpu"):
        main(["--device", "cuda"])
    assert gpu.__doc__


def test_rows_that_do_not_exist_and_files_as_folders_are_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="decode-4"):
        main(["--device", "cpu", "--rows", "decode-5", "--out", str(tmp_path)])
    with pytest.raises(InputError, match="must be a folder"):
        main(["--out", str(tmp_path / "file")])


def test_the_smaller_shapes_are_of_the_family_that_the_larger_ones_are_not():
    for kind, (larger, smaller) in PAIRS.items():
        assert [rows.SHAPES[name].family for name in (larger, smaller)] == ["qwen2", "llama"], kind
