"""``palaestra bench sandbox``: what is measured and counted, and that what is missing or wrong has no rate."""

from __future__ import annotations

import functools
import itertools
import json
import os
import sys
import textwrap
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any, cast

import pytest
from palaestra.benchmarks.harness import Side
from palaestra.benchmarks.sandbox import command as bench_sandbox
from palaestra.benchmarks.sandbox import peers as bench_sandbox_peers
from palaestra.benchmarks.sandbox.command import SandboxBenchOptions, SandboxRound, summarise
from palaestra.benchmarks.sandbox.sides import CALLS, COLD, LINE, ColdPython, WrongAnswer
from palaestra.envs.sandbox import Job, Limits, Pool, Result
from palaestra.errors import InputError
from palaestra.scripts.cli import main

from ...envs.sandbox.backends import missing  # isort: skip

COUNTED = ("runs", "p50_ms", "p99_ms", "longest_ms")
SMALL = ["--rounds", "2", "--seconds", "0.2", "--clients", "5"]


class Fake:
    """Answers at once."""

    def run(self, job: Job, limits: Limits) -> Result:
        return Result(LINE.stdout) if job is LINE.job else Result("", values=CALLS.values)

    def close(self) -> None:
        pass


class Wrong(Fake):
    def run(self, job: Job, limits: Limits) -> Result:
        return Result("41\n")


class Missing(Fake):
    def __init__(self) -> None:
        raise InputError("there is no engine.")


class Forgetful(Fake):
    """Prints what it should, and says of no call what it returned."""

    def run(self, job: Job, limits: Limits) -> Result:
        return Result(LINE.stdout) if job is LINE.job else Result("")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    backends = {"fake": Fake, "wrong": Wrong, "missing": Missing, "forgetful": Forgetful}
    monkeypatch.setattr(bench_sandbox, "BACKENDS", backends)


def measured(tmp_path: Path, *argv: str, code: int = 0) -> dict[str, Any]:
    path = tmp_path / "figures.json"
    assert main(["bench", "sandbox", *SMALL, "--json", str(path), *argv]) == code
    return json.loads(path.read_text())


def sides(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["side"]: row for row in rows}


@pytest.mark.parametrize("backend", ["local", "docker"])
def test_a_backend_is_measured_beside_cold_interpreters(backend: str, tmp_path: Path, capsys):
    if missing(backend):
        pytest.skip(missing(backend))
    cores = os.sched_getaffinity(0)
    figures = measured(tmp_path, "--backends", backend)
    assert os.sched_getaffinity(0) == cores
    assert figures["machine"].keys() == {"cores", "core", "load", "python"}
    assert (figures["machine"]["cores"], figures["waiting"], figures["versions"]) == (len(cores), 5, {})
    assert figures["machine"]["core"] in cores
    assert [row["side"] for row in figures["alone"]] == [backend, COLD, "python -I -S -c"]
    assert [row["side"] for row in figures["calls"]] == [backend]
    assert [row["side"] for row in figures["clients"]] == [backend, COLD]
    for row in (*figures["alone"], *figures["calls"], *figures["clients"]):
        assert row.keys() == {"side", "runs_per_second", "ratio_to_cold", *COUNTED}
        low, middle, high = row["runs_per_second"]
        assert 0 < low <= middle <= high
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["longest_ms"]
        assert row["runs"] >= 2
    alone = sides(figures["alone"])
    assert alone[COLD]["ratio_to_cold"] == [1, 1, 1]
    assert min(alone[backend]["ratio_to_cold"]) > 0
    assert figures["calls"][0]["ratio_to_cold"] is None
    out = " ".join(capsys.readouterr().out.split())
    assert f"one run after another, on core {figures['machine']['core']}" in out
    assert f"{backend} keeps programs in by: " in out


