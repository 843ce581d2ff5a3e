"""A sequence's answer: when it is complete, and what its completion holds."""

from __future__ import annotations

import pytest
from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.sequence import TokenSequence


@pytest.mark.parametrize(
    ("ids", "complete"), [([], False), ([8], False), ([8, 5], False), ([8, 5, 6], True), ([8, 1], True), ([1], True)]
)
def test_an_answer_is_complete_after_a_stop_token_or_the_budget_beyond_the_forced_ids(ids, complete):
    sequence = TokenSequence(0)
    sequence.start(Request(0, [7], 2, forced=[8]))
    sequence.ids = ids
    assert sequence.is_complete({1}) is complete


def test_a_request_adds_to_the_pending_tokens_and_begins_a_new_answer():
    # The token that was sampled last is not in the cache yet.
    sequence = TokenSequence(0, tokens=[1, 2, 3, 8, 9], cached=4, ids=[8, 9], logps=[-1.0, -2.0])
    sequence.start(Request(0, [7], 2, forced=[5, 6]))
    assert sequence.pending == [9, 7, 5, 6]
    assert sequence.forced == 2
    assert (sequence.ids, sequence.logps) == ([], [])


def test_entropies_and_likeliest_ids_are_handed_out_only_if_requested():
    sequence = TokenSequence(3)
    sequence.start(Request(3, [7], 1))
    sequence.ids, sequence.logps = [4], [-0.5]
    sequence.entropies, sequence.top = [0.1], [((4, -0.5),)]
    completion = sequence.finish({1})
    assert (completion.session, completion.ids, completion.logps, completion.finish) == (3, (4,), (-0.5,), "length")
    assert (completion.entropies, completion.top) == ((), ())
    assert sequence.request is None
