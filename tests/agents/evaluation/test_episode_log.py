"""No finished episode is lost: files that grow with the evaluation, kills, and going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from palaestra import evaluate
from palaestra.agents import AgentError
from palaestra.agents.evaluation import EvaluationStopped
from palaestra.errors import InputError

from ...patience import wait_until  # isort: skip

ARITHMETIC = "palaestra/Arithmetic-v0"


def add_up(observation: str) -> str:
    import re

    return str(sum(int(number) for number in re.findall(r"\d+", observation)))


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class Stops:
    """Adds up, and is stopped by Ctrl-C at its nth call."""

    def __init__(self, at: int):
        self.left = at

    def __call__(self, observation: str) -> str:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return add_up(observation)


def test_every_finished_episode_is_in_the_file_at_once(tmp_path):
    seen = []

    def watch(done: int, succeeded: int) -> None:
        seen.append(len(lines(tmp_path / "t.jsonl.partial")))

    evaluate(add_up, ARITHMETIC, episodes=5, out=tmp_path / "t.jsonl", progress=watch)
    assert seen == [1, 2, 3, 4, 5]
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"]


def test_ctrl_c_keeps_what_was_played_and_its_report(tmp_path):
    with pytest.raises(EvaluationStopped) as stopped:
        evaluate(Stops(8), ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl")
    assert len(lines(tmp_path / "t.jsonl.partial")) == 7
    assert stopped.value.report is not None
    assert stopped.value.report.episodes == 7
    assert stopped.value.log == tmp_path / "t.jsonl.partial"


def stop_and_go_on(tmp_path, name="add_up"):
    agent = Stops(8)
    agent.__qualname__ = name
    with pytest.raises(EvaluationStopped):
        evaluate(agent, ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl")


def test_an_evaluation_that_goes_on_plays_only_the_rest_and_ends_alike(tmp_path):
    whole = evaluate(add_up, ARITHMETIC, episodes=20, out=tmp_path / "whole.jsonl")
    stop_and_go_on(tmp_path)
    calls = []

    def again(observation: str) -> str:
        calls.append(observation)
        return add_up(observation)

    again.__qualname__ = "add_up"
    assert evaluate(again, ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl", resume=True) == whole
    assert len(calls) == 13
    assert (tmp_path / "t.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    # And from the whole file there is nothing to play.
    assert evaluate(again, ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl", resume=True) == whole
    assert len(calls) == 13


def test_a_torn_last_line_is_played_again(tmp_path):
    whole = evaluate(add_up, ARITHMETIC, episodes=20, out=tmp_path / "whole.jsonl")
    stop_and_go_on(tmp_path)
    with (tmp_path / "t.jsonl.partial").open("a") as stream:
        stream.write('{"episode": 7, "agent": "add')
    assert evaluate(add_up, ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl", resume=True) == whole


def test_a_stopped_evaluation_is_not_overwritten(tmp_path):
    stop_and_go_on(tmp_path)
    with pytest.raises(InputError, match=r"t\.jsonl\.partial holds the episodes .* --resume"):
        evaluate(add_up, ARITHMETIC, episodes=20, out=tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"seed": 1}, "episode 0 of .* has seed .*; go on with the same seed"),
        ({"episodes": 30}, "has difficulty .*, not .*; go on with the same"),
        ({"split": "train"}, "was begun with split 'test', not 'train'"),
        ({"axes": {"digits": 2}}, "was begun with axes None"),
        ({"env_kwargs": {"answer_format": "boxed"}}, "was begun with env_options"),
    ],
)
def test_other_settings_are_refused(tmp_path, changed, sentence):
    stop_and_go_on(tmp_path)
    with pytest.raises(InputError, match=sentence):
        evaluate(add_up, ARITHMETIC, **{"episodes": 20, "out": tmp_path / "t.jsonl", "resume": True, **changed})
    assert len(lines(tmp_path / "t.jsonl.partial")) == 7


def test_a_whole_evaluation_that_is_refused_is_left_alone(tmp_path):
    path = tmp_path / "t.jsonl"
    evaluate(add_up, ARITHMETIC, episodes=4, out=path)
    before = path.read_bytes()
    for agent, episodes, sentence in (("random", 4, "begun with agent"), (add_up, 5, "has difficulty")):
        with pytest.raises(InputError, match=rf"t\.jsonl (was )?{sentence}"):
            evaluate(agent, ARITHMETIC, episodes=episodes, out=path, resume=True)
        assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]
        assert path.read_bytes() == before
    # With nothing left to play it stays as it is as well.
    evaluate(add_up, ARITHMETIC, episodes=4, out=path, resume=True)
    assert path.read_bytes() == before


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "t.jsonl").write_text('{"name": "x"}\n')
    with pytest.raises(InputError, match=r"line 1 of .* is no episode of an evaluation"):
        evaluate(add_up, ARITHMETIC, episodes=3, out=tmp_path / "t.jsonl", resume=True)
    assert (tmp_path / "t.jsonl").read_text() == '{"name": "x"}\n'


def test_more_samples_go_on_from_fewer(tmp_path):
    evaluate(add_up, ARITHMETIC, episodes=5, out=tmp_path / "t.jsonl")
    report = evaluate(add_up, ARITHMETIC, episodes=5, out=tmp_path / "t.jsonl", resume=True, samples=3)
    assert report == evaluate(add_up, ARITHMETIC, episodes=5, samples=3)
    assert [(row["episode"], row["sample"]) for row in lines(tmp_path / "t.jsonl")] == [
        (episode, sample) for episode in range(5) for sample in range(3)
    ]


class Flaky:
    """Fails the first ``times`` calls for each observation."""

    def __init__(self, times: int):
        self.times, self.calls = times, {}

    def __call__(self, observation: str) -> str:
        self.calls[observation] = self.calls.get(observation, 0) + 1
        if self.calls[observation] <= self.times and len(self.calls) % 3 == 0:
            raise ConnectionError("try again")
        return add_up(observation)


def test_a_failed_episode_is_played_again_on_request(tmp_path):
    sound = evaluate(add_up, ARITHMETIC, episodes=9)
    assert evaluate(Flaky(2), ARITHMETIC, episodes=9, retries=0).errored == 3
    assert evaluate(Flaky(2), ARITHMETIC, episodes=9, retries=1).errored == 3
    report = evaluate(Flaky(2), ARITHMETIC, episodes=9, retries=2)
    assert (report.errored, report.success) == (0, sound.success)


def test_failed_episodes_of_an_earlier_evaluation_are_played_again_on_request(tmp_path):
    out = tmp_path / "t.jsonl"
    agent = Flaky(1)
    assert evaluate(agent, ARITHMETIC, episodes=9, out=out).errored == 3
    assert evaluate(agent, ARITHMETIC, episodes=9, out=out, resume=True).errored == 3
    assert evaluate(agent, ARITHMETIC, episodes=9, out=out, resume=True, retries=1).errored == 0
    assert [row["episode"] for row in lines(out)] == list(range(9))


def test_an_evaluation_that_only_fails_leaves_the_old_file_and_no_other(tmp_path):
    (tmp_path / "t.jsonl").write_text("old")
    with pytest.raises(AgentError):
        evaluate(lambda seed: 1 / 0, ARITHMETIC, episodes=9, out=tmp_path / "t.jsonl")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


EPISODES = 200
# One that is to be killed waits for that, should it come so late.
SLOW = f"""
import os, re, time
answers = 0
def add_up(observation):
    global answers
    answers += 1
    time.sleep(600 if "TO_BE_KILLED" in os.environ and answers > {EPISODES - 20} else 0.004)
    return str(sum(int(number) for number in re.findall(r"\\d+", observation)))
