"""Environments in processes that are killed, hang or kill themselves: no episode is lost or has a false reward."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.rollouts import environment_processes
from palaestra.agents.grpo.rollouts.environment_processes import (
    EnvironmentLostError,
    EnvironmentProcesses,
    ProcessHost,
)
from palaestra.agents.grpo.rollouts.environment_workers import StepTimeout
from palaestra.agents.grpo.rollouts.environments import Environments, begin, restore, snapshot
from palaestra.errors import InputError
from palaestra.scripts.cli import main

from .conftest import GUESS, read_rows  # isort: skip

FRAIL = '''
import os, signal, time
import palaestra
from palaestra.envs.games.guess_number import GuessNumber


class Frail(GuessNumber):
    """Guesses that are counted, of which some kill the process or hang; one beginning is another one in each process.

    Description: d. Parameters: p.
    """

    def reset(self, *, seed=None, options=None):
        self.turns = 0
        observation, info = super().reset(seed=seed, options=options)
        return observation + (f" {os.getpid()}" if seed == 13 else ""), info

    def step(self, action):
        if action == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if action == "hang":
            time.sleep(1000)
        self.turns += 1
        observation, *rest = super().step(action)
        return f"{self.turns}: {observation}", *rest


palaestra.envs.register("test/Frail-v0", Frail)
'''


@pytest.fixture
def frail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of an environment of a module of its own."""
    (tmp_path / "frail.py").write_text(FRAIL)
    monkeypatch.syspath_prepend(tmp_path)
    return "frail:test/Frail-v0"


@pytest.fixture
def processes() -> Iterator[EnvironmentProcesses]:
    two = EnvironmentProcesses(2)
    yield two
    two.close()


def kill(processes: EnvironmentProcesses) -> None:
    for host in processes.hosts:
        os.kill(host.process, signal.SIGKILL)


def test_an_episode_goes_on_as_if_its_process_had_not_been_killed(processes):
    far, near = Environments(GUESS, None, processes), Environments(GUESS)
    params = near.param_space.at(0.7)
    one, other, third = far.take(), near.take(), far.take()
    assert len({host.process for host in processes.hosts}) == 0  # they start when they are needed
    assert begin(one, 3, params) == begin(other, 3, params)
    saved = snapshot(other)
    for turn in range(4):
        action = other.get_wrapper_attr("oracle")()
        assert one.get_wrapper_attr("oracle")() == action
        assert one.step(action) == other.step(action)
        # What only the environment itself knows.
        assert one.unwrapped.here() == other.unwrapped.here()
        if turn in (1, 2):
            kill(processes)
    assert snapshot(one) == snapshot(other)
    for env in (one, third):  # of which one was never reset
        restore(env, saved, 3, params)
    kill(processes)
    restore(other, saved, 3, params)
    assert one.step("5") == third.step("5") == other.step("5")
    assert len(processes.hosts) == 2


def test_a_call_that_always_kills_its_process_fails_and_its_neighbour_goes_on(processes, frail, caplog):
    environments, near = Environments(frail, None, EnvironmentProcesses(1)), Environments(frail)
    one, neighbour, other = environments.take(), environments.take(), near.take()
    params = near.param_space.at(0.5)
    for env in (one, neighbour, other):
        begin(env, 4, params)
    assert neighbour.step("9") == other.step("9")
    with pytest.raises(EnvironmentLostError, match=r"lost its process 3 times at the same place .*ended by signal 9"):
        one.step("die")
    assert neighbour.step("10") == other.step("10")
    assert caplog.text.count("its episode is played again from its log") == 2


def test_an_episode_that_is_another_one_when_it_is_played_again_fails(processes, frail):
    env = Environments(frail, None, processes).take()
    begin(env, 13, env.unwrapped.param_space.at(0.5))
    kill(processes)
    with pytest.raises(EnvironmentLostError, match="was another one when it was played again"):
        env.step("5")


