"""Chunked log-probabilities against dense ones."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.batch import logprobs
from palaestra.agents.grpo.batch.logprobs import chosen_logps, token_divergence, token_logps, top_tokens
from palaestra.agents.language.head import Head
from palaestra.errors import InputError
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_values_and_gradients_equal_the_dense_ones(monkeypatch, temperature, chunk):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: chunk)
    torch.manual_seed(0)
    hidden = torch.randn(7, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(11, 5, dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 10, 3, 3, 7, 1, 2])
    upstream = torch.randn(7, dtype=torch.float64)

    logp, entropy = token_logps(hidden, weight, targets, temperature)
    dense = (hidden @ weight.T / temperature).log_softmax(-1)
    assert torch.allclose(logp, dense.gather(-1, targets[:, None])[:, 0])
    assert torch.allclose(entropy, -(dense.exp() * dense).sum(-1))

    ours = torch.autograd.grad(logp, (hidden, weight), upstream)
    theirs = torch.autograd.grad(dense.gather(-1, targets[:, None])[:, 0], (hidden, weight), upstream)
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b)


HEADS = {
    "plain": {},
    "bias": {"bias": True},
    "softcap": {"softcap": 2.0},
    "scale": {"scale": 0.7},
    "all": {"bias": True, "softcap": 2.0, "scale": 0.7},
}


def a_head(seed: int, bias: bool = False, softcap: float | None = None, scale: float = 1.0) -> Head:
    """A head over 9 ids of width 4, in double precision, that asks for gradients."""
    noise = torch.Generator().manual_seed(seed)
    weight = torch.randn(9, 4, dtype=torch.float64, generator=noise).requires_grad_()
    offset = torch.randn(9, dtype=torch.float64, generator=noise).requires_grad_() if bias else None
    return Head(weight, offset, softcap, scale)


def states(seed: int, tokens: int = 5) -> torch.Tensor:
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(tokens, 4, dtype=torch.float64, generator=noise).requires_grad_()


def dense(hidden: torch.Tensor, head: Head, temperature: float) -> torch.Tensor:
    """Log-probabilities [A, V], by the formula of the head and nothing else."""
    logits = head.scale * (hidden @ head.weight.T + (0.0 if head.bias is None else head.bias))
    if head.softcap is not None:
        logits = head.softcap * torch.tanh(logits / head.softcap)
    return (logits / temperature).log_softmax(-1)


def trained(hidden: torch.Tensor, head: Head) -> list[torch.Tensor]:
    return [hidden, head.weight, *([] if head.bias is None else [head.bias])]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("chunk", [2, 1000])
def test_every_kind_of_head_has_the_dense_values_and_gradients(monkeypatch, head, chunk):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: chunk)
    hidden, made = states(0), a_head(1, **HEADS[head])
    targets = torch.tensor([0, 8, 3, 3, 7])
    along_logp, along_entropy = states(2)[:, 0].detach(), states(3)[:, 0].detach()
    logp, entropy = token_logps(hidden, made, targets, 0.8, entropy_grad=True)
    all_logps = dense(hidden, made, 0.8)
    expected = all_logps.gather(-1, targets[:, None])[:, 0], -(all_logps.exp() * all_logps).sum(-1)
    assert torch.allclose(logp, expected[0])
    assert torch.allclose(entropy, expected[1])
    ours = torch.autograd.grad((logp, entropy), trained(hidden, made), (along_logp, along_entropy))
    theirs = torch.autograd.grad(expected, trained(hidden, made), (along_logp, along_entropy))
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("chunk", [2, 1000])
def test_several_tokens_a_position_have_the_dense_values_and_gradients(monkeypatch, head, chunk):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: chunk)
    hidden, made = states(0), a_head(1, **HEADS[head])
    ids = torch.tensor([[0, 1, 2], [8, 7, 0], [3, 3, 1], [3, 2, 8], [7, 0, 4]])
    along = torch.randn(5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    ours, theirs = chosen_logps(hidden, made, ids, 0.8), dense(hidden, made, 0.8).gather(-1, ids)
    assert torch.allclose(ours, theirs)
    slopes = (torch.autograd.grad(values, trained(hidden, made), along) for values in (ours, theirs))
    assert all(torch.allclose(a, b) for a, b in zip(*slopes, strict=True))


def test_the_entropy_has_a_gradient_only_when_asked():
    hidden, targets = states(0), torch.tensor([0, 8, 3, 3, 7])
    assert not token_logps(hidden, a_head(1), targets)[1].requires_grad
    assert token_logps(hidden, a_head(1), targets, entropy_grad=True)[1].requires_grad


def test_gradients_pass_the_numerical_check():
    made, targets = a_head(1, bias=True, softcap=2.0, scale=0.7), torch.tensor([0, 8, 3, 3, 7])

    def both(hidden, weight, bias):
        return token_logps(hidden, Head(weight, bias, 2.0, 0.7), targets, 1.3, entropy_grad=True)

    assert torch.autograd.gradcheck(both, (states(0), made.weight, made.bias))


@pytest.mark.parametrize("kind", ["reverse", "forward"])
@pytest.mark.parametrize("head", ["plain", "all"])
def test_divergences_sum_over_the_whole_vocabulary_and_have_its_gradient(monkeypatch, kind, head):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: 2)
    hidden, made, other_hidden, other = states(0), a_head(1, **HEADS[head]), states(4), a_head(5)
    upstream = states(2)[:, 0].detach()
    got = token_divergence(hidden, made, other_hidden, other, kind, 0.8)
    ours, theirs = dense(hidden, made, 0.8), dense(other_hidden, other, 0.8).detach()
    first, second = (ours, theirs) if kind == "reverse" else (theirs, ours)
    expected = torch.nn.functional.kl_div(second, first, log_target=True, reduction="none").sum(-1)
    assert torch.allclose(got, expected)
    a = torch.autograd.grad(got, trained(hidden, made), upstream, retain_graph=True)
    b = torch.autograd.grad(expected, trained(hidden, made), upstream)
    for x, y in zip(a, b, strict=True):
        assert torch.allclose(x, y)
    # The other policy is given: nothing flows into it.
    assert torch.autograd.grad(got.sum(), (other_hidden, other.weight), allow_unused=True) == (None, None)


def test_a_divergence_by_hand():
    # One token, two ids, logits are the weights: p = (3/4, 1/4), q = (1/2, 1/2).
    p, q = (torch.tensor([[math.log(3.0)], [0.0]]), torch.zeros(2, 1))
    one = torch.ones(1, 1)
    assert token_divergence(one, p, one, q, "reverse").item() == pytest.approx(
        0.75 * math.log(1.5) + 0.25 * math.log(0.5)
    )
    assert token_divergence(one, p, one, q, "forward").item() == pytest.approx(
        0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    )
    assert token_divergence(one, p, one, p).item() == 0


def test_divergences_refuse_other_kinds_and_other_vocabularies():
    with pytest.raises(InputError, match="unknown divergence 'tv'; take 'reverse' or 'forward'"):
        token_divergence(states(0), a_head(1), states(0), a_head(1), "tv")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="over 9 and 7 ids"):
        token_divergence(states(0), a_head(1), states(0), a_head(1).first(7))


def test_top_tokens_are_the_likeliest_with_their_share_of_the_whole(monkeypatch):
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: 2)
    hidden, made = states(0), a_head(1, **HEADS["all"])
    ids, logps = top_tokens(hidden, made, 3, 0.7)
    expected = dense(hidden, made, 0.7).topk(3)
    assert torch.equal(ids, expected.indices)
    assert torch.allclose(logps, expected.values)
    assert not logps.requires_grad
    with pytest.raises(InputError, match=r"k must lie in 1\.\.9, got 10"):
        top_tokens(hidden, made, 10)


class _Largest(TorchDispatchMode):
    """Remembers the number of elements of the largest tensor that anything returned."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in torch.utils._pytree.tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self.elements = max(self.elements, tensor.numel())
        return out


