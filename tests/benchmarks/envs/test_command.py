"""``palaestra bench envs``: what is measured, and that peers that fail are said to."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import gymnasium as gym
import palaestra
import pytest
from palaestra.benchmarks.envs import command as bench_envs
from palaestra.benchmarks.envs import peers as bench_envs_peers
from palaestra.benchmarks.envs.matches import GAMES, MATCHES, Match, PeerTask
from palaestra.scripts.cli import main

COUNTDOWN = next(match for match in MATCHES if match.name == "countdown")


@pytest.mark.parametrize("match", MATCHES, ids=[match.name for match in MATCHES])
def test_every_line_makes_and_checks_its_task_and_says_what_is_promised(match: Match):
    stream, check = bench_envs.make_source(match, 0)
    first, second = next(stream), next(stream)
    assert repr(first) != repr(second)
    assert check(first) >= 1
    assert match.promise
    assert match.peers
    assert all(task.promise and task.peer in bench_envs_peers.PEERS for task in match.peers)


def test_lines_have_different_names_and_games_are_registered():
    assert len({match.name for match in MATCHES}) == len(MATCHES)
    assert set(GAMES) <= set(palaestra.envs.ids())


@pytest.mark.parametrize("match", MATCHES, ids=[match.name for match in MATCHES])
def test_reasoning_gym_makes_every_task_that_it_is_compared_in(match: Match):
    for task in match.peers:
        if task.peer == "reasoning-gym":
            stream, _ = bench_envs_peers.reasoning_gym(task.name, dict(task.config), 0)
            assert next(stream)["question"]


def test_a_measurement_counts_what_the_clock_allows():
    ticks = itertools.count()
    checks = []

    def check(task: int) -> int:
        checks.append(task)
        return 2

    found = bench_envs_peers.measure_rates((itertools.count(), check), 10.0, clock=lambda: float(next(ticks)))
    assert found["generated"] == 10
    assert found["checked"] == 2 * len(checks)
    assert checks[0] == 0


def test_steps_are_those_of_the_solver(monkeypatch):
    monkeypatch.setattr(bench_envs.time, "process_time", itertools.count(0, 0.5).__next__)
    env = gym.make("palaestra/GuessNumber-v0", disable_env_checker=True)
    env.reset(seed=0)
    steps = 0
    while True:
        steps += 1
        _, _, terminated, _, _ = env.step(env.unwrapped.oracle())  # type: ignore[attr-defined]
        if terminated:
            break
    assert bench_envs.steps_per_second("palaestra/GuessNumber-v0", 0.5) == steps / 0.5


def test_the_command_writes_its_figures_and_a_failing_peer_is_said_to_fail(tmp_path: Path, capsys, monkeypatch):
    out = tmp_path / "envs.json"
    match = Match("odd", "palaestra/Countdown-v0", {"count": 2}, "ours", (PeerTask("reasoning-gym", "no such"),))
    monkeypatch.setattr(bench_envs, "MATCHES", (COUNTDOWN, match))
    code = main(["bench", "envs", "--rounds", "1", "--seconds", "0.01", "--no-games", "--json", str(out)])
    assert code == 0
    figures = json.loads(out.read_text())
    assert [line["name"] for line in figures["tasks"]] == ["countdown", "odd"]
    ours, theirs = figures["tasks"][0]["sides"]
    assert ours["side"] == "palaestra"
    assert ours["made"][0] > 0 < theirs["made"][0]
    assert "odd failed under reasoning-gym" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--only", "sudokku"], "unknown line 'sudokku'"),
        (["--peer-python", "/no/such/python"], "must be a Python interpreter"),
        (["--rounds", "0"], "must be positive"),
        (["--peer-python", "/bin/true"], "the peers' process under '/bin/true' ended"),
    ],
)
def test_wrong_options_are_one_sentence(argv, sentence, capsys):
    assert main(["bench", "envs", *argv]) == 2
    assert sentence in capsys.readouterr().err


def test_the_peers_file_needs_nothing_of_this_package():
    text = Path(bench_envs_peers.__file__).read_text()
    assert "palaestra" not in text
    assert "from ." not in text
