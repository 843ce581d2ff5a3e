"""Attention over two parts of the keys, merged, against attention over all of them."""

from __future__ import annotations

import pytest
import torch
from palaestra.agents.language.attention import mix, mix_columns


@pytest.mark.parametrize("softcap", [None, 0.7])
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_parts_merged_by_their_norms_are_the_whole(softcap, size):
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 8) * size, torch.randn(3, 11, 8), torch.randn(3, 11, 8)
    bias = torch.zeros(3, 1, 11).masked_fill_(torch.rand(3, 1, 11) < 0.3, -torch.inf)
    bias[..., [0, 4]] = 0.0
    parts = []
    for part in (slice(0, 4), slice(4, 11)):
        parts.append(mix_columns(q, k[:, part].mT, v[:, part], bias[..., part], softcap, norm=True))
    (one, norm), (other, rest) = parts
    assert norm is not None
    assert rest is not None
    whole, total = mix_columns(q, k.mT, v, bias, softcap, norm=True)
    torch.testing.assert_close(torch.lerp(other, one, torch.sigmoid(norm - rest)[..., None]), whole)
    torch.testing.assert_close(torch.logaddexp(norm, rest), total)
    torch.testing.assert_close(whole, mix(q, k, v, bias == 0, softcap))
    assert mix_columns(q, k.mT, v)[1] is None


def test_norm_is_the_logarithm_of_the_sum_of_exponentials():
    # Scores 1 / sqrt(4) * (2, 4) = (1, 2).
    q, k, v = torch.ones(1, 1, 4), torch.tensor([[[0.5] * 4, [1.0] * 4]]), torch.tensor([[[1.0], [0.0]]])
    mixed, norm = mix_columns(q, k.mT, v, norm=True)
    assert norm is not None
    assert norm.item() == pytest.approx(2.313262)  # ln(e + e^2)
    assert mixed.item() == pytest.approx(0.26894142)  # 1 / (1 + e)
