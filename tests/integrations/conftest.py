"""The environments of scripts/peers.sh, in which other projects run for real."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import palaestra
import pytest

ROOT = Path(palaestra.__file__).parent


@pytest.fixture(scope="session")
def peer_home() -> Callable[[str], Path]:
    """``peer_home(".venv-peers")``: the folder of an environment, once it is made; skips where nobody makes it."""

    def find(name: str) -> Path:
        lock = ROOT / ".venv-peers" / "lock"
        if lock.is_file():
            with lock.open("a") as waiting:
                fcntl.flock(waiting, fcntl.LOCK_EX)
        if not (ROOT / name / "installed").is_file():
            pytest.skip(f"{name} is not there beside the checkout: bash scripts/peers.sh")
        return ROOT / name

    return find
