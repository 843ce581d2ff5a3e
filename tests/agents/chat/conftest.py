"""A real server of the chat API for the tests of this folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

_FILE = Path(__file__).parents[2] / "rewards" / "judges" / "chat_server.py"


@pytest.fixture(scope="session")
def chat() -> ModuleType:
    """``chat.serving(script)`` is the server; see `ChatServer`."""
    if "chat_server" not in sys.modules:
        spec = importlib.util.spec_from_file_location("chat_server", _FILE)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["chat_server"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["chat_server"])
    return sys.modules["chat_server"]
