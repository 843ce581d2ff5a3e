"""Truncation of the distributions that tokens are drawn from, for evaluations.

In: logits and settings such as a nucleus of 0.9. Out: the logits, with -inf at excluded ids. It is not for training:
log-probabilities of the truncated distribution differ from the policy's, and if a token drawn before an update falls
out of the nucleus after it, its importance ratio is 0 or undefined.
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
    """Settings, applied one after another to the distribution at the sampling temperature, as transformers does.

    Attributes:
        top_k: number of likeliest ids that stay; None or 0 keeps all.
        top_p: the likeliest ids stay whose probabilities first sum up to it (Holtzman et al., arXiv 1904.09751,
            section 3.1), in (0, 1].
        min_p: ids stay with at least this share of the probability of the likeliest (Nguyen et al., arXiv 2407.01082),
            in [0, 1].
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
        """Return True if an id may be left out."""
        return bool(self.top_k) or self.top_p < 1 or self.min_p > 0


def truncate(logits: Tensor, truncation: Truncation) -> Tensor:
    """Set the logits of ids that are not drawn to -inf; the likeliest id of each row stays.

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
    """Read the temperature and the settings of a `Truncation` from a model's generation config; without ``do_sample``
    the model takes its likeliest tokens, temperature 0.

    Raises:
        InputError: there is no generation config, or it asks for an unsupported setting, such as a repetition penalty.
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
