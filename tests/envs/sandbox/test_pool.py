from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from palaestra.envs import sandbox
from palaestra.envs.sandbox import Job, Limits, Pool, Result, running
from palaestra.envs.sandbox.bubblewrap import BubblewrapSandbox
from palaestra.errors import InputError

from ...patience import wait_until, with_more_time  # isort: skip
from .backends import missing

LIMITS = Limits(seconds=20)
needs_local = pytest.mark.skipif(bool(missing("local")), reason=missing("local"))


class Recorder:
    """Makes sandboxes that note what they run, wait as they are told, and lose what they are told to lose."""

    def __init__(self, losses: int = 0, wait: Callable[[str], object] = lambda program: None):
        self.losses, self.wait = losses, wait
        self.ran: list[str] = []
        self.by_thread: dict[int, list[str]] = {}
        self.made = self.closed = self.running = self.most = 0
        self.lock = threading.Lock()

    def __call__(self) -> Recorder:
        self.made += 1
        return self

    def run(self, job: Job, limits: Limits) -> Result:
        with self.lock:
            self.ran.append(job.program)
            self.by_thread.setdefault(threading.get_ident(), []).append(job.program)
            self.running += 1
            self.most = max(self.most, self.running)
            self.losses -= 1
            valid = self.losses < 0
        self.wait(job.program)
        with self.lock:
            self.running -= 1
        return Result(stdout=job.program, valid=valid)

    def close(self) -> None:
        self.closed += 1


def test_two_workers_serve_sixty_four_waiters_in_the_order_in_which_they_came() -> None:
    # The first two wait for each other.
    together = threading.Barrier(2, timeout=60)
    made = Recorder(wait=lambda program: together.wait() if int(program) < 2 else time.sleep(0.002))
    pool = Pool(made, 2)
    answers = [pool.submit(Job(str(n)), LIMITS) for n in range(64)]
    assert [answer.result().stdout for answer in answers] == [str(n) for n in range(64)]
    # One worker may be held up while the other goes on, but each takes them in their order.
    assert all(ran == sorted(ran, key=int) for ran in made.by_thread.values())
    assert sorted(made.ran, key=int) == [str(n) for n in range(64)]
    assert (made.made, made.most) == (2, 2)
    pool.close()


def test_one_job_at_a_time_needs_one_sandbox() -> None:
    made = Recorder()
    pool = Pool(made, 4)
    for n in range(20):
        pool.submit(Job(str(n)), LIMITS).result()
        while pool._idle < 1:
            time.sleep(0.001)
    assert made.made == 1
    pool.close()
    assert made.closed == 1


def test_lost_job_is_tried_once_more() -> None:
    made = Recorder(losses=1)
    pool = Pool(made, 1)
    assert pool.submit(Job("a"), LIMITS).result() == Result(stdout="a")
    assert (made.ran, made.made, made.closed) == (["a", "a"], 2, 1)
    pool.close()


def test_job_that_loses_two_sandboxes_is_not_valid_and_the_next_one_begins_with_a_fresh_one() -> None:
    made = Recorder(losses=2)
    pool = Pool(made, 1)
    assert not pool.submit(Job("a"), LIMITS).result().valid
    assert pool.submit(Job("b"), LIMITS).result() == Result(stdout="b")
    assert (made.ran, made.made, made.closed) == (["a", "a", "b"], 3, 2)
    pool.close()


def test_errors_are_raised_where_the_result_is_awaited_and_the_pool_goes_on() -> None:
    def make() -> Recorder:
        raise InputError("there is no sandbox here.")

    pool = Pool(make, 1)
    with pytest.raises(InputError, match="no sandbox here"):
        pool.submit(Job("a"), LIMITS).result()
    pool.make = Recorder()
    assert pool.submit(Job("b"), LIMITS).result().stdout == "b"
    pool.close()


def test_close_waits_for_the_job_under_way_and_cancels_the_others() -> None:
    gate = threading.Event()
    made = Recorder(wait=lambda program: gate.wait(60))
    pool = Pool(made, 1)
    answers = [pool.submit(Job(str(n)), LIMITS) for n in range(3)]
    wait_until(lambda: made.running)
    closing = threading.Thread(target=pool.close)
    closing.start()
    wait_until(lambda: all(answer.cancelled() for answer in answers[1:]))
    assert closing.is_alive()
    gate.set()
    closing.join()
    assert answers[0].result().stdout == "0"
    for answer in answers[1:]:
        with pytest.raises(CancelledError):
            answer.result()
    assert (made.ran, made.closed) == (["0"], 1)
    with pytest.raises(InputError, match="closed"):
        pool.submit(Job("x"), LIMITS)
    pool.close()


