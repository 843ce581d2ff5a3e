"""The verifier "math" with its workers killed, stuck, starved, shared by threads and forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from palaestra.errors import MissingExtra
from palaestra.rewards import VERIFIERS, Verdict, verify
from palaestra.rewards.verifiers.mathematics import verifier
from palaestra.rewards.verifiers.workers import WorkerFailure, WorkerPool

PAIRS = [
    *((r"\sin^2 x+\cos^2 x", "1", True), (r"2\sin x\cos x", r"\sin 2x", True), (r"\sin x", r"\cos x", False)),
    *(("2*2^x", "2^{x+1}", True), ("2^x", "2^{x+1}", False), (r"3\ln 2", r"\ln 8", True), ("72", "72", True)),
    *((r"\sqrt{x^2}", "x", False), (r"\{\sin 1, 2^x\}", r"\{2^x, \sin 1\}", True), ("x+1", "1+x", True)),
    *((r"y=2\sin x\cos x", r"\sin(2x)=y", True), (r"y<\sin x", r"2y<2\sin x", True), (r"y<\sin x", r"y>\sin x", False)),
]


def check(pair: tuple[str, str, bool]) -> bool:
    answer, reference, right = pair
    verdict = verify("math", answer, reference, deadline=30.0)
    return verdict.valid and verdict.success == right


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch):
    """A pool of its own, so that what is done to it touches no other test."""
    pool = WorkerPool(f"{verifier.__package__}.symbolic:answer_problems", workers=1)
    monkeypatch.setattr(verifier, "POOL", pool)
    yield pool
    pool.close()


def test_symbolic_pairs():
    assert all(map(check, PAIRS))


def test_a_worker_killed_between_calls_costs_nothing(pool: WorkerPool):
    assert check(PAIRS[0])
    os.kill(pool.pids[0], signal.SIGKILL)
    assert check(PAIRS[1])


def test_a_hung_worker_is_a_failure_of_the_machinery_and_the_next_call_works(pool: WorkerPool):
    assert check(PAIRS[0])
    os.kill(pool.pids[0], signal.SIGSTOP)
    verdict = verify("math", *PAIRS[0][:2], deadline=0.3)
    assert (verdict.valid, verdict.success, verdict.score) == (False, False, 0.0)
    assert "too long" in verdict.feedback
    assert check(PAIRS[1])


@pytest.mark.parametrize("reason", ["memory", "died", "failed", "start", "busy", "closed"])
def test_every_failure_of_the_pool_is_an_invalid_verdict(reason: str, monkeypatch: pytest.MonkeyPatch):
    class Broken:
        def run(self, job: object, deadline: float, wait: float) -> object:
            raise WorkerFailure(reason)

    monkeypatch.setattr(verifier, "POOL", Broken())
    verdict = verify("math", *PAIRS[0][:2])
    assert (verdict.valid, verdict.success, verdict.score) == (False, False, 0.0)
    assert verdict.feedback
    # What needs no worker is judged all the same.
    assert verify("math", "x+1", "1+x").success


def test_what_cannot_be_proved_is_not_guessed(monkeypatch: pytest.MonkeyPatch):
    class Silent:
        def run(self, job: list, deadline: float, wait: float) -> list:
            return [None] * len(job)

    monkeypatch.setattr(verifier, "POOL", Silent())
    assert verify("math", *PAIRS[0][:2]).valid is False
    assert verify("math", r"\pi", "3.14", decimals=2).valid is False


def test_numbers_that_agree_to_thirty_digits_are_told_apart():
    # The difference is 7.5e-13 of 2.6e17.
    assert verify("math", r"e^{\pi\sqrt{163}}", "262537412640768744", deadline=20.0) == Verdict(
        0.0, False, feedback="The answer is not correct."
    )


def test_plain_answers_start_no_worker(pool: WorkerPool):
    for answer, reference in (("72", "72"), ("(x+1)^2", "x^2+2x+1"), (r"\sqrt8", r"2\sqrt2"), ("y=2x", "2y=4x")):
        assert verify("math", answer, reference).success
    assert pool.pids == []


def test_without_sympy_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(verifier.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"palaestra\[math\]"):
        verify("math", r"\sin^2 x+\cos^2 x", "1")
    assert verify("math", "x+1", "1+x").success


def test_thirty_two_threads_give_the_answers_of_one():
    work = PAIRS * 10
    alone = [check(pair) for pair in PAIRS]
    with ThreadPoolExecutor(32) as executor:
        assert list(executor.map(check, work)) == alone * 10


def test_a_verdict_does_not_depend_on_what_was_asked_before(pool: WorkerPool):
    first = [check(pair) for pair in PAIRS]
    assert [check(pair) for pair in reversed(PAIRS)] == first[::-1]


def test_forked_processes_have_workers_of_their_own():
    program = """if True:
        import os, sys
        sys.path.insert(0, sys.argv[1])
        from test_verifier_workers import PAIRS, check, verifier
        assert all(map(check, PAIRS))
        ours = set(verifier.POOL.pids)
        children = []
        for _ in range(3):
            child = os.fork()
            if not child:
                good = all(map(check, PAIRS)) and ours.isdisjoint(verifier.POOL.pids)
                verifier.POOL.close()
                os._exit(0 if good else 1)
            children.append(child)
        assert all(map(check, PAIRS)) and ours == set(verifier.POOL.pids)
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_spawned_processes_have_workers_of_their_own():
    with get_context("spawn").Pool(1) as processes:
        assert processes.apply(VERIFIERS["math"], (r"\sin^2 x+\cos^2 x", "1"), {"deadline": 30.0}).success


