"""What the terms say of themselves: classes and default instances agree, so that a listing needs no instance."""

from __future__ import annotations

import pytest
from palaestra.rewards import REWARDS, make

NAMES = [
    name
    for name, cls in REWARDS.items()
    if cls.__module__.rpartition(".")[2]
    in {
        "annealed_process", "arpo", "consistency", "gradient_influence", "hypervolume", "lagrangian", "lsc",
        "mae_roles", "outcome_noise", "par", "posterior", "reasoning_pattern", "shaped_rm", "sign_scaled",
        "target_length", "trusted_thinking", "hybrid", "rlcr", "cosine_length", "verifiable",
    }
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_class_promises_what_its_default_instance_keeps(name: str):
    cls, made = REWARDS[name], make(name)
    assert (made.needs, made.complete, made.ranks_success) == (cls.needs, cls.complete, cls.ranks_success)