@pytest.mark.parametrize("what", ["logps", "divergence", "top"])
def test_no_tensor_of_tokens_by_vocabulary_is_ever_made(monkeypatch, what):
    # 300 tokens, 400 ids, width 4, 10 tokens at a time: 4,000 logits against 120,000.
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: 10)
    hidden = torch.randn(300, 4, requires_grad=True)
    weight = torch.randn(400, 4, requires_grad=True)
    with _Largest() as largest:
        if what == "logps":
            logp, entropy = token_logps(hidden, weight, torch.zeros(300, dtype=torch.int64), entropy_grad=True)
            (logp + entropy).sum().backward()
        elif what == "divergence":
            token_divergence(hidden, weight, hidden, weight).sum().backward()
        else:
            top_tokens(hidden, weight, 5)
    assert 4000 <= largest.elements < 10_000


def test_a_single_precision_head_is_exact_where_half_precision_rounds():
    noise = torch.Generator().manual_seed(0)
    hidden = torch.randn(20, 64, generator=noise).bfloat16()
    weight = (torch.randn(50, 64, generator=noise) * 2).bfloat16()
    targets = torch.arange(20)
    exact = token_logps(hidden.double(), weight.double(), targets)[0]
    wide = token_logps(hidden, weight, targets, fp32_head=True)[0]
    rounded = token_logps(hidden, weight, targets)[0]
    assert (wide - exact).abs().max() < 1e-4
    assert (rounded - exact).abs().max() > 1e-2
    carried = token_logps(hidden, Head(weight, fp32=True), targets)[0]
    assert torch.equal(carried, wide)


