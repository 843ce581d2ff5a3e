"""Losses over score differences, for reward models. Needs torch."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid, normalize


def bradley_terry_loss(
    chosen: Tensor, rejected: Tensor, margin: Tensor | float = 0.0, smoothing: Tensor | float = 0.0
) -> Tensor:
    """Return ``-(1-s) log sigma(d - m) - s log sigma(m - d)`` for each pair, with ``d = chosen - rejected``.

    Without margin and smoothing this is the Bradley-Terry loss ``-log sigma(d)``; a smoothing of 1 swaps the pair.
    Secrets of RLHF II, arXiv 2401.06080.

    Args:
        chosen, rejected: scores, [n].
        margin: m, the required lead of the chosen score, [n] or a number.
        smoothing: s, the probability that the label is wrong, in [0, 1], [n] or a number.

    Returns:
        [n], nats.
    """
    lead = chosen - rejected - margin
    return -(1 - smoothing) * logsigmoid(lead) - smoothing * logsigmoid(-lead)


def listwise_loss(scores: Tensor, correct: Tensor) -> Tensor:
    """Return ``-1/(k (n-k)) sum log sigma(s_right - s_wrong)`` over all pairs of k right and n - k wrong responses.

    Qwen2.5-Math, arXiv 2409.12122 (n = 6 samples of one prompt there).

    Args:
        scores: scores of the responses to one prompt, [n].
        correct: bool [n].

    Returns:
        A scalar, nats; 0 if all responses are right or all are wrong.
    """
    right, wrong = scores[correct], scores[~correct]
    if not len(right) or not len(wrong):
        return scores.sum() * 0.0
    return -logsigmoid(right[:, None] - wrong[None, :]).mean()


def contrast(scores: Tensor) -> Tensor:
    """Return MetaRM's ``J = mean over i != j of sigma(|r_i - r_j|)``: how well a model separates inputs, at least 1/2.

    Secrets of RLHF II, arXiv 2401.06080.
    """
    count = len(scores)
    pairs = torch.sigmoid((scores[:, None] - scores[None, :]).abs())
    return (pairs.sum() - pairs.diagonal().sum()) / (count * (count - 1))


def pointwise_loss(scores: Tensor, right: Tensor) -> Tensor:
    """Return the binary cross-entropy of each score as the log-odds that a response is right.

    The initial training of Cooper's VerifyRM, arXiv 2508.05613.

    Args:
        scores: [n], log-odds.
        right: probability that the response is right, in [0, 1], [n].

    Returns:
        [n], nats.
    """
    return -right * logsigmoid(scores) - (1 - right) * logsigmoid(-scores)


def lead_regression_loss(chosen: Tensor, rejected: Tensor, strength: Tensor | float = 1.0) -> Tensor:
    """Return the squared difference of each pair's lead, chosen minus rejected, from its preference strength, [n]."""
    return (chosen - rejected - strength) ** 2


def view_contrast_loss(one: Tensor, two: Tensor, temperature: float = 0.05) -> Tensor:
    """Return SimCSE's loss: each row of ``one`` has to be nearer to the same row of ``two`` than to its other rows.

    Secrets of RLHF II, arXiv 2401.06080 (section 3, on differences of the chosen and the rejected response's
    embedding); SimCSE, arXiv 2104.08821, equation 1.

    Args:
        one, two: two views of the same n embeddings, such as two draws of dropout, [n, d].
        temperature: divisor of the cosines.

    Returns:
        A scalar, nats: the mean cross-entropy; ln n if all embeddings are equal.
    """
    cosines = normalize(one, dim=1) @ normalize(two, dim=1).T / temperature
    return cross_entropy(cosines, torch.arange(len(one), device=one.device))
