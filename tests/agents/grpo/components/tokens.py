"""Made-up scored tokens, in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from palaestra.agents.grpo.batch.scored import Scored
from torch import Tensor


def vector(values: Sequence[float] | float, size: int) -> Tensor:
    """A float64 vector; one number is repeated."""
    if isinstance(values, (int, float)):
        values = [values] * size
    return torch.tensor(values, dtype=torch.float64)


def tokens(
    logp: Sequence[float],
    old: Sequence[float] | float | None = None,
    advantage: Sequence[float] | float = 1.0,
    lengths: Sequence[int] | None = None,
    **others: Any,
) -> Scored:
    """Tokens of episodes of these lengths (by default one episode); ``old`` is ``logp`` where it is not given.

    ``group`` and ``outcome`` are given per episode, everything else per token.
    """
    size = len(logp)
    lengths = [size] if lengths is None else lengths
    fields: dict[str, Tensor] = {"episode": torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))}
    for name, value in others.items():
        if name in ("origin", "turn", "group"):
            fields[name] = torch.tensor(value, dtype=torch.int64)
        else:
            fields[name] = vector(value, len(lengths) if name == "outcome" else size)
    at = torch.tensor(list(logp), dtype=torch.float64, requires_grad=True)
    before = at.detach().clone() if old is None else vector(old, size)
    return scored_of(at, before, vector(advantage, size), **fields)


def scored_of(logp: Tensor, logp_old: Tensor, advantage: Tensor, **others: Tensor) -> Scored:
    """Scored tokens of one episode (or of several, given ``episode``); fields not given are neutral."""
    episode = others.pop("episode", torch.zeros(len(logp), dtype=torch.int64))
    episodes = int(episode.max()) + 1 if len(episode) else 0
    neutral = {
        "logp_mu": logp_old,
        "entropy": torch.zeros_like(logp_old),
        "weight": torch.ones_like(logp_old),
        "origin": torch.zeros_like(episode),
        "turn": torch.zeros_like(episode),
        "group": torch.zeros(episodes, dtype=torch.int64),
        "outcome": torch.zeros(episodes, dtype=torch.float64),
    }
    return Scored(logp, logp_old, advantage, episode, episodes, **{**neutral, **others})  # type: ignore[arg-type]


def slope(component: Any, scored: Scored, **params: Any) -> list[float]:
    """d (sum of weight x value) / d log pi of each token."""
    value = (scored.weight * component(scored, **params).value).sum()
    if not value.requires_grad:
        return [0.0] * len(scored.logp)
    (gradient,) = torch.autograd.grad(value, scored.logp, allow_unused=True)
    return [0.0] * len(scored.logp) if gradient is None else gradient.tolist()


def mixed(seed: int = 0, dtype: torch.dtype = torch.float64) -> Scored:
    """Three groups of two to four episodes, 32 tokens; ratios, advantages and outcomes of both signs, and every model's
    log-probabilities.
    """
    rng = torch.Generator().manual_seed(seed)
    lengths = [3, 5, 2, 4, 1, 6, 4, 5, 2]
    group = torch.tensor([0, 0, 0, 0, 1, 1, 1, 2, 2])
    outcome = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.25, 1.0, 0.0])
    episode = torch.repeat_interleave(torch.arange(9), torch.tensor(lengths))
    size = len(episode)

    def noise(scale: float) -> Tensor:
        return scale * torch.randn(size, generator=rng, dtype=torch.float64)

    old = -0.1 - 2 * torch.rand(size, generator=rng, dtype=torch.float64)
    centred = outcome - torch.tensor([0.5, 0.5, 0.5, 0.5, 0.4, 0.4, 0.4, 0.5, 0.5])
    made = {
        "logp_mu": old + noise(0.02),
        "entropy": torch.rand(size, generator=rng, dtype=torch.float64),
        "weight": 0.1 + torch.rand(size, generator=rng, dtype=torch.float64),
        "logp_ref": (old + noise(0.3)).clamp(max=-0.01),
        "logp_teacher": (old + noise(0.3)).clamp(max=-0.01),
    }
    made = {name: value.to(dtype) for name, value in made.items()}
    kinds = torch.tensor([0, 0, 0, 2, 0, 0, 0, 0, 0])
    return scored_of(
        (old + noise(0.25)).clamp(max=-0.01).to(dtype).requires_grad_(),
        old.to(dtype),
        centred[episode].to(dtype),
        episode=episode,
        origin=kinds[episode],
        turn=2 * episode + (torch.arange(size) % 2 == 0),
        group=group,
        outcome=outcome.to(dtype),
        **made,
    )
