"""Processes under another interpreter: what they answer, raise, and leave behind."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from palaestra.envs.peer_worker import PeerFailure, PeerLost, PeerWorker

ECHO = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "end":
        os._exit(3)
    if request["do"] == "sleep":
        time.sleep(600)
    answer = {"failure": "ValueError: no"} if request["do"] == "raise" else {"said": request, "here": os.getcwd()}
    print(json.dumps({**answer, "own": os.environ.get("OWN"), "path": os.environ.get("PYTHONPATH")}), flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "echo.py").write_text(ECHO)
    return tmp_path / "echo.py"


def test_it_answers_and_goes_on_after_an_error(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    worker = PeerWorker(sys.executable, file, variables={"OWN": "1"})
    with pytest.raises(PeerFailure, match="ValueError: no") as raised:
        worker.ask(do="raise")
    assert not isinstance(raised.value, PeerLost)
    answer = worker.ask(do="echo", text="é")
    assert answer["said"] == {"do": "echo", "text": "é"}
    assert (answer["own"], answer["path"]) == ("1", None)
    assert Path(answer["here"]).is_dir()
    worker.close()
    assert not Path(answer["here"]).exists()
    assert not worker.is_alive
    with pytest.raises(PeerLost, match="has ended"):
        worker.ask(do="echo")


def test_one_that_ends_or_hangs_is_lost(file: Path):
    worker = PeerWorker(sys.executable, file)
    with pytest.raises(PeerLost, match="has ended"):
        worker.ask(do="end")
    worker.close()
    worker = PeerWorker(sys.executable, file)
    worker.ask(do="echo")
    began = time.monotonic()
    with pytest.raises(PeerLost, match=r"did not answer in 0\.2 seconds"):
        worker.ask(seconds=0.2, do="sleep")
    assert time.monotonic() - began < 60
    with pytest.raises(PeerLost):  # a late answer is nobody's
        worker.ask(do="echo")
    with pytest.raises(PeerLost, match="no such program"):
        PeerWorker("/nowhere/python", file)


def test_it_ends_with_the_object_and_a_forked_copy_leaves_it_alone(file: Path):
    worker = PeerWorker(sys.executable, file)
    process = worker._process
    child = os.fork()
    if child == 0:
        worker.close()
        os._exit(worker.is_alive)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert worker.ask(do="echo")["said"] == {"do": "echo"}
    del worker
    assert process.poll() is not None
