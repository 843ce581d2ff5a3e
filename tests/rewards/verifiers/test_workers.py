"""Worker processes that are killed, hang, crash, eat memory or outlive their parent: one failure, then work goes on."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import palaestra
import pytest
from palaestra.errors import InputError
from palaestra.rewards.verifiers import workers
from palaestra.rewards.verifiers.workers import WorkerFailure, WorkerPool

from ...patience import wait_until, with_more_time  # isort: skip

JOBS = """
import itertools, os, sys, time
numbers = itertools.count()

def work(job):
    kind, value = job
    if kind == "number":
        return next(numbers)
    if kind == "wait for":
        while not os.path.exists(value):
            time.sleep(0.005)
        return value
    if kind == "double":
        return 2 * value
    if kind == "sleep":
        time.sleep(value)
        return value
    if kind == "spin":
        return 7 ** (10 ** 9) % 10  # one operation that holds the interpreter's lock
    if kind == "bomb":
        return len("x" * (value << 20))
    if kind == "die":
        os._exit(3)
    if kind == "raise":
        raise RuntimeError("no")
    if kind == "print":
        print("noise"); sys.stdout.flush(); os.write(1, b"noise")
        return "quiet"
    if kind == "write":
        with open(value, "w") as file:
            file.write("x"); file.flush()
    if kind == "environment":
        return [dict(os.environ), os.getcwd(), "palaestra" in sys.modules, os.getpid()]
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "jobs_of_the_test.py").write_text(JOBS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "jobs_of_the_test:work"


@pytest.fixture
def pool(target: str) -> Iterator[WorkerPool]:
    pool = WorkerPool(target, workers=2, memory_mb=512)
    yield pool
    pool.close()


def fails(pool: WorkerPool, job: list, deadline: float = 10.0) -> str:
    with pytest.raises(WorkerFailure) as caught:
        pool.run(job, deadline)
    return caught.value.reason


def alive(pid: int) -> bool:
    """Check that the process runs; one that ended and was not reaped yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_dead(pids: list[int], seconds: float = 60.0) -> bool:
    until = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    return not any(map(alive, pids))


def test_no_process_exists_before_the_first_job(pool: WorkerPool):
    assert pool.pids == []
    assert pool.run(["double", 21], 10.0) == 42
    assert len(pool.pids) == 1


def test_a_hung_worker_fails_at_its_deadline_and_the_next_call_works(pool: WorkerPool):
    pool.run(["double", 1], 10.0)
    began = time.monotonic()
    assert fails(pool, ["sleep", 60], 0.3) == "deadline"
    assert 0.3 <= time.monotonic() - began < 50.0
    assert pool.run(["double", 21], 10.0) == 42


def test_the_deadline_holds_while_one_operation_blocks_the_worker(pool: WorkerPool):
    assert fails(pool, ["spin", 0], 0.5) == "deadline"
    assert pool.run(["double", 21], 10.0) == 42


def test_a_worker_killed_while_idle_is_replaced_within_the_call(pool: WorkerPool):
    pool.run(["double", 1], 10.0)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    assert pool.run(["double", 21], 10.0) == 42
    assert pid not in pool.pids


def test_a_worker_killed_at_work_gives_its_job_to_a_fresh_one(pool: WorkerPool):
    pool.run(["double", 1], 10.0)
    (pid,) = pool.pids
    timer = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
    timer.start()
    assert pool.run(["sleep", 1.0], 20.0) == 1.0
    timer.join()  # while there is a process of that id


def test_a_job_that_kills_its_workers_fails_after_two(pool: WorkerPool):
    assert fails(pool, ["die", 0]) == "died"
    assert pool.run(["double", 21], 10.0) == 42


def test_a_memory_bomb_fails_and_the_next_call_works(pool: WorkerPool):
    assert fails(pool, ["bomb", 4096]) == "memory"
    assert pool.run(["double", 21], 10.0) == 42


def test_a_stopped_worker_is_killed_at_the_deadline(pool: WorkerPool):
    pool.run(["double", 1], 10.0)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGSTOP)
    # More than a pipe holds, so that sending must not block either.
    assert fails(pool, ["double", "x" * 1_000_000], 0.3) == "deadline"
    assert wait_until_dead([pid])


def test_an_exception_is_a_failure_and_the_worker_stays(pool: WorkerPool):
    pool.run(["double", 1], 10.0)
    before = pool.pids
    assert fails(pool, ["raise", 0]) == "failed"
    assert pool.run(["double", 21], 10.0) == 42
    assert pool.pids == before


def test_a_missing_module_is_a_failure_to_start():
    pool = WorkerPool("no_such_module_here:work")
    assert fails(pool, ["double", 1]) == "start"
    pool.close()


def test_printing_does_not_spoil_the_answers(pool: WorkerPool):
    assert pool.run(["print", 0], 10.0) == "quiet"
    assert pool.run(["double", 21], 10.0) == 42


def test_a_worker_can_write_no_file(pool: WorkerPool, tmp_path: Path):
    assert fails(pool, ["write", str(tmp_path / "canary")]) == "failed"
    assert not (tmp_path / "canary").exists() or (tmp_path / "canary").read_text() == ""


def test_a_worker_sees_nothing_of_the_parents_environment(pool: WorkerPool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SECRET", "s3cret")
    environment, folder, package_loaded, _ = pool.run(["environment", 0], 10.0)
    assert "SECRET" not in environment
    assert folder == "/"
    assert not package_loaded


def test_workers_are_recycled(target: str):
    pool = WorkerPool(target, workers=1, recycle=2)
    pids = [pool.run(["environment", 0], 10.0)[3] for _ in range(4)]
    assert pids[0] == pids[1] != pids[2] == pids[3]
    assert wait_until_dead(pids[:2])
    pool.close()


def test_many_threads_get_their_own_answers(pool: WorkerPool):
    with ThreadPoolExecutor(32) as executor:
        answers = list(executor.map(lambda n: pool.run(["double", n], 20.0), range(500)))
    assert answers == [2 * n for n in range(500)]
    assert len(pool.pids) == 2


def test_waiting_for_a_worker_is_not_charged_to_the_deadline(target: str):
    def check(deadline: float) -> None:
        pool, nap = WorkerPool(target, workers=1), deadline / 3
        with contextlib.closing(pool), ThreadPoolExecutor(4) as executor:
            assert list(executor.map(lambda _: pool.run(["sleep", nap], deadline), range(4))) == [nap] * 4

    with_more_time(check, (1.2, 6.0, 24.0))


class Busy:
    """A pool whose one worker is at work until ``end()``."""

    def __init__(self, target: str, sign: Path):
        self.pool, self.end = WorkerPool(target, workers=1), sign.touch
        self.pool.run(["double", 1], 10.0)
        self.job = threading.Thread(target=self.pool.run, args=(["wait for", str(sign)], 120.0))
        self.job.start()
        wait_until(lambda: not self.pool._idle)


@pytest.fixture
def busy(target: str, tmp_path: Path) -> Iterator[Busy]:
    busy = Busy(target, tmp_path / "sign")
    yield busy
    busy.end()
    busy.job.join()
    busy.pool.close()


def test_who_came_first_is_served_first(busy: Busy):
    pool = busy.pool
    with ThreadPoolExecutor(12) as executor:
        served = []
        for place in range(12):
            served.append(executor.submit(pool.run, ["number", 0], 20.0))
            wait_until(lambda place=place: len(pool._queue) > place)
        busy.end()
        assert [one.result() for one in served] == list(range(12))


def test_one_caller_is_not_starved_by_thirty_two_that_never_pause(target: str):
    """It waits once for each of those that stand in front of it, however often they come again."""
    pool = WorkerPool(target, workers=2)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            pool.run(["sleep", 0.01], 10.0)

    pool.run(["double", 1], 10.0)
    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    waits = []
    end = threading.Timer(40.0, stop.set)
    end.start()
    for number in range(3):
        time.sleep(0.05)
        began = time.monotonic()
        assert pool.run(["double", number], 10.0) == 2 * number
        waits.append(time.monotonic() - began)
    stop.set()
    end.cancel()
    for thread in threads:
        thread.join()
    # 32 jobs of 0.01 s on two workers take 0.16 s; one that starves waits until the others stop.
    assert max(waits) < 15.0
    pool.close()


def test_who_waited_too_long_is_told_so_and_costs_the_others_nothing(busy: Busy):
    pool = busy.pool
    with ThreadPoolExecutor(2) as executor:
        began = time.monotonic()
        impatient = executor.submit(pool.run, ["double", 2], 5.0, wait=0.1)
        patient = executor.submit(pool.run, ["double", 3], 20.0)
        with pytest.raises(WorkerFailure) as caught:
            impatient.result()
        assert caught.value.reason == "busy"
        assert time.monotonic() - began >= 0.1
        assert busy.job.is_alive()
        busy.end()
        assert patient.result() == 6
    assert len(pool.pids) == 1


def test_a_caller_that_is_interrupted_while_it_waits_leaves_the_queue(busy: Busy, monkeypatch: pytest.MonkeyPatch):
    pool = busy.pool

    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            super().wait(timeout)
            raise KeyboardInterrupt

    def end_once_it_waits() -> None:
        wait_until(lambda: pool._queue)
        busy.end()

    ending = threading.Thread(target=end_once_it_waits)
    ending.start()
    with monkeypatch.context() as patch:
        patch.setattr(workers.threading, "Event", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.run(["double", 2], 5.0)
    ending.join()
    busy.job.join()
    assert pool.run(["double", 3], 5.0, wait=0.5) == 6


def test_there_is_a_worker_for_each_core_unless_told_otherwise(target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PALAESTRA_WORKERS", raising=False)
    pool = WorkerPool(target)
    assert pool.workers == len(os.sched_getaffinity(0))
    monkeypatch.setenv("PALAESTRA_WORKERS", "5")
    assert pool.workers == 5
    assert WorkerPool(target, workers=3).workers == 3
    for wrong in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("PALAESTRA_WORKERS", wrong)
        with pytest.raises(InputError, match="PALAESTRA_WORKERS"):
            pool.run(["double", 1], 1.0)


def test_a_closed_pool_refuses_and_leaves_no_process(target: str):
    pool = WorkerPool(target)
    pool.run(["double", 1], 10.0)
    pids = pool.pids
    pool.close()
    assert not any(map(alive, pids))
    assert fails(pool, ["double", 1]) == "closed"


def test_closing_ends_calls_that_are_under_way(target: str):
    pool = WorkerPool(target)
    pool.run(["double", 1], 10.0)
    timer = threading.Timer(0.2, pool.close)
    timer.start()
    assert fails(pool, ["sleep", 30], 60.0) in ("closed", "died")
    timer.join()


@pytest.mark.parametrize("setting", ["workers", "recycle", "memory_mb"])
def test_settings_must_be_positive(setting: str):
    with pytest.raises(InputError, match=setting):
        WorkerPool("a:b", **{setting: 0})


def in_a_fresh_process(tmp_path: Path, code: str, **options) -> subprocess.Popen[str]:
    """A program that sees the checkout's package, wherever it is, and the jobs of the test."""
    (tmp_path / "jobs_of_the_test.py").write_text(JOBS)
    start = f"""
        import os, sys, threading, time
        sys.path.insert(0, {str(tmp_path)!r})
        import palaestra
        from palaestra.rewards.verifiers.workers import WorkerFailure, WorkerPool
        pool = WorkerPool("jobs_of_the_test:work", workers=2)
    """
    program = textwrap.dedent(start) + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def finish(process: subprocess.Popen[str], seconds: float = 300.0) -> str:
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    assert err == ""
    return out


def test_a_forked_child_has_workers_of_its_own(tmp_path: Path):
    code = """
        assert pool.run(["double", 1], 10.0) == 2
        ours = pool.pids
        busy = threading.Thread(target=pool.run, args=(["sleep", 1.5], 30.0))
        busy.start()
        time.sleep(0.2)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            assert pool.pids == []
            assert [pool.run(["double", n], 20.0) for n in range(20)] == [2 * n for n in range(20)]
            theirs = pool.pids
            pool.close()
            os.write(writing, repr(theirs).encode())
            os._exit(0)
        assert [pool.run(["double", n], 20.0) for n in range(20)] == [2 * n for n in range(20)]
        assert os.waitpid(child, 0)[1] == 0
        assert set(eval(os.read(reading, 1000))).isdisjoint(pool.pids)
        busy.join()
        assert set(ours) <= set(pool.pids)
        print("done")
    """
    assert finish(in_a_fresh_process(tmp_path, code)) == "done\n"


def test_a_worker_ends_with_its_parent_though_a_forked_child_lives_on(tmp_path: Path):
    code = """
        pool.run(["double", 1], 10.0)
        child = os.fork()
        if child == 0:
            os.close(1)
            time.sleep(30)
            os._exit(0)
        print(child, *pool.pids, flush=True)
        os.kill(os.getpid(), 9)
    """
    process = in_a_fresh_process(tmp_path, code)
    out, _ = process.stdout.readline(), process.wait()  # type: ignore[union-attr]
    child, *pids = map(int, out.split())
    try:
        assert len(pids) == 1
        assert alive(child)
        assert wait_until_dead(pids)
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()  # type: ignore[union-attr]
        process.stderr.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("job", [["sleep", 60], ["spin", 0]], ids=["asleep", "inside one operation"])
def test_a_worker_ends_with_its_parent_even_while_it_works(tmp_path: Path, job: list):
    code = f"""
        pool.run(["double", 1], 10.0)
        threading.Thread(target=pool.run, args=({job!r}, 0.6 if {job[0]!r} == "spin" else 50.0), daemon=True).start()
        time.sleep(0.3)
        print(*pool.pids, flush=True)
        os.kill(os.getpid(), 9)
    """
    process = in_a_fresh_process(tmp_path, code)
    out, _ = process.communicate(timeout=300)
    pids = list(map(int, out.split()))
    assert len(pids) == 1
    assert wait_until_dead(pids, 90.0)


def test_leaving_with_busy_daemon_threads_is_silent_and_leaves_no_process(tmp_path: Path):
    code = """
        def work():
            try:
                pool.run(["sleep", 60], 100.0)
            except WorkerFailure:
                pass
        pool.run(["double", 1], 10.0)
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        while len(pool.pids) < 2:
            time.sleep(0.01)
        time.sleep(0.3)
        print(*pool.pids)
    """
    pids = list(map(int, finish(in_a_fresh_process(tmp_path, code)).split()))
    assert len(pids) == 2
    assert wait_until_dead(pids)


def test_workers_start_where_the_package_is_not_installed(tmp_path: Path):
    """The package is found next to its parent's copy, and a file of the working directory hides nothing."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    (tmp_path / "palaestra").symlink_to(Path(palaestra.__file__).parent, target_is_directory=True)
    program = """if True:
        import sys
        sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
        sys.path[:] = [path for path in sys.path if "__editable__" not in path]
        import json
        sys.path.append("")
        import palaestra
        from palaestra.rewards.verifiers.workers import WorkerPool
        pool = WorkerPool("palaestra.rewards.answers:extract")
        print(pool.run("so \\\\boxed{7}", 10.0))
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=300
    )
    assert (done.stdout, done.stderr) == ("7\n", "")
