"""Work of each process for an order, leader and others alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from ..batch.batch import Batch
from ..batch.forward import Forward, Outputs

_OUTPUTS = ("logp", "entropy", "kl_ref", "hidden", "logp_top")


def measure_share(
    forward: Forward, model: Any, batch: Batch, episodes: Sequence[int], settings: Mapping[str, Any]
) -> dict[str, Tensor]:
    """Measure some episodes; each output at their action tokens alone, in order."""
    out = Forward.measure(forward, model, batch, episodes=episodes, **settings)
    place = places(batch, episodes)
    found = {name: getattr(out, name) for name in _OUTPUTS}
    return {name: value[place] for name, value in found.items() if value is not None and len(place)}


def join_shares(batch: Batch, shares: Sequence[Sequence[int]], parts: Sequence[Mapping[str, Tensor]]) -> Outputs:
    """Put the measurements of all shares in their places of the batch; 0 elsewhere."""
    joined: dict[str, Tensor] = {}
    for episodes, part in zip(shares, parts, strict=True):
        place = places(batch, episodes)
        for name, value in part.items():
            if name not in joined:
                joined[name] = value.new_zeros(len(batch.ids), *value.shape[1:])
            joined[name][place] = value
    empty = batch.logp_mu.new_zeros(len(batch.ids))
    others = {name: joined.get(name) for name in _OUTPUTS[2:]}
    return Outputs(joined.get("logp", empty), joined.get("entropy", empty), **others)


def places(batch: Batch, episodes: Sequence[int]) -> Tensor:
    """Places of the action tokens of some episodes."""
    chosen = batch.truncated.new_zeros(batch.episodes)
    chosen[list(episodes)] = True
    return (batch.action & batch.per_token(chosen)).nonzero()[:, 0]
