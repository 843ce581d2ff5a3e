"""Environments that run programs are stepped many at a time, and nothing depends on which is done first."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import ClassVar

import gymnasium
import palaestra
import pytest
from palaestra.agents.grpo.rollouts import concurrent_episodes
from palaestra.agents.grpo.rollouts.episode_starts import Start
from palaestra.envs.games.guess_number import GuessNumber
from palaestra.errors import InputError


class Waiting(GuessNumber):
    """Guesses whose steps take a while.

    Description: d. Parameters: p.
    """

    needs_sandbox = True
    wait: ClassVar[Callable[[], object]] = staticmethod(lambda: None)

    def step(self, action):
        type(self).wait()
        if action == "7":
            raise OSError("the world is gone")
        if action == "8":
            raise InputError("there is no sandbox here.")
        return super().step(action)


WAITING = "test/Waiting-v0"
if WAITING not in gymnasium.registry:
    palaestra.envs.register(WAITING, Waiting)


@pytest.fixture
def steps_wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    return lambda wait: monkeypatch.setattr(Waiting, "wait", staticmethod(wait))


def played(world, says, starts: int = 12, threads: bool = True):
    """What the sampler was asked, and how much of it before each of its steps; and what came of it."""
    w = world(WAITING, says)
    before, step = [], w.sampler.step
    w.sampler.step = lambda: [before.append(len(w.sampler.requests)), step()][1]
    if not threads:
        w.environments.threads = None
    results = w.player.play([Start(task) for task in w.tasks(*[1] * starts)])
    return ([(r.session, r.ids) for r in w.sampler.requests], before), [one.trajectory for one in results]


def up(session: int, text: str) -> str:
    """Each turn another guess; some episodes end sooner than others."""
    return str(1 + text.count("<act>") * (1 + session % 3))


def test_steps_are_made_at_a_time(world, steps_wait):
    # None goes on until eight are under way.
    gate = threading.Barrier(8, timeout=60)
    steps_wait(gate.wait)
    w = world(WAITING, "1")
    starts = [Start(task) for task in w.tasks(*[1] * 8)]
    w.player.limits = type(w.player.limits)(action=64, episode=2, context=4000)
    assert all(one.trajectory.valid for one in w.player.play(starts))


@pytest.mark.parametrize("starts", [3, 50])
def test_what_is_sampled_does_not_depend_on_which_step_is_done_first(world, steps_wait, starts: int):
    asked, trajectories = played(world, up, starts)
    assert len({len(one.turns) for one in trajectories}) > 1
    for every in (2, 3):
        count = itertools.count()
        steps_wait(lambda count=count, every=every: time.sleep(0.004 * (next(count) % every)))
        assert played(world, up, starts) == (asked, trajectories)


def test_episodes_are_those_of_steps_made_one_by_one(world):
    assert played(world, up)[1] == played(world, up, threads=False)[1]


def test_a_step_that_fails_makes_its_episode_invalid_and_no_other(world):
    w = world(WAITING, lambda session, text: "7" if session == 1 else "1")
    results = w.player.play([Start(task) for task in w.tasks(1, 1, 1)])
    assert [one.trajectory.valid for one in results] == [True, False, True]
    assert len(w.environments._free) == 2


def test_an_input_error_of_a_step_is_raised(world):
    with pytest.raises(InputError, match="no sandbox here"):
        played(world, "8")


@pytest.mark.parametrize(("says", "used_again"), [("1", 4), ("7", 3)], ids=["one that succeeds", "one that fails"])
def test_steps_of_episodes_that_are_given_up_are_waited_for(world, steps_wait, monkeypatch, says: str, used_again: int):
    # When the first episode ends, the second one's step is under way, and two others are being sampled.
    monkeypatch.setattr(concurrent_episodes, "AT_ONCE", 1)
    begun, ended = itertools.count(), []
    steps_wait(lambda: [next(begun), time.sleep(0.2), ended.append(1)])
    w = world(WAITING, lambda session, text: says if session == 1 else "1")
    w.player.limits = type(w.player.limits)(action=64, episode=2, context=4000)
    results = w.player.play([Start(task) for task in w.tasks(*[1] * 4)], enough=lambda number, trajectory: True)
    assert len(results) == 1
    assert len(ended) == next(begun) == 2
    assert len(w.environments._free) == used_again


def test_other_environments_are_stepped_in_this_thread(world):
    assert world("palaestra/GuessNumber-v0", "1").environments.threads is None
