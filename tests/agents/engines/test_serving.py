from __future__ import annotations

from typing import Any

import pytest
from palaestra.agents.engines.engine import ENGINES, Engine
from palaestra.agents.engines.serving import Serving


class Copying(Engine):
    """Remembers what happened to it."""

    copies = True

    def __init__(self) -> None:
        self.events: list[Any] = []

    @classmethod
    def serve(cls, language, slots, max_length, fp32_head=False, size=0):
        return cls()

    def follow(self, language):
        self.events.append(language)

    def sleep(self):
        self.events.append("sleep")

    def shut_down(self):
        self.events.append("shut down")


@pytest.fixture
def copying(monkeypatch):
    monkeypatch.setitem(ENGINES._entries, "copying", Copying)
    return Serving("copying", {"size": 1})


def test_an_engine_with_weights_of_its_own_is_made_once_and_follows_the_policy(copying):
    engine = copying.open("first", 4, 100)
    assert copying.open("second", 9, 100) is engine
    copying.sleep()
    copying.shut_down()
    assert engine.events == ["first", "second", "sleep", "shut down"]
    assert copying.open("third", 4, 100) is not engine


def test_an_engine_that_reads_the_policy_is_made_anew(small):
    serving = Serving()
    assert serving.open(small, 4, 100) is not serving.open(small, 4, 100)
    serving.sleep()
    serving.shut_down()
