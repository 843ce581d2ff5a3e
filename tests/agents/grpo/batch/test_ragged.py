"""What a variable-length kernel is passed says the same as the padded layout; on a GPU, so does the kernel."""

from __future__ import annotations

import builtins

import pytest
import torch
from palaestra.agents.grpo.batch import ragged as layout
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS, MicroBatch
from palaestra.agents.grpo.batch.ragged import Kernel, find_kernel, ragged_reference, suits
from torch._subclasses.fake_tensor import FakeTensorMode

HEADS, KV_HEADS, DIM = 4, 2, 8


def inputs(micro, dtype=torch.float64):
    noise = torch.Generator().manual_seed(0)
    shapes = [(len(micro.ids), heads, DIM) for heads in (HEADS, KV_HEADS, KV_HEADS, HEADS)]
    q, k, v, pull = (torch.randn(shape, generator=noise, dtype=torch.float64).to(dtype) for shape in shapes)
    return [x.requires_grad_() for x in (q, k, v)], pull


def kernel_of_2_10(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, is_causal=False, return_aux=None):
    window = (-1, 0 if is_causal else -1)
    return ragged_reference(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, window_size=window)


def kernel_of_2_11(
    query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1)
):
    return ragged_reference(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, window_size=window_size)


KERNELS = {"2.10": kernel_of_2_10, "2.11": kernel_of_2_11, "2.12": ragged_reference}


@pytest.mark.parametrize(
    ("version", "window"), [*((v, w) for v in ("2.11", "2.12") for w in (None, 4, 1)), ("2.10", None)]
)
@pytest.mark.parametrize("packer", list(PACKERS))
def test_segments_without_padding_attend_and_learn_as_padded_ones_do(packer, ragged, version, window):
    contexts, kernel = 0, Kernel.of(KERNELS[version])
    for micro in PACKERS[packer](collate(ragged), range(16), 100):
        contexts += sum(bool(segment.context) for segment in micro.segments)
        (q, k, v), pull = inputs(micro)
        padded = micro.attend(0, q, k, v, window=window)
        flat = micro.ragged.attend(q, k, v, window, kernel=kernel)
        torch.testing.assert_close(flat, padded, rtol=1e-12, atol=1e-12)
        slopes = [torch.autograd.grad((mixed * pull).sum(), (q, k, v)) for mixed in (padded, flat)]
        for one, other in zip(*slopes, strict=True):
            torch.testing.assert_close(other, one, rtol=1e-11, atol=1e-11)
    assert (contexts > 0) == (packer == "shared_prefix")


def test_what_a_version_of_the_kernel_cannot_do_is_left_to_the_padded_layout():
    old, new = Kernel.of(kernel_of_2_10), Kernel.of(kernel_of_2_11)
    assert old.takes(torch.bfloat16, 64, None)
    assert not old.takes(torch.bfloat16, 64, 4)
    assert new.takes(torch.bfloat16, 64, 4)
    assert not new.takes(torch.float32, 64, None)
    assert not new.takes(torch.bfloat16, 12, None)
    assert not new.takes(torch.bfloat16, 512, None)
    with pytest.raises(ValueError, match="with a window, got 4"):
        old(*[torch.zeros(1, 1, 8)] * 3, window=4)


def test_the_kernel_is_for_half_precision_on_a_gpu_that_has_it(monkeypatch):
    with FakeTensorMode():  # tensors of a GPU that need none
        q = torch.empty(4, HEADS, DIM, device="cuda", dtype=torch.bfloat16)
    monkeypatch.setattr(layout, "is_ampere", lambda device: True)
    for kernel, whole, window in ((kernel_of_2_10, True, False), (kernel_of_2_11, True, True), (None, False, False)):
        found = None if kernel is None else Kernel.of(kernel)
        monkeypatch.setattr(layout, "find_kernel", lambda found=found: found)
        assert (suits(q), suits(q, 4)) == (whole, window)
    monkeypatch.setattr(layout, "find_kernel", lambda: Kernel.of(kernel_of_2_11))
    assert not suits(torch.empty(4, HEADS, DIM, dtype=torch.bfloat16))
    monkeypatch.setattr(layout, "is_ampere", lambda device: False)
    assert not suits(q)


def test_a_torch_without_the_module_has_no_kernel(monkeypatch, ragged):
    real = builtins.__import__

    def lacking(name, *rest):
        if name == "torch.nn.attention.varlen":
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    find_kernel.cache_clear()
    monkeypatch.setattr(builtins, "__import__", lacking)
    try:
        assert find_kernel() is None
        micro: MicroBatch = PACKERS["plain"](collate(ragged), range(16), 100)[0]
        (q, k, v), _ = inputs(micro)
        with pytest.raises(ValueError, match="no variable-length attention"):
            micro.ragged.attend(q, k, v)
    finally:
        monkeypatch.undo()
        find_kernel.cache_clear()
    assert find_kernel() is not None


def test_the_gradient_of_a_shared_token_is_summed_in_single_precision(ragged):
    (micro,) = PACKERS["shared_prefix"](collate(ragged), range(16), 10_000)
    x = torch.zeros(len(micro.ids), KV_HEADS, DIM, dtype=torch.bfloat16, requires_grad=True)
    pull = torch.randn(len(micro.ragged.keys), KV_HEADS, DIM, generator=torch.Generator().manual_seed(1)).bfloat16()
    micro.ragged.expand(x).backward(pull)
    exact = torch.zeros(x.shape, dtype=torch.float64).index_add_(0, micro.ragged.keys, pull.double())
    assert x.grad is not None
    assert torch.equal(x.grad, exact.float().bfloat16())


def test_the_reference_refuses_what_the_kernel_does():
    q, k = torch.zeros(4, 4, 8), torch.zeros(4, 2, 8)
    edges = torch.tensor([0, 4], dtype=torch.int32)
    with pytest.raises(ValueError, match="enable_gqa"):
        ragged_reference(q, k, k, edges, edges, 4, 4)
    with pytest.raises(ValueError, match="more than 3 queries"):
        ragged_reference(q, q, q, edges, edges, 3, 4)


def test_the_kernel_is_given_names_that_it_knows(ragged):
    import inspect

    from torch.nn.attention.varlen import varlen_attn

    theirs, ours = (inspect.signature(f).parameters for f in (varlen_attn, ragged_reference))
    assert all(theirs[name].kind == ours[name].kind for name in ours)
    assert list(ours)[:7] == list(theirs)[:7]


@pytest.mark.parametrize("window", [None, 4])
def test_torchs_kernel_takes_the_arguments_and_gives_gradients_of_the_same_shapes(ragged, window):
    # On the device without data, the operation checks its arguments and says what shapes come out.
    (micro,) = PACKERS["shared_prefix"](collate(ragged), range(16), 10_000)
    there = micro.to(torch.device("meta")).ragged
    shapes = [(len(micro.ids), heads, DIM) for heads in (HEADS, KV_HEADS, KV_HEADS)]
    q, k, v = (torch.empty(shape, dtype=torch.bfloat16, device="meta", requires_grad=True) for shape in shapes)
    mixed = there.attend(q, k, v, window)
    assert (mixed.shape, mixed.dtype) == (q.shape, q.dtype)
    assert [x.shape for x in torch.autograd.grad(mixed.sum(), (q, k, v))] == [q.shape, k.shape, v.shape]
