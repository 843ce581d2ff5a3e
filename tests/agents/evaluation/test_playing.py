"""The order in which slots are played."""

from __future__ import annotations

from concurrent.futures import Future

import palaestra
from palaestra.agents import SlotAgent


class ShortestFirst(SlotAgent):
    """Works on all replies together, a token each at a time; replies of slot i have i + 1 tokens."""

    threads = None

    def __init__(self):
        self.work, self.done, self.most = {}, [], 0

    def start(self, slot, observation, info):
        self.work[slot] = [slot + 1, Future()]
        return self.work[slot][1]

    def advance(self):
        self.most = max(self.most, len(self.work))
        for slot, row in list(self.work.items()):
            row[0] -= 1
            if row[0] == 0:
                del self.work[slot]
                self.done.append(slot)
                row[1].set_result("1")
        return bool(self.work or self.done)


def test_a_long_reply_of_a_batched_agent_holds_up_no_other_slot():
    agent = ShortestFirst()
    report = palaestra.evaluate(agent, "palaestra/Arithmetic-v0", episodes=8, num_envs=3)
    assert report.episodes == 8
    assert agent.most == 3
    # Replies end after 1, 2 and 3 tokens: while slot 2 writes its first, slot 0 plays two episodes and begins a third.
    assert agent.done[:5] == [0, 1, 0, 2, 0]


def test_replies_of_a_batched_agent_are_waited_for_when_all_slots_are_asked():
    assert ShortestFirst().act(["a", "b"], [{}, {}]) == ["1", "1"]
