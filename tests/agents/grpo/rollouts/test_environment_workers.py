"""Calls of environments in threads: several at a time, each with an end, whatever it does."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from palaestra.agents.grpo.rollouts.environment_workers import EnvironmentWorkers, StepTimeout
from palaestra.errors import InputError

from ....patience import wait_until, with_more_time  # isort: skip


def test_as_many_calls_run_at_a_time_as_there_are_workers():
    queue, gate = EnvironmentWorkers(3).queue(), threading.Barrier(3, timeout=60)
    for key in range(6):
        queue.submit(key, gate.wait)
    ended = {}
    while len(queue):
        ended |= dict(queue.take(wait=True))
    assert sorted(ended) == list(range(6))
    assert all(end.exception() is None for end in ended.values())


def test_the_end_that_comes_first_is_taken_first_and_one_can_be_waited_for():
    queue, gate = EnvironmentWorkers(2).queue(), threading.Event()
    queue.submit(0, gate.wait)
    queue.submit(1, lambda: "done")
    assert [(key, end.result()) for key, end in queue.take(wait=True)] == [(1, "done")]
    assert not queue.ready()
    assert queue.take(wait=False) == []
    gate.set()
    key, end = queue.take_one(0)
    assert (key, end.result(), len(queue)) == (0, True, 0)


@pytest.mark.parametrize("leave", [lambda: 1 / 0, sys.exit], ids=["an error", "an exit"])
def test_a_call_that_raises_ends_and_its_worker_goes_on(leave):
    queue = EnvironmentWorkers(1).queue()
    queue.submit(0, leave)
    queue.submit(1, lambda: "alive")
    assert isinstance(queue.take_one(0)[1].exception(), Exception)
    assert queue.take_one(1)[1].result() == "alive"


def test_a_call_beyond_the_limit_fails_and_another_worker_takes_the_place_of_its_own():
    def check(seconds: float) -> None:
        queue, gate = EnvironmentWorkers(1, seconds=seconds).queue(), threading.Event()
        late = []
        queue.submit(0, lambda: late.append(gate.wait(120)))
        queue.submit(1, lambda: "alive")
        assert isinstance(queue.take_one(0)[1].exception(), StepTimeout)
        assert queue.take_one(1)[1].result() == "alive"
        gate.set()  # what comes back too late is not taken for anything, and its worker ends
        wait_until(lambda: late)
        queue.submit(0, lambda: "another call")
        assert queue.take_one(0)[1].result() == "another call"

    with_more_time(check, (0.1, 2.0, 20.0))


def test_the_time_that_a_call_waits_for_a_worker_does_not_count():
    def check(seconds: float) -> None:
        queue = EnvironmentWorkers(1, seconds=seconds).queue()
        for key in range(4):
            queue.submit(key, lambda: time.sleep(0.4 * seconds))
        assert all(queue.take_one(key)[1].exception() is None for key in range(4))

    with_more_time(check, (0.3, 3.0, 20.0))


def test_calls_that_are_given_up_are_not_made_and_those_under_way_are_waited_for():
    queue, begun, gate = EnvironmentWorkers(2).queue(), threading.Barrier(3, timeout=60), threading.Event()
    made = []

    def call(error: bool) -> None:
        begun.wait()
        gate.wait(60)
        made.append(error)
        if error:
            raise OSError("the world is gone")

    queue.submit(0, lambda: call(error=False))
    queue.submit(1, lambda: call(error=True))
    queue.submit(2, lambda: made.append("never"))
    begun.wait()
    threading.Timer(0.05, gate.set).start()
    assert queue.cancel() == {0, 2}
    assert sorted(made) == [False, True]
    assert len(queue) == 0


def test_settings_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="env_workers"):
        EnvironmentWorkers(0)
    with pytest.raises(InputError, match=r"env_seconds .* not -1"):
        EnvironmentWorkers(1, -1)
