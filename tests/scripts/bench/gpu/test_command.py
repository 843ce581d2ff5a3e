"""``palaestra bench gpu`` without a GPU: the tiny shape end to end, and rows that fail without harm to the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.scripts.bench import gpu
from palaestra.scripts.bench.gpu import command
from palaestra.scripts.bench.gpu.command import GpuBenchOptions, format_table, main, run_guarded_row
from palaestra.scripts.bench.gpu.setup import SHAPES, Figure, Setup
from palaestra.scripts.bench.gpu.steps import compare_steps

from ....patience import wait_until  # isort: skip

TINY = Setup("cpu", "tiny")


def test_the_tiny_shape_runs_end_to_end_on_a_cpu(tmp_path, capsys):
    data, table = tmp_path / "gpu.json", tmp_path / "gpu.md"
    rows = [name for name in command.rows_of("tiny") if not name.startswith("trl")]  # importing TRL takes long
    options = ["--device", "cpu", "--model-shape", "tiny", "--json", str(data), "--markdown", str(table)]
    assert main([*options, "--rows", *rows]) == 0
    lines = {line["name"]: line for line in json.loads(data.read_text())["lines"]}
    for batch in SHAPES["tiny"].batches:
        assert lines[f"decoding, batch {batch}"]["value"] > 0
        assert lines[f"generate's time against ours, batch {batch}"]["value"] > 0
    assert lines["GRPO step, ours"]["value"] > 0
    assert lines["training, with the optimiser step"]["value"] > 0
    kinds = ("against the reference", "gap", "decoding differ in")
    agreement = [line for line in lines.values() if any(kind in line["name"] for kind in kinds)]
    assert len(agreement) == 4
    assert all(line["met"] is True for line in agreement)
    # Nothing that only a GPU can show is said to be met.
    assert all(line["met"] is None for line in lines.values() if line not in agreement)
    assert table.read_text() == capsys.readouterr().out.rstrip("\n") + "\n"


def test_a_row_that_fails_costs_no_other_and_is_named(monkeypatch, tmp_path, capsys):
    def fail(setup):
        raise RuntimeError("CUDA out of memory.\nmore")

    rows = {"bad": fail, "good": lambda setup: [Figure("good", 2.0, "s", 1.0)]}
    monkeypatch.setattr(command, "rows_of", lambda shape: rows)
    out = tmp_path / "gpu.json"
    assert main(["--device", "cpu", "--model-shape", "tiny", "--json", str(out)]) == 1
    bad, good = json.loads(out.read_text())["lines"]
    assert bad["note"] == "missing: RuntimeError: CUDA out of memory."
    assert bad["value"] is None
    assert good["met"] is True
    assert "| good | 2 s | at least 1 | yes |  |" in capsys.readouterr().out


def test_what_was_measured_is_on_disk_before_the_next_row(monkeypatch, tmp_path):
    out = tmp_path / "gpu.json"
    seen = []
    rows = {
        "first": lambda setup: [Figure("first", 1.0)],
        "second": lambda setup: seen.extend(json.loads(out.read_text())["lines"]) or [],
    }
    monkeypatch.setattr(command, "rows_of", lambda shape: rows)
    main(["--device", "cpu", "--model-shape", "tiny", "--json", str(out)])
    assert [(line["name"], line["value"]) for line in seen] == [("first", 1.0), ("second", None)]


def test_rows_that_are_not_reached_are_named_before_and_after_the_time_is_up(monkeypatch, tmp_path):
    table, clock, seen = tmp_path / "gpu.md", iter([0.0, 1.0, 70.0, 130.0]), []
    rows = dict.fromkeys("abc", lambda setup: seen.append(table.read_text()) or [Figure("found", 1.0)])
    monkeypatch.setattr(command, "rows_of", lambda shape: rows)
    monkeypatch.setattr(command.time, "monotonic", lambda: next(clock))
    options = ["--device", "cpu", "--model-shape", "tiny", "--minutes", "2", "--markdown", str(table)]
    assert main(options) == 1
    assert len(seen) == 2
    # A command that is killed in the first or second row leaves this behind.
    assert [text.count("missing: not measured yet") for text in seen] == [3, 2]
    assert [text.count("| found | 1 |") for text in seen] == [0, 1]
    assert table.read_text().splitlines()[-1] == "| c |  |  |  | missing: not reached in 2 minutes |"


def test_what_only_compares_comes_first_and_then_a_figure_of_each_kind():
    names = list(command.rows_of("qwen2.5-0.5b"))
    assert names[:6] == ["attention", "gap", "captured", "training", "decode-256", "step"]
    assert set(names[6:]) == {"shared-prompts", "decode-512", "decode-1024", "short-memory", "trl", "trl-vllm"}


def test_a_row_of_a_gpu_has_a_process_and_a_time_of_its_own():
    lines, well = run_guarded_row("attention", Setup("cuda:0", "tiny"), 0.05)
    assert not well
    assert "took longer than its 0 s" in lines[0].note


WAIT = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)', {mark!r}])"


def test_what_a_row_started_ends_with_it(monkeypatch, tmp_path):
    # The row's process is replaced by one that starts another and waits.
    mark = str(tmp_path / "mark")
    monkeypatch.setattr(command, "_BODY", WAIT.format(mark=mark))
    lines, well = run_guarded_row("attention", Setup("cuda:0", "tiny"), 1.0)
    assert not well
    assert "took longer than its 1 s" in lines[0].note
    assert running(mark) == []


def test_a_row_ends_soon_after_a_command_that_is_killed(tmp_path):
    mark = str(tmp_path / "mark")
    body = f"import sys; from {command.__name__} import end_with; end_with(int(sys.argv[2])); {WAIT.format(mark=mark)}"
    program = (
        f"from {command.__name__} import run_guarded_row; import {command.__name__} as command; "
        f"from {Setup.__module__} import Setup; command._BODY = {body!r}; "
        "run_guarded_row('attention', Setup('cuda:0', 'tiny'), 60.0)"
    )
    # What it keeps in temporary files stays behind when it is killed.
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)})
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


def test_a_process_writes_its_lines_for_the_table(tmp_path):
    out = tmp_path / "lines.json"
    command.work(json.dumps({"name": "attention", "out": str(out), "device": "cpu", "shape": "tiny"}))
    data = json.loads(out.read_text())
    assert data["well"]
    assert [Figure(**line).met for line in data["lines"]] == [True, True]


def test_floors_are_least_or_largest_values():
    assert Figure("speed", 2.0, floor=2.0).met is True
    assert Figure("speed", 1.9, floor=2.0).met is False
    assert Figure("gap", 0.1, floor=0.05, most=True).met is False
    assert Figure("gap", floor=0.05, most=True).met is None
    text = format_table(
        TINY, [Figure("speed", 1234.5, "tokens/s", 2000.0), Figure("gap", 0.01, "nats", 0.05, most=True)]
    )
    assert text.splitlines()[-2:] == [
        "| speed | 1,234 tokens/s | at least 2,000 | **no** |  |",
        "| gap | 0.01 nats | at most 0.05 | yes |  |",
    ]


def test_a_step_is_held_against_twice_its_time_by_trl():
    (line,) = compare_steps([Figure("GRPO step, ours", 2.0), Figure("GRPO step, TRL", 5.0)], counts=True)
    assert (line.value, line.floor, line.met) == (2.5, 2.0, True)
    assert compare_steps([Figure("GRPO step, ours", 2.0), Figure("GRPO step, TRL", note="missing: ...")], True) == []


def test_without_a_gpu_one_sentence_says_how_to_try_it_out():
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(InputError, match=r"no GPU .*--device cpu --model-shape tiny"):
        main([])
    assert gpu.__doc__


def test_rows_that_do_not_exist_and_folders_as_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="decode-256"):
        GpuBenchOptions(rows=("decode-255",))
    with pytest.raises(InputError, match="is a folder"):
        GpuBenchOptions(json=tmp_path)
