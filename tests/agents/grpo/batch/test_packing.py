"""Micro-batches: what is encoded once, and that this changes no gradient."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.trajectory import Turn

from ..conftest import group, trajectory  # isort: skip

FIRST, SECOND, OTHER = (5, 6, 7), (8, 9, 10, 11), (12, 13)


def turn(page: tuple[int, ...], *action: int, fresh: bool = False) -> Turn:
    return Turn(page, action, (-1.0,) * len(action), "stop", 0.0, fresh=fresh)


def episode(*turns: Turn):
    return replace(trajectory(1, [([5], [6])]), turns=turns)


def several_contexts():
    """Three episodes of two contexts each; the second context is common to two, and one sees a page twice."""
    return collate(
        [
            group(
                episode(turn(FIRST, 20, 2), turn(SECOND, 21, 2, fresh=True)),
                episode(turn(FIRST, 22, 2), turn(SECOND, 23, 24, 2, fresh=True)),
                episode(turn(FIRST, 25, 2), turn(OTHER, 26, 2), turn(OTHER, 27, 2, fresh=True)),
            )
        ]
    )


def test_a_page_that_several_contexts_begin_with_is_encoded_once():
    batch = several_contexts()
    (micro,) = PACKERS["shared_prefix"](batch, range(3), 1000)
    actions = 2 + 2 + 2 + 3 + 2 + 2 + 2
    # The page within the first context of the last episode is no beginning.
    assert len(micro.ids) == len(FIRST) + len(SECOND) + 2 * len(OTHER) + actions
    (plain,) = PACKERS["plain"](batch, range(3), 1000)
    assert len(plain.ids) == len(batch.ids) == 3 * len(FIRST) + 2 * len(SECOND) + 2 * len(OTHER) + actions


def test_shared_pages_count_once_in_the_budget_and_again_in_each_micro_batch():
    batch = several_contexts()
    sizes = [len(micro.ids) for micro in PACKERS["shared_prefix"](batch, range(3), 16)]
    assert sizes == [len(FIRST) + len(SECOND) + 9, len(FIRST) + 2 * len(OTHER) + 6]


def test_sharing_changes_no_gradient(small):
    batch = several_contexts()
    weight = torch.where(batch.action, torch.linspace(-1, 1, len(batch.ids)), torch.zeros(()))
    gradients = []
    for packer in ("plain", "shared_prefix"):
        model = copy.deepcopy(small.model)
        Passes(packer=packer).backward(model, batch, weight)
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    assert gradients[0].abs().max() > 0.01
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-4, atol=1e-6)
