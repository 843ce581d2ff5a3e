"""Rehearsal against numbers worked out by hand."""

from __future__ import annotations

import json

from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.components.streams.rehearsal import Rehearsal

from .supplies import supply


def test_only_always_solved_tasks_are_rehearsed_with_the_log_probabilities_of_the_start():
    source = Rehearsal(tasks=20, samples=4, batch=5)
    source.prepare(supply(0))
    drawn = source.draw(supply(1))
    assert len(drawn) == 5
    assert all(t.params["n"] % 2 == 0 and t.success for g in drawn for t in g.trajectories)
    assert (collate(drawn).logp_mu[collate(drawn).action] == -1).all()


def test_rehearsal_knows_its_tasks_after_resuming_without_playing_again():
    one, other = Rehearsal(tasks=20), Rehearsal(tasks=20)
    one.prepare(supply(0))
    other.load_state_dict(json.loads(json.dumps(one.state_dict())))

    def never(tasks):
        raise AssertionError

    assert one.draw(supply(3)) == other.draw(supply(3, play=never))
