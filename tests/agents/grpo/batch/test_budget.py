"""The token budget that follows from a GPU's memory; a token's share is checked against this process's own memory."""

from __future__ import annotations

import copy
import ctypes
import gc
import resource
from pathlib import Path

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.budget import LEAST, MOST, TrainingMemory, training_memory
from palaestra.agents.grpo.batch.passes import Passes
from palaestra.agents.grpo.config import TrainConfig
from palaestra.agents.grpo.objective.objective import Objective
from palaestra.agents.grpo.recipes import RECIPES
from palaestra.agents.grpo.update import Update

from ..conftest import group, trajectory  # isort: skip


def test_the_budget_is_what_fits_beside_gradients_and_optimiser():
    need = TrainingMemory(per_token=1e6, fixed=10_000_000_000)
    # 0.85 x 40 GB - 10 GB = 24 GB: 24,000 tokens of 1 MB, down to a multiple of 256.
    assert need.tokens(40_000_000_000) == 23_808
    assert need.tokens(5_000_000_000) == LEAST
    assert need.tokens(10**12) == MOST


def test_what_does_not_grow_with_tokens_is_gradient_and_moments_and_of_half_precision_weights_masters(small):
    chunk = 3 << 25
    single = training_memory(small.model, Passes()).fixed
    half = training_memory(copy.deepcopy(small.model).bfloat16(), Passes()).fixed
    weights, head = small.model.num_parameters(), small.model.lm_head.weight.numel()
    assert single == 12 * weights + chunk + 6 * head
    assert half == 16 * weights + chunk + 6 * head


def test_a_frozen_weight_has_no_gradient_and_no_state(small):
    model = copy.deepcopy(small.model).requires_grad_(False)
    model.model.norm.weight.requires_grad_(True)
    head = model.lm_head.weight.numel()
    assert training_memory(model, Passes()).fixed == 12 * model.model.norm.weight.numel() + (3 << 25) + 6 * head


def test_recomputed_activations_leave_room_for_more_tokens(small):
    kept = training_memory(small.model, Passes()).per_token
    assert training_memory(small.model, Passes(checkpoint=True)).per_token < kept


def test_what_a_token_is_said_to_keep_is_what_this_process_grows_by(small):
    def resident() -> int:
        gc.collect()
        ctypes.CDLL("libc.so.6").malloc_trim(0)  # what was freed before could be taken without growing
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    rows = [trajectory(1.0, [([5] * 128, [7] * 128)]) for _ in range(64)]
    passes = Passes(packer="plain", budget=100_000)
    (micro,) = passes.micro_batches(collate([group(*rows)]), range(64))
    passes.score(small.model, micro)  # what is made once is there from now on
    before = resident()
    out = passes.score(small.model, micro)
    grown = (resident() - before) / len(micro.ids)
    layers = small.model.config.num_hidden_layers
    said = training_memory(small.model, passes).per_token * layers / (layers + 1)
    assert out.logp.requires_grad
    assert grown == pytest.approx(said, rel=0.35)


@pytest.mark.parametrize("given", [0, 300])
def test_a_run_on_a_gpu_takes_what_is_free_unless_it_was_told_otherwise(small, monkeypatch, given):
    need = training_memory(small.model, Passes())
    free = int((5000 * need.per_token + need.fixed) / 0.85)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free - 1000, 10 * free))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 5000)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 4000)
    config = TrainConfig(recipe="dr_grpo", device="cuda", token_budget=given)
    update = Update(config, Objective(RECIPES["dr_grpo"]), copy.deepcopy(small.model), None, None)
    assert update.passes.budget == (given or 4864)
    said = update.passes.memory.take_notices()
    assert [sentence.split(" tokens")[0] for sentence in said] == (
        [] if given else ["Micro-batches have at most 4,864"]
    )
