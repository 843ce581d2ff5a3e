"""The sampler that answers from a function."""

from __future__ import annotations

from palaestra.agents.engines.sampler import Request
from palaestra.agents.engines.scripted import ScriptedSampler


def test_the_scripted_sampler_forces_and_reports_entropies_like_an_engine():
    seen = []

    def script(session, context):
        seen.append(list(context))
        return [9, 9, 1]

    sampler = ScriptedSampler(script, stop_ids=[1])
    sampler.submit(Request(0, [5], 2, entropies=True, forced=[6, 7]))
    sampler.submit(Request(1, [5], 2, forced=[1]))
    sampler.submit(Request(2, [5], 3))
    done = [sampler.step()[0] for _ in range(3)]
    assert sampler.step() == []
    assert seen == [[5, 6, 7], [5]]
    assert (done[0].ids, done[0].entropies, done[0].finish) == ((6, 7, 9, 9), (0.0,) * 4, "length")
    assert (done[1].ids, done[1].finish) == ((1,), "stop")
    assert (done[2].ids, done[2].entropies, done[2].finish) == ((9, 9, 1), (), "stop")