@pytest.mark.usefixtures("fakes")
def test_a_wrong_answer_is_an_error_and_no_rate(tmp_path: Path, capsys):
    figures = measured(tmp_path, "--backends", "fake", "wrong", "forgetful", code=1)
    for name in ("alone", "calls", "clients"):
        row = sides(figures[name])["wrong"]
        assert row.keys() == {"side", "error"}
        assert "printed '41\\n'" in row["error"]
        assert "error" not in sides(figures[name])["fake"]
    assert "runs" in sides(figures["alone"])["forgetful"]
    assert "returned 0 values" in sides(figures["calls"])["forgetful"]["error"]
    out = capsys.readouterr().out
    assert out.count("wrong: printed '41\\n'") == 1


@pytest.mark.usefixtures("fakes")
def test_a_backend_that_is_missing_is_said_to_be_and_fails_only_where_there_is_no_other(tmp_path: Path, capsys):
    figures = measured(tmp_path, "--backends", "missing", "fake")
    for name in ("alone", "calls", "clients"):
        found = sides(figures[name])
        assert found["missing"] == {"side": "missing", "error": "there is no engine."}
        assert found["fake"]["runs"] > 0
    assert capsys.readouterr().out.count("missing: there is no engine.") == 1
    assert main(["bench", "sandbox", *SMALL, "--backends", "missing"]) == 2
    assert "no backend that is asked for can be measured here: there is no engine." in capsys.readouterr().err


def side(name: str, rates: list[float], times: list[float]) -> Side[SandboxRound]:
    rounds = [SandboxRound(rate, times if place == 0 else []) for place, rate in enumerate(rates)]
    return Side(name, rounds.__getitem__, rounds=rounds)


def test_ratios_are_taken_within_a_round():
    measured = [side(COLD, [1.0, 4.0, 5.0], [0.5]), side("fake", [10.0, 20.0, 40.0], [0.001] * 98 + [0.002, 0.003])]
    _, figures = summarise(measured)
    assert figures["runs_per_second"] == [15, 20, 30]
    # Of 10, 5 and 8.
    assert figures["ratio_to_cold"] == [6.5, 8, 9]
    assert figures["runs"] == 100
    assert [figures["p50_ms"], figures["longest_ms"]] == pytest.approx([1, 3])
    assert 2 <= figures["p99_ms"] < 2.02


def test_a_program_runs_on_the_one_core():
    before = os.sched_getaffinity(0)
    with bench_sandbox.one_core() as core:
        assert os.sched_getaffinity(0) == {core}
        found = ColdPython().run(Job("import os\nprint(os.sched_getaffinity(0))"), Limits(seconds=60))
        assert found.stdout == f"{{{core}}}\n"
    assert os.sched_getaffinity(0) == before


def test_a_cold_interpreter_that_takes_too_long_is_no_answer():
    result = ColdPython().run(Job("while True: pass"), Limits(seconds=0.2))
    assert result.reason == "time"
    with pytest.raises(WrongAnswer, match="time"):
        LINE.check(result)


def test_each_run_is_timed_until_the_time_is_up():
    ticks = itertools.count()
    # The end is at 10; each run takes one tick, and one passes before the next.
    times = bench_sandbox.one_after_another(LINE, Fake(), 10.0, clock=lambda: float(next(ticks)))
    assert times == [1.0] * 5


