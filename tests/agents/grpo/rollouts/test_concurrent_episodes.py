"""Environments that are reset and stepped by workers: what is sampled does not depend on the clock, no wait holds up
another episode, and one that fails or hangs has no reward.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import ClassVar

import gymnasium
import numpy as np
import palaestra
import pytest
import torch
from palaestra.agents.grpo.rollouts.environment_workers import EnvironmentWorkers
from palaestra.agents.grpo.rollouts.environments import Environments
from palaestra.agents.grpo.rollouts.episode_player import EpisodePlayer
from palaestra.agents.grpo.rollouts.episode_starts import RolloutTask, Start, TokenLimits
from palaestra.agents.grpo.rollouts.group_sizes import FirstFinished
from palaestra.envs.games.guess_number import GuessNumber
from palaestra.errors import InputError
from palaestra.scripts.cli import main

from ....patience import with_more_time  # isort: skip
from .conftest import ARITHMETIC, GUESS, read_rows  # isort: skip


class Slow(GuessNumber):
    """Guesses whose resets and steps take a while.

    Description: d. Parameters: p.
    """

    before: ClassVar[Callable[[str], object]] = staticmethod(lambda action: None)

    def reset(self, *, seed=None, options=None):
        type(self).before("")
        return super().reset(seed=seed, options=options)

    def step(self, action):
        type(self).before(action)
        return super().step(action)


SLOW = "test/Slow-v0"
if SLOW not in gymnasium.registry:
    palaestra.envs.register(SLOW, Slow)


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], object]], None]:
    """``before(call)``: called with each action, and with "" at each reset, in the environment's own thread."""
    return lambda call: monkeypatch.setattr(Slow, "before", staticmethod(call))


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Small products in several threads take many times as long on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def up(session: int, text: str) -> str:
    """Each turn another guess; some tasks end sooner than others."""
    return str(1 + text.count("<act>") * 2)


def jitter(every: int) -> Callable[[str], object]:
    count = itertools.count()
    return lambda action: time.sleep(0.003 * (next(count) % every))


def sampled(small, workers: int, seed: int = 0, strategy=None, noise: int = 3):
    """Episodes sampled by a model from its own weights: ids, log-probabilities and the attempts that are reported."""
    environments = Environments(SLOW, prompt="terse")
    environments.workers = EnvironmentWorkers(workers)
    limits = TokenLimits(action=6, episode=20, context=400)
    player = EpisodePlayer(
        environments, small.engine(8, 400), small.renderer, limits, 1.0, np.random.default_rng(seed), noise=noise
    )
    tasks = [RolloutTask(environments.param_space.at(0.0), 5 + i, 3, i) for i in range(4)]
    if strategy is None:
        played = [one.trajectory for one in player.play([Start(task) for task in tasks for _ in range(task.samples)])]
    else:
        played = [t for group in strategy.play(tasks, player) for t in group.trajectories]
    ids = [[turn.act_ids for turn in one.turns] for one in played]
    logps = [p for one in played for turn in one.turns for p in turn.logps]
    attempts = {task: [t.turns[0].act_ids for t in tried] for task, tried in player.attempts.items()}
    return ids, logps, attempts


def test_tokens_depend_on_neither_the_clock_nor_the_number_of_workers(small, before, one_thread):
    ids, logps, attempts = sampled(small, 1)
    assert len({len(turns) for turns in ids}) > 1
    for workers, every in ((2, 3), (12, 5)):
        before(jitter(every))
        again, close, tried = sampled(small, workers)
        assert again == ids
        assert tried == attempts
        assert close == pytest.approx(logps, abs=1e-5)
    assert sampled(small, 2, noise=2)[0] != ids


def test_what_finishes_first_does_not_depend_on_the_clock(small, before, one_thread):
    ids = sampled(small, 1, strategy=FirstFinished(2.0))[0]
    for every in (2, 5):
        before(jitter(every))
        assert sampled(small, 24, strategy=FirstFinished(2.0))[0] == ids


