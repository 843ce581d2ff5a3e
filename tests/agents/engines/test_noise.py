"""The hash that tokens are drawn with."""

from __future__ import annotations

import numpy as np
import torch
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
