"""Truncation of sampling distributions (top-k, top-p, min-p), for evaluations.

Excluded ids get the logit -inf. Truncation is not for training: log-probabilities of the truncated distribution differ
from the policy's, and the importance ratio of a token that an update moves out of the nucleus is 0 or undefined.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...checks import check_count, check_share
from ...errors import InputError


@dataclass(frozen=True)
class Truncation:
    """Settings of a truncation, applied in this order to the distribution at the sampling temperature (as in
    transformers).

    Attributes:
        top_k: number of likeliest ids to keep; None or 0 keeps all.
        top_p: keep the fewest likeliest ids whose probabilities sum to at least ``top_p``, in (0, 1] (Holtzman et al.,
            arXiv 1904.09751, section 3.1).
        min_p: keep ids with at least ``min_p`` times the probability of the likeliest id, in [0, 1] (Nguyen et al.,
            arXiv 2407.01082).
    """

    top_k: int | None = None
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if self.top_k is not None:
            check_count("top_k", self.top_k, 0, "ids")
        check_share("top_p", self.top_p, positive=True)
        check_share("min_p", self.min_p)

    def __bool__(self) -> bool:
        """Return True if the settings can exclude an id."""
        return bool(self.top_k) or self.top_p < 1 or self.min_p > 0


def truncate(logits: Tensor, truncation: Truncation) -> Tensor:
    """Return logits with -inf at excluded ids; the likeliest id of each row is always kept.

    Args:
        logits: [R, V], divided by the temperature.
    """
    if truncation.top_k and truncation.top_k < logits.shape[-1]:
        least = logits.topk(truncation.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if truncation.top_p < 1:
        ordered, ids = logits.softmax(-1).sort(dim=-1, descending=True, stable=True)
        before = ordered.cumsum(-1) - ordered
        outside = torch.zeros_like(before, dtype=torch.bool).scatter_(-1, ids, before >= truncation.top_p)
        outside.scatter_(-1, ids[:, :1], False)
        logits = logits.masked_fill(outside, -torch.inf)
    if truncation.min_p > 0:
        # p < m * p_max where logit < log(m) + the largest logit.
        least = logits.amax(-1, keepdim=True) + math.log(truncation.min_p)
        logits = logits.masked_fill(logits < least, -torch.inf)
    return logits


def read_generation_config(config: Any) -> tuple[float, dict[str, Any]]:
    """Return the temperature and the arguments of `Truncation` that a model's generation config states.

    Without ``do_sample`` the temperature is 0.

    Raises:
        InputError: ``config`` is None, or has an unsupported setting, such as a repetition penalty.
    """
    if config is None:
        raise InputError("the model has no generation config, which sampling='model' would follow; leave it out.")
    for name, neutral in _REFUSED.items():
        if (value := getattr(config, name, None)) not in (None, neutral):
            raise InputError(
                f"the model's generation config asks for {name} {value}, which is not supported; give temperature, "
                "top_p, top_k and min_p in place of sampling='model'."
            )
    if not config.do_sample:
        return 0.0, {}
    given = {name: getattr(config, name, None) for name in ("top_k", "top_p", "min_p")}
    temperature = getattr(config, "temperature", None)
    return 1.0 if temperature is None else temperature, {k: v for k, v in given.items() if v is not None}


_REFUSED: Mapping[str, Any] = {
    "num_beams": 1,
    "repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "penalty_alpha": 0.0,
    "guidance_scale": 1.0,
}
"""Unsupported settings of a generation config -> the values at which they have no effect."""