@pytest.mark.parametrize("workers", [None, 2])
def test_requests_have_noise_of_their_own(world, workers):
    w = world(GUESS, up)
    w.environments.workers = workers and EnvironmentWorkers(workers)
    w.player.play([Start(w.task), Start(w.task)])
    w.player.play([Start(w.task)])
    w.player.ask(["Why?", "How?"])
    seeds = [request.seed for request in w.sampler.requests]
    assert None not in seeds
    assert len(set(seeds)) == len(seeds)


def test_an_episode_goes_on_while_another_waits(world, before):
    # The first guess of one episode returns only once the sampler has been asked for the other's second.
    w = world(SLOW, lambda session, text: "60" if session == 0 else up(session, text))
    w.environments.workers = EnvironmentWorkers(2)
    further = threading.Event()
    before(lambda action: further.wait(120) if action == "60" else None)
    step = w.sampler.step

    def note() -> object:
        if sum(request.session == 1 for request in w.sampler.requests) >= 2:
            further.set()
        return step()

    w.sampler.step = note
    begun = time.monotonic()
    played = w.player.play([Start(task) for task in w.tasks(1, 1)])
    assert time.monotonic() - begun < 110
    assert all(one.trajectory.valid and len(one.trajectory.turns) > 1 for one in played)


@pytest.mark.parametrize("where", ["reset", "step"])
@pytest.mark.parametrize("how", ["raises", "hangs"])
def test_an_environment_that_fails_or_hangs_gives_no_reward_and_is_not_used_again(world, before, where: str, how: str):
    def check(seconds: float) -> None:
        w = world(SLOW, lambda session, text: "7")
        w.environments.workers = EnvironmentWorkers(2, seconds=seconds)
        never, once = threading.Event(), itertools.count()

        def fail(action: str) -> None:
            if (action == "") == (where == "reset") and next(once) == 1:
                if how == "raises":
                    raise OSError("the world is gone")
                never.wait(120)

        before(fail)
        played = w.player.play([Start(task) for task in w.tasks(*[1] * 4)])
        never.set()
        assert sorted(one.trajectory.valid for one in played) == [False, True, True, True]
        lost = next(one.trajectory for one in played if not one.trajectory.valid)
        assert not lost.success
        assert lost.env_return == 0
        assert lost.error.startswith("the environment failed: ")
        assert how != "raises" or lost.error.endswith("OSError: the world is gone")
        assert len(w.environments._free) == 3

    with_more_time(check, (0.2, 3.0, 20.0))


def test_an_input_error_is_raised(world, before):
    w = world(SLOW, "7")
    w.environments.workers = EnvironmentWorkers(2)

    def refuse(action: str) -> None:
        if action:
            raise InputError("there is no sandbox here.")

    before(refuse)
    with pytest.raises(InputError, match="no sandbox here"):
        w.player.play([Start(w.task)])


def test_no_environment_is_reset_or_stepped_beside_the_sampler_in_its_thread(world, before):
    threads = set()
    before(lambda action: threads.add(threading.current_thread().name))
    w = world(SLOW, "7")
    w.environments.workers = EnvironmentWorkers(2)
    threads.clear()
    # The oracle's turns are complete without the sampler.
    (played,) = w.player.play([Start(w.task, oracle_turns=np.inf)])
    assert played.trajectory.success
    assert threads == {"environment"}


def test_a_command_line_with_any_number_of_workers_trains_on_the_same_tokens(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("palaestra.scripts.report.write_report", lambda folder: folder)
    line = ["train", ARITHMETIC, "--warmup.steps", "0", "--steps", "1", "--prompts", "2", "--samples", "2"]
    line += ["--final-episodes", "1", "--max-new-tokens", "4", "--threads", "1", "--track"]
    found = []
    for workers in (1, 3):
        run = tmp_path / str(workers)
        assert main([*line, "--env-workers", str(workers), "--env-seconds", "60", "--out", str(run)]) == 0
        found.append([row["turns"] for row in read_rows(run, "trajectories")])
    assert found[0] == found[1]
    assert main([*line, "--env-seconds", "5", "--out", str(tmp_path / "none")]) == 2
    assert "env_seconds 5 needs threads" in capsys.readouterr().err
