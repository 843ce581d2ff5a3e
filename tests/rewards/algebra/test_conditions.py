from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.errors import InputError
from palaestra.rewards.algebra import (
    Gate,
    Sum,
    Veto,
)

from .conftest import Read, episode, reward_of  # isort: skip


def test_a_gate_opens_on_success():
    gate = Gate(Read("x"), otherwise=-1.0)
    assert (reward_of(gate, success=True, x=0.3), reward_of(gate, x=0.3)) == (0.3, -1.0)


def test_a_gate_opens_where_its_condition_reaches_the_threshold():
    gate = Gate(Read("x"), condition=Read("c"), threshold=0.5)
    assert [reward_of(gate, x=0.3, c=c) for c in (0.49, 0.5, 2.0)] == [0.0, 0.3, 0.3]


def test_a_shut_gate_gives_its_alternative_once_for_any_number_of_terms():
    gate = Gate(Sum(a=Read("x"), b=Read("y")), otherwise=-1.0)
    assert reward_of(gate, x=1.0, y=1.0) == -1.0


def test_any_critic_can_veto():
    veto = Veto(Read("x"), threshold=0.5, polite=Read("p"), safe=Read("s"))
    assert reward_of(veto, x=9.0, p=0.6, s=0.6) == reward_of(veto, x=9.0, p=0.5, s=0.5) == 9.0
    assert reward_of(veto, x=9.0, p=0.6, s=0.4) == 0.0
    assert reward_of(veto, x=9.0, p=0.4, s=0.6) == 0.0


def test_a_shut_gate_does_not_ask_its_reward():
    asked = []

    class Asked(Read):
        def value(self, episode):
            asked.append(episode.success)
            return 1.0

    verdicts = Gate(Asked("x"), otherwise=-1.0).group([episode(success=True), episode(success=False)])
    assert [verdict.reward for verdict in verdicts] == [1.0, -1.0]
    assert asked == [True]


def test_a_gate_for_some_tasks_does_not_ask_its_reward_about_others():
    asked = []

    class Asked(Read):
        def value(self, episode):
            asked.append(episode.params["intent"])
            return 1.0

    gate = Gate(Asked("x"), where={"intent": ["report", "compare"]})
    tasks = [replace(episode(success=False), params={"intent": intent}) for intent in ("report", "order", "compare")]
    assert [verdict.reward for verdict in gate.group(tasks)] == [1.0, 0.0, 1.0]
    assert asked == ["report", "compare"]
    both = Gate(Read("x"), condition=Read("c"), where={"intent": ["report"]})
    tasks = [("report", 0), ("report", 1), ("order", 0), ("order", 1)]
    episodes = [replace(episode(), params={"intent": intent, "x": 0.3, "c": c}) for intent, c in tasks]
    assert [verdict.reward for verdict in both.group(episodes)] == [0.0, 0.3, 0.0, 0.0]


def test_parameters_of_a_gate_have_lists_of_values():
    with pytest.raises(InputError, match="where must map parameters to lists of values"):
        Gate(Read("x"), where={"intent": "report"})