def test_gradients_of_half_precision_matrices_do_not_depend_on_the_chunks(monkeypatch):
    # 256 equal tokens: summed up in bfloat16, a running total stops to grow once a term is below its rounding.
    hidden = torch.full((256, 2), 1.0, dtype=torch.bfloat16)
    made = []
    for chunk in (1, 256):
        monkeypatch.setattr(logprobs, "_chunk", lambda weight, chunk=chunk: chunk)
        weight = torch.zeros(3, 2, dtype=torch.bfloat16, requires_grad=True)
        token_logps(hidden, weight, torch.zeros(256, dtype=torch.int64))[0].sum().backward()
        made.append(weight.grad)
    assert made[0][0].tolist() == pytest.approx([256 * 2 / 3] * 2, rel=1e-2)
    assert torch.allclose(made[0].float(), made[1].float(), rtol=1e-2)


@pytest.mark.parametrize("bytes_", [0, 4000, 1 << 20])
def test_kept_probabilities_are_bounded_and_change_no_gradient(monkeypatch, bytes_):
    # 12 tokens and 50 ids in double precision, 2 tokens at a time: 800 bytes a chunk, of 6.
    monkeypatch.setattr(logprobs, "_chunk", lambda weight: 2)
    monkeypatch.setattr(logprobs, "KEPT_BYTES", {"cpu": bytes_})
    noise = torch.Generator().manual_seed(0)
    hidden = torch.randn(12, 4, dtype=torch.float64, generator=noise).requires_grad_()
    weight = torch.randn(50, 4, dtype=torch.float64, generator=noise).requires_grad_()
    targets, along = torch.arange(12), torch.randn(12, dtype=torch.float64, generator=noise)
    logp, _ = token_logps(hidden, weight, targets, 0.7)
    assert sum(each.nbytes for each in logp.grad_fn.kept.values()) == min(bytes_, 4800)
    exact = (hidden @ weight.T / 0.7).log_softmax(-1).gather(-1, targets[:, None])[:, 0]
    ours, theirs = (torch.autograd.grad(each, (hidden, weight), along) for each in (logp, exact))
    assert all(torch.allclose(a, b) for a, b in zip(ours, theirs, strict=True))
    assert not logp.grad_fn.kept  # given back by the backward pass
    with torch.no_grad():
        assert not token_logps(hidden, weight, targets)[0].requires_grad