def test_cancelled_job_is_left_out() -> None:
    gate = threading.Event()
    made = Recorder(wait=lambda program: gate.wait(60))
    pool = Pool(made, 1)
    first, second, third = [pool.submit(Job(str(n)), LIMITS) for n in range(3)]
    assert second.cancel()
    gate.set()
    assert third.result().stdout == "2"
    assert first.done()
    assert made.ran == ["0", "2"]
    pool.close()


@pytest.mark.parametrize("workers", [0, -1])
def test_pool_has_a_worker(workers: int) -> None:
    with pytest.raises(InputError, match="1 or more"):
        Pool(Recorder(), workers)


def test_pool_has_a_worker_for_each_core_by_default() -> None:
    assert Pool(Recorder()).workers == len(os.sched_getaffinity(0))


def started() -> tuple[Pool, list[BubblewrapSandbox]]:
    """A pool of one real sandbox at a time, and those that it made."""
    made: list[BubblewrapSandbox] = []

    def make() -> BubblewrapSandbox:
        made.append(BubblewrapSandbox())
        return made[-1]

    return Pool(make, 1), made


def kill(made: list[BubblewrapSandbox], count: int) -> None:
    """Kill the ``count``-th sandbox when it is there."""
    while len(made) < count:
        time.sleep(0.005)
    time.sleep(0.1)
    os.kill(made[-1].pid, signal.SIGKILL)


@needs_local
def test_killed_sandbox_is_replaced_and_its_job_tried_again() -> None:
    def check(seconds: float) -> None:
        pool, made = started()
        with contextlib.closing(pool):
            answer = pool.submit(Job(f"import time; time.sleep({seconds}); print(6 * 7)"), Limits(seconds=60))
            kill(made, 1)
            assert answer.result().stdout == "42\n"
            assert len(made) == 2

    with_more_time(check, (1.0, 6.0, 20.0))


@needs_local
def test_job_whose_sandbox_is_killed_twice_says_nothing_of_the_program() -> None:
    pool, made = started()
    answer = pool.submit(Job("import time; time.sleep(100)"), Limits(seconds=100))
    kill(made, 1)
    kill(made, 2)
    result = answer.result()
    assert (result.valid, result.reason, result.ok) == (False, "lost", False)
    assert pool.submit(Job("print(1)"), LIMITS).result().stdout == "1\n"
    assert len(made) == 3
    pool.close()


def test_a_missing_bubblewrap_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    pool = Pool(BubblewrapSandbox, 1)
    with pytest.raises(InputError, match=r"^the sandbox 'local' needs .*bwrap.*bubblewrap.*docker'\.$"):
        pool.submit(Job("print(1)"), LIMITS).result()
    pool.close()


def test_a_machine_without_user_namespaces_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refusing = tmp_path / "bwrap"
    refusing.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    refusing.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be contained on this machine \(bwrap: No permissions"):
        BubblewrapSandbox()


@needs_local
def test_child_after_a_fork_makes_sandboxes_of_its_own() -> None:
    script = """
import os
from palaestra.envs import sandbox
code = "print(6 * 7)"
assert sandbox.run(code).stdout == "42\\n"
pid = os.fork()
answer = sandbox.run(code).stdout
if pid == 0: os._exit(answer != "42\\n")
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print(answer)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("42\n\n", "")


@needs_local
def test_runs_can_be_awaited() -> None:
    async def both() -> list[Result]:
        answers: list[Future[Result]] = [sandbox.submit(f"print({n})", limits=LIMITS) for n in (1, 2)]
        return await asyncio.gather(*map(asyncio.wrap_future, answers))

    assert [result.stdout for result in asyncio.run(both())] == ["1\n", "2\n"]


@needs_local
def test_arguments_that_are_no_plain_data_raise_and_the_sandbox_lives_on() -> None:
    with pytest.raises(TypeError, match="object is no plain data"):
        sandbox.run("def f(x): return x", calls=[sandbox.Call("f", [object()])], limits=LIMITS)
    assert sandbox.run("print(1)", limits=LIMITS).stdout == "1\n"


def test_threads_that_ask_at_a_time_share_one_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(make: Any) -> Pool:
        time.sleep(0.1)
        return Pool(make)

    monkeypatch.setattr(running, "_POOLS", {})
    monkeypatch.setattr(running, "Pool", slow)
    gate = threading.Barrier(8, timeout=60)
    with ThreadPoolExecutor(8) as threads:
        pools = [*threads.map(lambda _: gate.wait() >= 0 and running.pool("local"), range(8))]
    assert len({*map(id, pools)}) == 1