class Queue:
    """A pool that answers each job after a while; how many waited at most."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.waiting = self.most = 0

    def submit(self, job: Job, limits: Limits) -> Future[Result]:
        answer: Future[Result] = Future()
        with self.lock:
            self.waiting += 1
            self.most = max(self.most, self.waiting)
        threading.Timer(0.01, self.answer, (answer,)).start()
        return answer

    def answer(self, answer: Future[Result]) -> None:
        with self.lock:
            self.waiting -= 1
        answer.set_result(Result(LINE.stdout))


def test_so_many_clients_wait_at_a_time_and_every_answer_counts():
    pool = Queue()
    times = bench_sandbox.many_at_a_time(LINE, 7, cast(Pool, pool), 0.1)
    assert pool.most == 7
    assert pool.waiting == 0
    assert len(times) >= 2 * 7
    assert min(times) >= 0.01


def test_warming_up_is_not_counted_and_every_turn_is_watched():
    asked: list[tuple[str, float]] = []
    ticked: list[object] = []

    class Named(Fake):
        def __init__(self, name: str) -> None:
            self.name = name

    def run(made: Named, seconds: float) -> list[float]:
        asked.append((made.name, seconds))
        time.sleep(0.01)
        return [1.0 if seconds else 99.0]

    config = SandboxBenchOptions(rounds=3, seconds=2.0)
    sides = {name: functools.partial(Named, name) for name in "ab"}
    found = bench_sandbox.take_rounds(sides, run, config, ticked.append)  # type: ignore[type-var]
    assert [name for name, seconds in asked if seconds] == ["a", "b", "b", "a", "a", "b"]
    assert [name for name, _ in asked[:4]] == ["a"] * 4
    assert asked.count(("b", 0.0)) == 3
    assert [[one.times for one in side.rounds] for side in found] == [[[1.0]] * 3] * 2
    assert all(one.rate <= 100 for side in found for one in side.rounds)
    assert len(ticked) == 6


GEM = """
    import os, sys
    def run_python(code, sandbox_type, stdin=None, timeout=10):
        print("what a peer prints")
        open("left behind", "a").close()
        assert os.environ["PATH"].startswith(os.path.dirname(sys.executable))
        assert sys.prefix == sys.base_prefix
        if sandbox_type == "bwrap":
            return False, "", "bwrap: no such file"
        return True, "42\\n", ""
"""


@pytest.fixture
def gem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in for the package of the peer."""
    folder = tmp_path / "peer/gem/utils"
    folder.mkdir(parents=True)
    for place in (folder, folder.parent):
        (place / "__init__.py").touch()
    (folder / "sandbox.py").write_text(textwrap.dedent(GEM))
    information = tmp_path / "peer/gem_llm-9.8.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: gem-llm\nVersion: 9.8\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "peer"))


@pytest.mark.usefixtures("gem", "fakes")
def test_a_peer_is_measured_and_its_wrong_answer_is_not_our_failure(tmp_path: Path, capsys):
    before = set(os.listdir())
    figures = measured(tmp_path, "--backends", "fake", "--peer-python", sys.executable)
    alone = sides(figures["alone"])
    assert figures["versions"] == {"gem none": "gem-llm 9.8", "gem bwrap": "gem-llm 9.8"}
    assert alone["gem none"]["runs"] > 0
    assert alone["gem bwrap"]["error"] == "printed '' and returned 0 values (bwrap: no such file)"
    assert {side for name in ("calls", "clients") for side in sides(figures[name])} == {"fake", COLD}
    out = " ".join(capsys.readouterr().out.split())
    assert "gem none (gem-llm 9.8) keeps programs in by: words that a program may not hold" in out
    # Peers work in a folder of their own.
    assert set(os.listdir()) == before


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--backends", "locale"], "did you mean 'local'"),
        (["--backends"], "--backends needs at least one of docker, local"),
        (["--peer-python", "/no/such/python"], "must be a Python interpreter"),
        (["--peer-python", "/bin/true"], "the peers' process under '/bin/true' ended"),
        (["--rounds", "0"], "must be positive, not 0, 1 and 64"),
        (["--seconds", "-1"], "must be positive"),
        (["--clients", "0"], "must be positive"),
    ],
)
def test_what_the_user_can_mend_is_one_sentence(argv: list[str], sentence: str, capsys):
    cores = os.sched_getaffinity(0)
    assert main(["bench", "sandbox", *argv]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert os.sched_getaffinity(0) == cores


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["bench", "sandbox", "--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "palaestra bench sandbox --peer-python" in out
    for option in ("--backends", "--rounds", "--seconds", "--clients", "--json"):
        assert option in out


def test_the_peers_file_needs_nothing_of_this_package():
    text = Path(bench_sandbox_peers.__file__).read_text()
    assert "palaestra" not in text
    assert "from ." not in text
