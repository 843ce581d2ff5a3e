"""Auxiliary models on a small policy, and batches that they learn from."""

from __future__ import annotations

from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.recipes.stages import AUXILIARIES

from ...conftest import group, trajectory  # isort: skip

PASSES = Passes()


def answers(*rewards: float, lengths=(3, 2, 4, 1)):
    """One group: right answers end in 11, wrong ones in 12."""
    members = [
        trajectory(r, [([5, 6], [7 + i] * (n - 1) + [11 if r > 0.5 else 12])], success=r > 0.5)
        for i, (r, n) in enumerate(zip(rewards, lengths, strict=False))
    ]
    return group(*members)


def measure_batch(small, *groups):
    batch = collate(groups or [answers(1.0, 0.0, 0.0, 1.0)])
    out = PASSES.measure(small.model, batch, hidden=True)
    return batch.with_(logp_old=out.logp, logp_ref=out.logp, hidden=out.hidden)


def make_auxiliary(name: str, small, **params):
    model = AUXILIARIES[name](**params)
    model.attach(small.model, small.model)
    return model
