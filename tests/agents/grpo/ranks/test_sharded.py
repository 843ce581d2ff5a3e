"""Models that are split over two processes: this one leads, and a real one follows over gloo."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.sharded import ShardedRanks
from palaestra.agents.grpo.ranks.shards import Shards
from palaestra.agents.grpo.update import Update

from ..test_every_recipe import full, models  # noqa: F401 - fixtures
from .test_leader import FAMILIES, follow, gradient, update_of

FOLLOW = """
from palaestra.agents.grpo.ranks.channel import RankChannel
from palaestra.agents.grpo.ranks.sharded import ShardedFollower
from palaestra.agents.grpo.ranks.shards import Shards

def gradients(self):
    weights = self.models[0].parameters()
    return [None if w.grad is None else w.grad.full_tensor() for w in weights]

Shards.gradients = gradients
channel = RankChannel(1.0)
ShardedFollower(channel).serve()
channel.leave()
"""


@pytest.fixture(scope="module")
def ranks():
    Shards.gradients = lambda self: [
        None if w.grad is None else w.grad.full_tensor() for w in self.models[0].parameters()
    ]
    with follow(FOLLOW) as other:
        channel = RankChannel(2.0)
    leader = ShardedRanks(channel)
    yield leader
    leader.stop()
    channel.leave()
    assert other.wait(timeout=60) == 0


def split_gradient(models: Any, name: str, groups: Any, ranks: ShardedRanks) -> Any:
    update = update_of(copy.deepcopy(models), name, ranks)
    kept = update.objective.keep(update.objective.shape(groups))
    tally = update._accumulate(update._prepare(kept, [groups for _ in update.objective.streams])[0])
    assert tally is not None
    found = ranks.together("gradients")
    zero = [
        torch.zeros_like(w) if g is None else g for w, g in zip(update.model.parameters(), found, strict=True)
    ]
    return torch.cat([grad.flatten() for grad in zero]), tally.means()


@pytest.mark.parametrize("name", FAMILIES)
def test_two_processes_have_the_gradient_and_the_statistics_of_one(name, ranks, models, full):  # noqa: F811
    alone, statistics = gradient(copy.deepcopy(models), name, full, None)
    shared, joined = split_gradient(models, name, full, ranks)
    assert alone.abs().max() > 0
    assert (shared - alone).abs().max() <= 1e-6 * alone.abs().max()
    assert joined == pytest.approx(statistics, rel=1e-5, abs=1e-9)
