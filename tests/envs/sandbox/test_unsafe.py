from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from palaestra.envs import sandbox
from palaestra.envs.sandbox import Call, CallTest, Limits, Result, StdioTest, Value

from ...patience import with_more_time  # isort: skip

LIMITS = Limits(seconds=30, output_bytes=1000, value_bytes=1000)


def run(program: str, stdin: str = "", limits: Limits = LIMITS, **options: object) -> Result:
    return sandbox.run(program, stdin, limits=limits, backend="unsafe-subprocess", **options)  # type: ignore[arg-type]


def test_name_says_that_it_is_not_safe() -> None:
    assert [name for name in sandbox.BACKENDS if "subprocess" in name] == ["unsafe-subprocess"]
    assert sandbox.run.__kwdefaults__["backend"] == "local"


def test_program_runs_with_its_input_files_and_calls() -> None:
    program = "import helper\nprint(input(), helper.x, end='')\ndef f(x): return {x: (x, 2.5)}"
    result = run(program, "in\n", files={"helper.py": "x = 7"}, calls=[Call("f", [1])])
    assert (result.stdout, result.exit_code, result.reason, result.valid) == ("in 7", 0, "exit", True)
    assert result.values == (Value({1: (1, 2.5)}),)


def test_program_has_no_input_unless_it_is_given_some() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").stdout == "''\n"


def test_end_is_reported() -> None:
    assert run("import sys; sys.exit(3)").exit_code == 3
    killed = run("import os; os.kill(os.getpid(), 9)")
    assert (killed.exit_code, killed.reason) == (-9, "signal")


def test_time_ends_a_program_and_what_it_started(tmp_path: Path) -> None:
    def check(seconds: float) -> None:
        sign = tmp_path / f"sign {seconds}"
        command = f"sleep {3 * seconds}; touch '{sign}'"
        program = f"import subprocess, time\nsubprocess.Popen(['/bin/sh', '-c', {command!r}])\ntime.sleep(600)"
        result = run(program, limits=Limits(seconds=seconds))
        assert (result.reason, result.exit_code, result.ok) == ("time", None, False)
        assert result.seconds < 50
        time.sleep(3 * seconds)
        assert not sign.exists()

    with_more_time(check, (0.5, 4.0, 16.0))


@pytest.mark.parametrize(
    ("program", "failures"),
    [
        ("def f(x):\n    while x == 1: pass\n    return x", ("", "limit", "limit")),
        ("while True: pass\ndef f(x): return x", ("limit",) * 3),
        ("import atexit, time\natexit.register(time.sleep, 60)\ndef f(x): return x", ("", "", "")),
    ],
    ids=["a call", "the program", "its end"],
)
def test_no_part_of_a_program_has_more_time_than_its_own(program: str, failures: tuple[str, ...]) -> None:
    tests = [CallTest("f", [n], n) for n in range(3)]

    def check(seconds: float) -> None:
        begun = time.monotonic()
        judged = sandbox.run_tests(program, tests, limits=Limits(seconds=seconds), backend="unsafe-subprocess")
        assert judged.failures == failures
        assert time.monotonic() - begun < 20 * seconds

    with_more_time(check)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_output_is_cut(stream: str) -> None:
    result = run(f"import sys; sys.{stream}.write('x' * 1001)")
    assert (result.reason, result.exit_code) == ("output", None)
    assert getattr(result, stream) == "x" * 1000
    assert run(f"import sys; sys.{stream}.write('x' * 1000)").ok


def test_values_are_cut() -> None:
    assert run("def f(): return 'x' * 1000", calls=[Call("f")]).reason == "output"


def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = run("import os; open('x', 'w').close(); print(os.getcwd())").stdout.strip()
    assert folder.startswith(str(tmp_path / "palaestra-"))
    assert os.listdir(tmp_path) == []


def test_programs_are_judged() -> None:
    tests = [CallTest("f", [2], 4), CallTest("f", [3], 7), StdioTest("", "out")]
    judgement = sandbox.run_tests(
        "print('out')\ndef f(x): return 2 * x", tests, limits=LIMITS, backend="unsafe-subprocess"
    )
    assert judgement.passed == (True, False, True)
