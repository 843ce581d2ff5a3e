"""The hash that tokens are drawn with, and the inversion that draws them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from palaestra.agents.engines.drawing import draw_tokens, invert
from palaestra.agents.engines.noise import noise_key, noise_seed, uniforms

WORD = 0xFFFFFFFF


def mixed(x: int) -> int:
    """The mixing of a word, in Python's integers."""
    x ^= x >> 16
    x = x * 0x21F0AAAD & WORD
    x ^= x >> 15
    x = x * 0x735A2D97 & WORD
    return x ^ x >> 15


def test_noise_is_the_same_number_as_in_integers_of_any_size():
    keys = [noise_key(seed) for seed in (0, 1, 2**80)]
    positions = [[0, 1, 5], [7, 2**31 - 1, 4096]]
    found = uniforms(torch.tensor(keys).T, torch.tensor(positions))
    for step, row in np.ndindex(2, 3):
        first, second = keys[row]
        spread = positions[step][row] * 0x9E3779B1
        high = mixed(mixed(spread + first & WORD) ^ second)
        low = mixed(mixed(spread + second & WORD) ^ first)
        assert found[step, row].item() == ((high << 20) + (low >> 12)) * 2.0**-52


def test_noise_is_uniform_over_positions_and_over_neighbouring_seeds():
    keys = torch.tensor([noise_key(seed) for seed in range(400)]).T
    noise = uniforms(keys, torch.arange(250)[:, None].expand(-1, 400))
    # 64 cells of 100,000 numbers: chi-square has mean 63 and standard deviation 11.
    counts = torch.histc(noise.flatten(), 64, 0, 1)
    assert ((counts - 1562.5) ** 2 / 1562.5).sum() < 110
    # Neither neighbouring positions nor neighbouring seeds go together: 4 standard deviations of 1e5 products.
    off = noise - 0.5
    for first, second in ((off[1:], off[:-1]), (off[:, 1:], off[:, :-1])):
        assert abs((first * second).mean() * 12) < 4 / len(first.flatten()) ** 0.5


def test_seeds_differ_by_each_of_their_parts():
    assert len({noise_seed(*parts) for parts in ((3, 1), (3, 2), (4, 1), (1, 3), (3,))}) == 5
    assert noise_seed(3, 1) == noise_seed(3, 1) < 2**63


@pytest.mark.parametrize("size", [5, 2048, 2049, 5000])
def test_an_id_is_drawn_where_the_distribution_function_passes_the_noise(size):
    # At 2,049 ids and more, parts are summed up first.
    logps = torch.randn((40, size), generator=torch.Generator().manual_seed(0)).mul_(3).log_softmax(-1)
    logps[:, 1] = -torch.inf  # never drawn
    total = np.exp(logps.double().numpy()).cumsum(-1)
    noise = torch.linspace(0, 1 - 2**-52, 40, dtype=torch.float64)
    drawn = invert(logps, noise)
    for row, token in enumerate(drawn.tolist()):
        target = noise[row].item() * total[row, -1]
        assert (total[row, token - 1] if token else 0) <= target + 1e-6
        assert target <= total[row, token] + 1e-6
        assert logps[row, token] > -torch.inf


def test_the_largest_noise_never_takes_an_id_without_probability():
    for size in (40, 5000):
        logps = torch.full((3, size), -torch.inf)
        logps[:, [2, 7]] = torch.tensor([0.3, 0.7]).log()
        assert invert(logps, torch.full((3,), 1 - 2.0**-52, dtype=torch.float64)).tolist() == [7, 7, 7]
        assert invert(logps, torch.zeros(3, dtype=torch.float64)).tolist() == [2, 2, 2]


def test_temperatures_and_greedy_rows_are_their_own():
    logits = torch.tensor([[0.0, 3.0, 1.0]]).expand(3, 3)
    scale, greedy = torch.tensor([1.0, 2.0, 1.0]), torch.tensor([False, False, True])
    tokens, logps = draw_tokens(logits, torch.zeros(3, dtype=torch.float64), scale, greedy)
    assert tokens.tolist() == [0, 0, 1]
    torch.testing.assert_close(logps[1], (logits[1] / 2).log_softmax(-1))
    torch.testing.assert_close(logps[2], logits[2].log_softmax(-1))
