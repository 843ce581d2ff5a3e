"""Difference between an engine with copied weights and the trained model, measured on a few tokens.

If an engine's loader skips weights, or ties a matrix to another, no error is raised, but the policy changes. Therefore
engine and model both score a short sequence after every load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...errors import InputError
from ..language.head import head_of
from .engine import Engine
from .sampler import Request
from .torch_engine import TorchEngine

TOKENS = 24
"""Number of tokens that are scored after each load."""
MOST, MOST_HALF = 0.01, 0.3
"""Largest mean gap in single and in half precision, in nats per token; half precision rounds logits of random tokens by
a good 0.1."""
_SESSION = 1 << 40


def measure_gap(engine: Engine, language: Any, vocabulary: int) -> float:
    """Return the mean absolute difference of the log-probabilities of random tokens, in nats per token. No request may
    be in flight."""
    ids = np.random.default_rng(0).integers(vocabulary, size=TOKENS + 1).tolist()
    request = Request(_SESSION, ids[:1], 0, 1.0, forced=ids[1:])
    own = TorchEngine(language.model, [], vocabulary, slots=1, max_length=len(ids))
    scored = []
    for sampler in (engine, own):
        sampler.submit(request)
        scored.append(np.array(sampler.step()[0].logps))
        sampler.close(_SESSION)
    return float(np.abs(scored[0] - scored[1]).mean())


def check_gap(name: str, engine: Engine, language: Any, vocabulary: int) -> None:
    """Raise InputError if an engine's log-probabilities differ too much from those of the model that it has loaded."""
    gap = measure_gap(engine, language, vocabulary)
    most = MOST_HALF if head_of(language.model).weight.dtype in (torch.bfloat16, torch.float16) else MOST
    if not gap <= most:
        raise InputError(
            f"the engine {name!r} does not compute what this {type(language.model).__name__} does: its "
            f"log-probabilities are off by {gap:.3g} nats a token, more than {most:g}; take --engine torch."
        )
