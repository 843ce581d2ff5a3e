"""Weights by age: what an older policy sampled counts less."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.batch import Batch
from ...recipes.stages import WEIGHTS


@WEIGHTS.register("version_decay")
def version_decay(batch: Batch, advantage: Tensor, decay: float = 0.9) -> Tensor:
    """decay^(v - version), [N], v the newest version among the batch's trajectories; 1 for what the policy did not
    sample.

    A version counts optimiser batches; in a batch that mixes replayed with fresh episodes the fresh ones are of age 0.
    """
    check_number("decay", decay, 0, 1)
    version = torch.tensor([t.version for t in batch.trajectories], dtype=torch.int64)
    newest = int(version.max()) if len(version) else 0
    age = torch.where(version >= 0, newest - version, 0)
    return batch.per_token(torch.tensor(decay, dtype=torch.float32) ** age)
