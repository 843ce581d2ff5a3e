"""Losses over score differences, for reward models. Needs torch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def bradley_terry_loss(
    chosen: Tensor, rejected: Tensor, margin: Tensor | float = 0.0, smoothing: Tensor | float = 0.0
) -> Tensor:
    """``-(1-s) log sigma(d - m) - s log sigma(m - d)`` of each pair, with ``d = chosen - rejected``.

    Without margin and smoothing this is the Bradley-Terry loss ``-log sigma(d)``; a smoothing of 1 flips the pair.
    Secrets of RLHF II, arXiv 2401.06080.

    Args:
        chosen, rejected: scores, [n].
        margin: least lead of the chosen score, [n] or a number.
        smoothing: probability that the label is wrong, in [0, 1], [n] or a number.

    Returns:
        [n], nats.
    """
    lead = chosen - rejected - margin
    return -(1 - smoothing) * logsigmoid(lead) - smoothing * logsigmoid(-lead)


def listwise_loss(scores: Tensor, correct: Tensor) -> Tensor:
    """``-1/(k (n-k)) sum log sigma(s_right - s_wrong)`` over all pairs of k right and n - k wrong responses.

    Qwen2.5-Math, arXiv 2409.12122 (n = 6 samples of one prompt there).

    Args:
        scores: [n], of the responses to one prompt.
        correct: bool [n].

    Returns:
        a scalar; 0 where all are right or all are wrong, as there is nothing to compare.
    """
    right, wrong = scores[correct], scores[~correct]
    if not len(right) or not len(wrong):
        return scores.sum() * 0.0
    return -logsigmoid(right[:, None] - wrong[None, :]).mean()


def contrast(scores: Tensor) -> Tensor:
    """MetaRM's ``J = mean over i != j of sigma(|r_i - r_j|)``, a measure of how a model separates inputs; at least 1/2.

    Secrets of RLHF II, arXiv 2401.06080.
    """
    count = len(scores)
    pairs = torch.sigmoid((scores[:, None] - scores[None, :]).abs())
    return (pairs.sum() - pairs.diagonal().sum()) / (count * (count - 1))
