"""Registries whose entries are registered by modules that are imported when a name is first looked up."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from palaestra.errors import InputError
from palaestra.registry import Registry

FRUIT: Registry[int] = Registry("fruit", modules=["slow_fruit"])


@pytest.fixture
def slow_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registers a name, takes a while, and registers another one."""
    module = tmp_path / "slow_fruit.py"
    module.write_text(
        f"import sys, time\nfruit = sys.modules[{__name__!r}].FRUIT\n"
        "fruit.add('apple', 1)\ntime.sleep(0.3)\nfruit.add('pear', 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("slow_fruit", None)


@pytest.mark.usefixtures("slow_module")
def test_who_asks_while_another_thread_imports_waits_for_it():
    gate = threading.Barrier(4, timeout=20)

    def ask(name: str) -> int:
        gate.wait()
        return FRUIT[name]

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(ask, ["apple", "pear", "pear", "apple"])] == [1, 2, 2, 1]
    with pytest.raises(InputError, match="unknown fruit 'peer'; did you mean 'pear'"):
        FRUIT["peer"]
