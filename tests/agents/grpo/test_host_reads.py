"""The host reads nothing of a device within a micro-batch: each reading would wait for all that is queued there.

Counted on a CPU by patching what reads values, with a stand-in for the kernel of attention: the padded layout is not
counted, as a GPU in half precision does not use it.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager

import pytest
import torch
from palaestra.agents.grpo.batch import micro_batches, packing
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.batch.ragged import Ragged
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update

READS = ("item", "tolist", "cpu", "numpy", "nonzero", "__bool__", "__int__", "__float__", "__index__")
RECIPES_WITHOUT_READS = ("grpo", "dr_grpo", "dapo", "gspo", "cispo")


@pytest.fixture
def kernel(monkeypatch):
    """A kernel of attention that reads nothing."""

    def attend(self, q, k, v, window=None):
        return q + (self.expand(k).mean() + self.expand(v).mean())

    monkeypatch.setattr(packing, "suits", lambda q, window: True)
    monkeypatch.setattr(Ragged, "attend", attend)


@contextmanager
def counted(only_passes: bool):
    """Count readings by name; with ``only_passes`` those between the beginning of a micro-batch's forward pass and the
    end of its backward pass."""
    reads: list[str] = []
    inside = [not only_passes]
    run = micro_batches.run_micro_batches

    def run_counted(pack, episodes, compute, *others, **options):
        def within(micro):
            micro.ragged  # noqa: B018 - laid out on the CPU, before anything is queued
            inside[0] = True
            return compute(micro)

        def leave(call):
            def left(*arguments):
                inside[0] = not only_passes
                return call(*arguments)

            return left

        try:
            return run(leave(pack), episodes, within, *others, **options)
        finally:
            inside[0] = not only_passes

    def spy(name, true):
        def read(self, *arguments, **options):
            if inside[0]:
                reads.append(name)
            return true(self, *arguments, **options)

        return read

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palaestra.agents.grpo.batch.passes.run_micro_batches", run_counted)
        for name in READS:
            patch.setattr(torch.Tensor, name, spy(name, getattr(torch.Tensor, name)))
        yield reads


def update_of(small, recipe: str, budget: int, ragged) -> Update:
    config = TrainConfig(recipe=recipe, minibatches=1, epochs=1, token_budget=budget)
    objective = Objective(RECIPES[recipe])
    objective.advance(1, 2)
    model = copy.deepcopy(small.model)
    return Update(config, objective, model, copy.deepcopy(model), None)


@pytest.mark.parametrize("recipe", RECIPES_WITHOUT_READS)
def test_nothing_is_read_within_a_micro_batch(small, ragged, kernel, recipe):
    update = update_of(small, recipe, 60, ragged)
    with counted(only_passes=True) as reads:
        update.run(update.objective.filter_groups(ragged), [], rate=1e-3)
    assert reads == []


def test_a_reading_would_be_seen(small, ragged, kernel, monkeypatch):
    true = Passes.score

    def score(self, *arguments, **options):
        out = true(self, *arguments, **options)
        out.logp.sum().item()
        return out

    monkeypatch.setattr(Passes, "score", score)
    update = update_of(small, "dr_grpo", 60, ragged)
    with counted(only_passes=True) as reads:
        update.run(update.objective.filter_groups(ragged), [], rate=1e-3)
    assert set(reads) == {"item"}


@pytest.mark.parametrize("recipe", ["grpo", "dapo"])
def test_readings_of_an_update_do_not_grow_with_its_micro_batches(small, ragged, kernel, recipe):
    found = []
    for budget in (40, 10_000):
        update = update_of(small, recipe, budget, ragged)
        with counted(only_passes=False) as reads:
            update.run(update.objective.filter_groups(ragged), [], rate=1e-3)
        found.append(sorted(reads))
    assert found[0] == found[1]


def test_a_batch_of_statistics_is_read_once(small, ragged, kernel):
    weighted = Objective(RECIPES["dr_grpo"]).rollout_terms.weigh(collate(ragged))
    with counted(only_passes=False) as reads:
        from palaestra.agents.grpo.objective.loss import accumulate_gradients

        tally = accumulate_gradients(copy.deepcopy(small.model), weighted, Passes(budget=60))
        before = len(reads)
        tally.means()
    assert reads[before:] == ["tolist"]
