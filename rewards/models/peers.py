"""Two reward models that select clean pairs for each other. Needs torch.

Collaborative Reward Modeling (CRM), arXiv 2505.10597, after co-teaching, arXiv 1804.06872: pairs with a small loss are
probably labelled right, and what one model overfits, the other has not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from ...checks import check_share
from ...errors import InputError
from .preferences import Preference
from .reward_model import Fit, RewardModel, shuffled_batches


def select_small(losses: Sequence[float], keep: float) -> list[int]:
    """Return the indices of the ``ceil(keep n)`` smallest of n losses, in order of their position.

    Args:
        losses: one loss for each pair.
        keep: share in (0, 1].
    """
    count = math.ceil(check_share("keep", keep, positive=True) * len(losses) - 1e-9)
    order = np.argsort(np.asarray(losses, float), kind="stable")[:count]
    return sorted(order.tolist())


def share_kept(epoch: int, epochs: int, keep: float) -> float:
    """Return the share of pairs that are kept in an epoch: from 1 in the first, linearly to ``keep`` in the last.

    The paper's schedule is not published; the share falls because models fit clean labels before wrong ones.
    """
    return 1.0 if epochs < 2 else 1.0 + (keep - 1.0) * epoch / (epochs - 1)


def train_peers(
    models: Sequence[RewardModel], optimisers: Sequence[torch.optim.Optimizer], part: Sequence[Preference], share: float
) -> list[tuple[float, int]]:
    """Take one step of two peers, each on the ``share`` of a batch with the smallest losses under the other one.

    Returns:
        for each model the sum of the losses of its pairs, and their number.
    """
    chosen = [select_small(model.losses(part).detach().tolist(), share) for model in models]
    found = []
    for index, (model, optimiser) in enumerate(zip(models, optimisers)):
        kept = [part[place] for place in chosen[1 - index]]
        optimiser.zero_grad()
        loss = model.losses(kept).sum()
        (loss / len(kept)).backward()
        optimiser.step()
        found.append((float(loss.detach()), len(kept)))
    return found


def fit_peers(
    models: tuple[RewardModel, RewardModel],
    pairs: Sequence[Preference],
    *,
    keep: float = 0.8,
    epochs: int = 20,
    batch: int = 32,
    learning_rate: float = 3e-3,
    weight_decay: float = 1e-2,
    seed: int = 0,
) -> tuple[Fit, Fit]:
    """Train two models, each on the pairs of a batch that have the smallest losses under the other one.

    Args:
        models: two models that begin with different weights.
        pairs: pairs, some of which may be labelled wrongly.
        keep: share of a batch that is kept in the last epoch, such as 1 minus the share of wrong labels; with 1 each
            model is trained as by `RewardModel.fit`.
        epochs, batch, learning_rate, weight_decay, seed: as for `RewardModel.fit`.

    Returns:
        the records of the two models; losses are of the pairs on which they were trained.

    Raises:
        InputError: no pairs, the same model twice, or an argument out of range.
    """
    if models[0] is models[1]:
        raise InputError("peers are two models; one model that selects its own pairs keeps its own mistakes.")
    check_share("keep", keep, positive=True)
    optimisers = [model.make_optimiser(learning_rate, weight_decay) for model in models]
    for model in models:
        model.train()
    records: tuple[list[float], list[float]] = ([], [])
    for epoch, parts in enumerate(shuffled_batches(pairs, epochs, batch, seed)):
        totals, counts = [0.0, 0.0], [0, 0]
        for part in parts:
            share = share_kept(epoch, epochs, keep)
            for index, (total, count) in enumerate(train_peers(models, optimisers, part, share)):
                totals[index] += total
                counts[index] += count
        for record, total, count in zip(records, totals, counts):
            record.append(total / count)
    for model in models:
        model.eval()
    one, two = (Fit(tuple(record), model.accuracy(pairs)) for record, model in zip(records, models))
    return one, two
