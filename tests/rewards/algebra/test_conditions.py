from __future__ import annotations

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
