"""Run by the tests of running out of memory: ``little_memory.py FILE``.

A process of its own, as in that of the tests memory that earlier ones gave up would be used first. FILE has a model, a
batch and slopes; in their place it gets the budget that is left, and the gradients with little memory and without a
limit.
"""

from __future__ import annotations

import copy
import resource
import sys
from pathlib import Path

import torch
from palaestra.agents.grpo.batch.passes import Passes

if __name__ == "__main__":
    torch.set_num_threads(1)
    model, batch, slope = torch.load(sys.argv[1], weights_only=False)
    one, other = copy.deepcopy(model), copy.deepcopy(model)
    Passes(budget=1000).backward(one, batch, slope)
    passes = Passes(budget=100_000)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    # Room for a part of what the whole batch keeps for its backward pass.
    resource.setrlimit(resource.RLIMIT_AS, (used + (12 << 20), hard))
    try:
        passes.backward(other, batch, slope)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    gradients = [
        torch.cat([w.grad.flatten() for w in each.parameters() if w.grad is not None]) for each in (other, one)
    ]
    torch.save((passes.memory.budget, *gradients), sys.argv[1])
