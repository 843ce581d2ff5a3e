"""Signals that end a command end it as Ctrl-C does."""

from __future__ import annotations

import os
import signal
import time

import pytest
from palaestra.scripts import stopping
from palaestra.scripts.cli import main, run_guarded
from palaestra.scripts.stopping import Stopped, exit_code, interrupt_on_signals, stop_after_step

NUMBERS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def send(number):
    os.kill(os.getpid(), number)
    time.sleep(0.001)


@pytest.fixture(autouse=True)
def handlers():
    """Signals must be handled after a test as before."""
    before = [signal.getsignal(number) for number, _ in NUMBERS]
    yield
    assert [signal.getsignal(number) for number, _ in NUMBERS] == before


@pytest.mark.parametrize(("number", "code"), NUMBERS)
def test_any_command_is_interrupted_with_its_exit_code(number, code, capsys):
    cleaned = []

    def command(argv):
        try:
            send(number)
            time.sleep(60)
        finally:
            cleaned.append(True)

    assert run_guarded(command, []) == code
    assert capsys.readouterr().err == "palaestra: stopped.\n"
    assert cleaned


@pytest.mark.parametrize(("number", "code"), NUMBERS)
def test_training_ends_after_its_step_and_at_once_when_told_again(number, code, monkeypatch):
    stopped, said = [], []
    with stop_after_step(lambda: stopped.append(True), said.append) as code_of:
        send(number)
    assert stopped == [True]
    assert said[0].startswith("stopping after this step; ")
    assert code_of() == code
    monkeypatch.setattr(stopping, "_TOGETHER", 0.0)
    with stop_after_step(lambda: None, said.append):
        send(number)
        with pytest.raises(Stopped) as at_once:
            send(number)
    assert exit_code(at_once.value) == code


def test_signals_that_come_together_are_one():
    with stop_after_step(lambda: None, lambda sentence: None) as code_of:
        send(signal.SIGHUP)
        send(signal.SIGHUP)
        send(signal.SIGTERM)
    assert code_of() == 129


def test_a_signal_that_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stopped = []
        with interrupt_on_signals(), stop_after_step(lambda: stopped.append(True), print):
            send(signal.SIGHUP)
        assert not stopped
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("context", [interrupt_on_signals, lambda: stop_after_step(lambda: None, print)])
def test_a_fork_dies_of_the_signal(context):
    ready, tell = os.pipe()
    with context():
        child = os.fork()
        if not child:
            os.write(tell, b"1")
            time.sleep(60)
            os._exit(0)
        os.read(ready, 1)  # Python forgets what a fork receives before
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    os.close(ready)
    os.close(tell)


AGENT = """
import os, signal
asked = []
def answer(observation):
    asked.append(observation)
    if len(asked) == 3:
        os.kill(os.getpid(), signal.SIGTERM)
    return "1"
"""


def test_an_evaluation_keeps_what_was_played_and_says_how_to_go_on(tmp_path, monkeypatch, capsys):
    (tmp_path / "signalled_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "played.jsonl"
    words = ["eval", "palaestra/Arithmetic-v0", "--agent", "signalled_agent:answer", "--num-envs", "1"]
    words += ["--episodes", "6", "--out", str(out)]
    assert main(words) == 143
    assert f"{out}.partial holds what was played, go on with --resume" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
