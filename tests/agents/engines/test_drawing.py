"""The inversion that draws tokens, and their log-probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from palaestra.agents.engines.drawing import draw_tokens, invert
from torch.utils._python_dispatch import TorchDispatchMode


class LargeResults(TorchDispatchMode):
    """Counts the results of operations that are new tensors of at least ``size`` numbers."""

    def __init__(self, size: int):
        super().__init__()
        self.size, self.count = size, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        known = {each.untyped_storage().data_ptr() for each in args if isinstance(each, torch.Tensor)}
        if isinstance(result, torch.Tensor) and result.numel() >= self.size:
            self.count += result.untyped_storage().data_ptr() not in known
        return result


@pytest.mark.parametrize("size", [5, 2048, 2049, 5000])
def test_an_id_is_drawn_where_the_distribution_function_passes_the_noise(size):
    # At 2,049 ids and more, parts are summed up first.
    logps = torch.randn((40, size), generator=torch.Generator().manual_seed(0)).mul_(3).log_softmax(-1)
    logps[:, 1] = -torch.inf  # never drawn
    total = np.exp(logps.double().numpy()).cumsum(-1)
    noise = torch.linspace(0, 1 - 2**-52, 40, dtype=torch.float64)
    drawn = invert(logps.exp(), noise)
    for row, token in enumerate(drawn.tolist()):
        target = noise[row].item() * total[row, -1]
        assert (total[row, token - 1] if token else 0) <= target + 1e-6
        assert target <= total[row, token] + 1e-6
        assert logps[row, token] > -torch.inf


def test_the_largest_noise_never_takes_an_id_without_probability():
    for size in (40, 2304, 5000):
        logps = torch.full((3, size), -torch.inf)
        logps[:, [2, 7]] = torch.tensor([0.3, 0.7]).log()
        assert invert(logps.exp(), torch.full((3,), 1 - 2.0**-52, dtype=torch.float64)).tolist() == [7, 7, 7]
        assert invert(logps.exp(), torch.zeros(3, dtype=torch.float64)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("size", [40, 2048, 3000, 49_152])
@pytest.mark.parametrize("spread", [0.1, 3.0, 20.0])
def test_tokens_and_their_log_probabilities_are_those_of_the_softmax_in_double_precision(size, spread):
    generator = torch.Generator().manual_seed(size)
    logits = torch.randn((60, size), generator=generator) * spread
    noise = torch.rand(60, generator=generator, dtype=torch.float64)
    tokens, logp = draw_tokens(logits, noise)
    exact = logits.double().log_softmax(-1)
    expected = torch.searchsorted(exact.exp().cumsum(-1), noise[:, None], right=True)[:, 0]
    assert tokens.tolist() == expected.tolist()
    assert (logp - exact.gather(-1, tokens[:, None])[:, 0]).abs().max() < 1e-5


def test_a_draw_copies_the_logits_once():
    logits, noise = torch.randn(16, 5000), torch.rand(16, dtype=torch.float64)
    with LargeResults(logits.numel() // 2) as large:
        draw_tokens(logits, noise, torch.zeros(16, dtype=torch.bool))
    assert large.count == 1


def test_excluded_ids_are_never_drawn_and_greedy_rows_take_the_likeliest():
    logits = torch.full((4, 4096), -torch.inf)
    logits[:, [3, 1500, 4095]] = torch.tensor([0.0, 3.0, 1.0])
    noise = torch.tensor([0.0, 1 - 2.0**-52, 0.0, 1 - 2.0**-52], dtype=torch.float64)
    tokens, logp = draw_tokens(logits, noise, torch.tensor([False, False, True, True]))
    assert tokens.tolist() == [3, 4095, 1500, 1500]
    expected = torch.tensor([0.0, 3.0, 1.0]).log_softmax(-1)[[0, 2, 1, 1]]
    torch.testing.assert_close(logp, expected)