"""
COMMAND = [sys.executable, "-m", "palaestra.scripts.eval", ARITHMETIC, "--agent", "slow_agent:add_up"]
COMMAND += ["--episodes", str(EPISODES)]
RUN: dict[str, Any] = {"capture_output": True, "check": True, "timeout": 300}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Path, bytes]:
    """The folder and the output of an evaluation that nothing disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "slow_agent.py").write_text(SLOW)
    return folder, subprocess.run([*COMMAND, "--out", "t.jsonl", "--json", "t.json"], cwd=folder, **RUN).stdout


@pytest.mark.parametrize("wait", [0.15, 0.6])
def test_kill_9_and_going_on_give_the_same_bytes(whole, tmp_path, wait):
    (tmp_path / "slow_agent.py").write_text(SLOW)
    environment = {**os.environ, "TO_BE_KILLED": "1"}
    process = subprocess.Popen([*COMMAND, "--out", "t.jsonl"], cwd=tmp_path, stdout=subprocess.DEVNULL, env=environment)
    partial = tmp_path / "t.jsonl.partial"
    wait_until(lambda: partial.exists() and b"\n" in partial.read_bytes())
    time.sleep(wait)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed_at = partial.read_bytes().count(b"\n")
    assert 0 < killed_at < EPISODES
    resumed = subprocess.run([*COMMAND, "--out", "t.jsonl", "--json", "t.json", "--resume"], cwd=tmp_path, **RUN)
    folder, said = whole
    assert resumed.stdout == said
    for name in ("t.json", "t.jsonl"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
