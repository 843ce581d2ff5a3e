"""Logits in single precision on a GPU, by torch's own product where it has one; shapes and types, without a GPU."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.language import head
from palaestra.agents.language.head import Head
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode


class Seen(TorchDispatchMode):
    """Notes the operations that are called."""

    def __init__(self):
        super().__init__()
        self.operations = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations.add(function)
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("widens", [True, False], ids=["torch 2.8 on", "before"])
def test_half_precision_weights_on_a_gpu_give_single_precision_logits_in_every_version_of_torch(monkeypatch, widens):
    assert head._widens_products()
    monkeypatch.setattr(head, "_widens_products", lambda: widens)
    with FakeTensorMode(), torch.no_grad(), Seen() as seen:
        hidden, weight = (torch.empty(n, 8, device="cuda", dtype=torch.bfloat16) for n in (4, 40_000))
        logits = Head(weight, fp32=True).logits(hidden)
    assert (logits.dtype, tuple(logits.shape)) == (torch.float32, (4, 40_000))
    assert (torch.ops.aten.mm.dtype in seen.operations) == widens
