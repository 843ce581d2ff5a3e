"""Processes of rows: the next one waits ready, and none is left behind."""

from __future__ import annotations

import time
from pathlib import Path

from palaestra.benchmarks.gpu.row_processes import RowProcesses

ECHO = (
    "import sys; open({file!r}, 'a').write('ready\\n'); line = sys.stdin.readline(); "
    "line and print(line, file=sys.stderr)"
)


def test_the_next_process_is_started_while_a_row_is_measured(tmp_path):
    starts = tmp_path / "starts"
    rows = RowProcesses(ECHO.format(file=str(starts)), tmp_path / "log.txt")
    try:
        assert rows.run({"name": "a"}, 30.0, more=True) == (0, '{"name": "a"}')
        waiting = rows._waiting
        assert waiting is not None
        process = waiting[0]
        assert rows.run({"name": "b"}, 30.0) == (0, '{"name": "b"}')
        assert process.returncode == 0
        assert starts.read_text() == 2 * "ready\n"
    finally:
        rows.close()


def test_one_that_waits_is_ended_and_one_that_has_died_says_so(tmp_path):
    rows = RowProcesses("import time; time.sleep(60)", tmp_path / "log.txt")
    rows._waiting = rows._start()
    process = rows._waiting[0]
    rows.close()
    assert process.returncode == -9
    rows = RowProcesses("raise SystemExit('no such library')", tmp_path / "log.txt")
    rows._waiting = rows._start()
    rows._waiting[0].wait()
    assert rows.run({"name": "a"}, 30.0) == (1, "no such library")


def test_what_a_row_started_ends_with_it(tmp_path):
    pid = tmp_path / "pid"
    child = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    program = f"import subprocess, sys; sys.stdin.readline(); subprocess.run([sys.executable, '-c', {child!r}])"
    rows = RowProcesses(program, tmp_path / "log.txt")
    begun = time.monotonic()
    code, _ = rows.run({"name": "a"}, 1.5)
    assert code is None
    assert time.monotonic() - begun < 20.0
    if pid.exists() and pid.read_text():
        stat = Path("/proc", pid.read_text(), "stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