def test_the_deadline_bounds_the_call_from_any_thread(pool: WorkerPool):
    """An expansion that takes minutes."""
    assert check(PAIRS[0])
    left = r"(\sin x+\cos x+e^x)^{60}"
    right = r"(1+\sin 2x+e^{2x}+2e^x(\sin x+\cos x))^{30}"
    began = time.monotonic()
    with ThreadPoolExecutor(1) as executor:
        verdict = executor.submit(verify, "math", left, right, deadline=0.5).result()
    assert time.monotonic() - began < 50.0
    assert not verdict.valid
    assert "too long" in verdict.feedback
    assert check(PAIRS[0])


def test_an_answer_that_waited_too_long_for_a_worker_is_not_judged_and_says_so(pool: WorkerPool):
    assert check(PAIRS[0])
    for seconds in (1.0, 6.0, 24.0):  # longer ones for a machine that stands still
        os.kill(pool.pids[0], signal.SIGSTOP)
        with ThreadPoolExecutor(2) as executor:
            stuck = executor.submit(verify, "math", *PAIRS[0][:2], deadline=seconds)
            time.sleep(0.3 * seconds)
            verdict = executor.submit(verify, "math", *PAIRS[1][:2], wait=0.1).result()
            # Another waits longer than its deadline, which begins when its work does.
            patient = executor.submit(verify, "math", *PAIRS[1][:2], deadline=seconds / 2).result()
            assert not stuck.result().valid
        if not verdict.valid and patient.success:
            break
    assert (verdict.valid, verdict.success, verdict.score) == (False, False, 0.0)
    assert "busy" in verdict.feedback
    assert patient.success


def test_a_worker_imports_sympy_and_nothing_of_the_package_beside_it(pool: WorkerPool):
    assert check(PAIRS[0])
    maps = Path(f"/proc/{pool.pids[0]}/maps").read_text()
    assert "numpy" not in maps


def test_large_multiples_of_an_angle_are_not_expanded():
    for k in (17, 100, 399):
        assert check((rf"2\sin({k}x)\cos({k}x)", rf"\sin {2 * k}x", True))
        assert check((rf"\cos({k}x)+i\sin({k}x)", rf"e^{{{k}ix}}", True))
