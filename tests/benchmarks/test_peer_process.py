"""Processes of peers: their answers, their prints, their end, and the files that they leave."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from palaestra.benchmarks.peer_process import AnswerTimeout, PeerProcess, find_peers, open_peers
from palaestra.errors import InputError

PEERS = """
import os, time

def find_installed(*names):
    print("what a peer prints")
    return {"peer": "1", **dict.fromkeys(names, "2")}

def answer(do):
    if do == "hang":
        time.sleep(600)
    if do == "die":
        os._exit(1)
    if do == "write":
        open("left", "w").close()
    return {"done": 1 / 0 if do == "fail" else do}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "peers.py").write_text(PEERS)
    return str(tmp_path / "peers.py")


@pytest.fixture
def peer(file: str) -> Iterator[PeerProcess]:
    with contextlib.closing(PeerProcess(Path(sys.executable), file, "more", quiet=True, startup=60.0)) as process:
        yield process


def test_requests_are_answered_and_errors_are_answers(peer: PeerProcess):
    assert peer.versions == {"peer": "1", "more": "2"}
    assert peer.ask(do="this") == {"done": "this"}
    assert peer.ask(do="fail") == {"error": "ZeroDivisionError: division by zero"}
    assert peer.ask(60.0, do="that") == {"done": "that"}


def test_a_process_that_hangs_is_not_waited_for(peer: PeerProcess):
    with pytest.raises(AnswerTimeout, match=r"within 0\.2 s"):
        peer.ask(0.2, do="hang")


def test_a_process_that_dies_is_named(peer: PeerProcess):
    with pytest.raises(InputError, match=r"the peers' process under .* ended"):
        peer.ask(do="die")


def test_the_folder_goes_with_the_process(file: str):
    process = PeerProcess(Path(sys.executable), file, quiet=True)
    process.ask(do="write")
    assert [path.name for path in process.folder.iterdir()] == ["left"]
    process.close()
    assert not process.folder.exists()


def test_the_first_python_with_a_peer_counts(file: str):
    pythons = [Path(sys.executable), Path(sys.executable)]
    with open_peers(pythons, file) as found:
        assert found["peer"].ask(do="this") == {"done": "this"}
    assert found.keys() == {"peer"}
    assert find_peers(pythons, file) == {"peer": (pythons[0], "1")}
    with pytest.raises(InputError, match="--peer-python must be a Python interpreter"), open_peers([Path("no")], file):
        pass
