"""The precision of products of float32 matrices."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.language.precision import bfloat16_cost, set_product_precision


@pytest.mark.parametrize(
    ("device", "dtype", "tf32", "expected"),
    [
        ("cuda", "float32", False, "highest"),
        ("cuda:1", "float32", True, "high"),
        ("cuda", "bfloat16", False, "high"),
        ("cpu", "bfloat16", True, "highest"),
    ],
)
def test_tf32_is_for_gpus_whose_run_asks_for_it_or_is_in_half_precision(monkeypatch, device, dtype, tf32, expected):
    chosen = ["highest"]
    monkeypatch.setattr(torch, "set_float32_matmul_precision", chosen.append)
    set_product_precision(device, dtype, tf32)
    assert chosen[-1] == expected


def test_the_cost_of_half_precision_is_measured_once(monkeypatch):
    types = []
    linear = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda x, w: types.append(x.dtype) or linear(x, w))
    bfloat16_cost.cache_clear()
    assert 0 < bfloat16_cost() == bfloat16_cost()
    assert types.count(torch.bfloat16) == types.count(torch.float32) == 8