def test_a_call_beyond_the_limit_ends_its_process_and_the_neighbour_goes_on(frail):
    processes = EnvironmentProcesses(1)
    environments, near = Environments(frail, None, processes), Environments(frail)
    one, neighbour, other = environments.take(), environments.take(), near.take()
    for env in (one, neighbour, other):
        begin(env, 4, near.param_space.at(0.5))
    (host,) = processes.hosts
    processes.seconds = 1.0
    with pytest.raises(StepTimeout, match="more than 1 s, the limit of --env-seconds"):
        one.step("hang")
    processes.seconds = 0.0
    with pytest.raises(ProcessLookupError):
        os.kill(host.process, 0)
    assert neighbour.step("9") == other.step("9")
    processes.close()
    assert not any(host.alive for host in processes.hosts)


def test_an_error_of_the_environment_comes_back_as_it_is(processes):
    env = Environments(GUESS, None, processes).take()
    with pytest.raises(InputError) as far:
        env.reset(seed=1, options={"params": {"bits": 1000}})
    with pytest.raises(InputError) as near:
        env.unwrapped.reset(seed=1, options={"params": {"bits": 1000}})
    assert str(far.value) == str(near.value)


LINE = (
    "--axis bits=4 slack=0 --regularisers entropy_bonus(coefficient=0.5) --lr 0.003 --steps 2 --prompts 2 --samples 4 "
    "--max-new-tokens 3 --max-episode-tokens 30 --final-episodes 4 --track --patience.no-signal 0 "
    "--patience.truncated 0 --threads 1 --context 500"
)


def test_a_run_is_the_same_whether_its_environments_are_killed_in_mid_step_or_not(
    frail, small, tmp_path, monkeypatch, caplog
):
    small.save(tmp_path / "model")
    line = ["train", frail, *LINE.split(), "--model", str(tmp_path / "model"), "--env-processes", "1"]
    assert main([*line, "--out", str(tmp_path / "here")]) == 0
    request, steps, killed = ProcessHost.request, [], []

    def request_and_die(self: ProcessHost, number: int, call: str, *rest: object) -> object:
        steps.append(call)
        if call == "step" and steps.count("step") in (40, 70):
            killed.append(self.process)
            os.kill(self.process, signal.SIGKILL)
        return request(self, number, call, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ProcessHost, "request", request_and_die)
    assert main([*line, "--out", str(tmp_path / "there")]) == 0
    assert len(set(killed)) >= 2
    assert "an environment was lost" in caplog.text
    for name in ("metrics", "trajectories", "evaluations"):
        here, there = ((tmp_path / folder / f"{name}.jsonl").read_bytes() for folder in ("here", "there"))
        assert here == there, name


def test_an_episode_whose_environment_cannot_be_kept_has_no_reward(frail, tmp_path, monkeypatch):
    monkeypatch.setattr(environment_processes, "_LOSSES", 1)
    line = (
        f"{frail} --engine scripted --engine-option answer=die --env-processes 1 --steps 1 --prompts 1 --samples 2 "
        "--warmup.steps 0 --final-episodes 1 --track --patience.no-signal 0"
    )
    main(["train", *line.split(), "--out", str(tmp_path / "run")])
    (row,) = read_rows(tmp_path / "run", "metrics")
    assert row["invalid_episodes"] == row["episodes"] == 2
    assert [(each["n"], each["success"]) for each in read_rows(tmp_path / "run", "proposals")] == [(0, None)]
    assert [each["invalid"] for each in read_rows(tmp_path / "run", "evaluations")] == [1, 1]


def test_a_run_with_a_limit_for_its_processes_can_be_examined_without_them():
    """As `palaestra audit` does."""
    run = TrainConfig(env_processes=2, env_seconds=60.0)
    assert (run.in_one_process().env_processes, run.in_one_process().env_seconds) == (0, 0.0)
    assert replace(run, env_workers=3).in_one_process().env_seconds == 60.0
