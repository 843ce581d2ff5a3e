"""Output head of a language model, which maps hidden states to logits.

Most models multiply by a matrix; some add a bias, multiply the product by a constant, or apply a tanh softcap. `Head`
holds these as data, so that code on chunks of logits (sampling, log-probabilities, divergences) is written once for all
models. `head_of` reads the head of a transformers model.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import InputError

_BLOCK = 1 << 14
"""Number of rows of the output matrix that are converted to single precision at a time."""


@dataclass(frozen=True, eq=False)
class Head:
    """Output head: ``logits = softcap * tanh(scale * (weight @ hidden + bias) / softcap)``; no tanh without softcap.

    Attributes:
        weight: [V, H].
        bias: [V] or None.
        softcap: bound on the logits (Gemma 2, arXiv 2408.00118, section 2) or None.
        scale: constant factor (Cohere's ``logit_scale``, the inverse of Granite's ``logits_scaling``).
        fp32: True multiplies half-precision hidden states and weights in single precision; otherwise logits have the
            rounding errors of the half-precision product.
    """

    weight: Tensor
    bias: Tensor | None = None
    softcap: float | None = None
    scale: float = 1.0
    fp32: bool = False

    def first(self, vocabulary: int) -> Head:
        """Return the head for only the first ``vocabulary`` ids."""
        if vocabulary >= len(self.weight):
            return self
        bias = None if self.bias is None else self.bias[:vocabulary]
        return replace(self, weight=self.weight[:vocabulary], bias=bias)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits [N, V] of hidden states [N, H], in float32 (float64 for float64 input)."""
        product = self._product(hidden)
        if self.bias is not None:
            product = product + self.bias
        product = product.to(torch.float64 if hidden.dtype == torch.float64 else torch.float32)
        if self.scale != 1.0:
            product = product * self.scale
        if self.softcap is not None:
            product = torch.tanh(product / self.softcap) * self.softcap
        return product

    def slope(self, logits: Tensor) -> Tensor | float:
        """Return the derivative of the logits by (weight @ hidden + bias), at ``logits`` [N, V]."""
        if self.softcap is None:
            return self.scale
        return (1 - (logits / self.softcap).square()) * self.scale

    def _product(self, hidden: Tensor) -> Tensor:
        if not self.fp32 or hidden.dtype not in (torch.bfloat16, torch.float16):
            return F.linear(hidden, self.weight)
        if hidden.is_cuda and not torch.is_grad_enabled() and _widens_products():
            return torch.mm(hidden, self.weight.T, out_dtype=torch.float32)
        wide = hidden.float()
        return torch.cat([wide @ block.float().T for block in self.weight.split(_BLOCK)], -1)


@functools.cache
def _widens_products() -> bool:
    """Return True if torch can multiply half-precision matrices on a GPU with a float32 result (from torch 2.8 on)."""
    return "dtype" in torch.ops.aten.mm.overloads()


def text_config(config: Any) -> Any:
    """Return the language model's part of a configuration; the configuration itself if it has no parts. The result is
    that of transformers' ``get_text_config``, whose call takes a good part of a small model's step."""
    return config.get_text_config() if config.sub_configs else config


def head_of(model: Any, fp32: bool = False) -> Head:
    """Return the output head of a transformers causal language model.

    Raises:
        InputError: the model has no linear output layer.
    """
    # Nearly every model has its output layer under this name, and transformers' method to get it is slow.
    layer = getattr(model, "lm_head", None)
    if layer is None:
        layer = model.get_output_embeddings()
    weight = getattr(layer, "weight", None)
    if not isinstance(weight, Tensor) or weight.ndim != 2:
        raise InputError(
            f"a {type(model).__name__} has no linear output layer; use a causal language model "
            "(a class whose name ends in ForCausalLM)."
        )
    config = text_config(model.config)
    scale = 1.0
    if (factor := getattr(config, "logit_scale", None)) is not None:
        scale = float(factor)
    elif divisor := getattr(config, "logits_scaling", None):
        scale = 1.0 / divisor
    softcap = getattr(config, "final_logit_softcapping", None)
    return Head(weight, getattr(layer, "bias", None), softcap, scale, fp32)
