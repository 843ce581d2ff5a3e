"""Precision of weights, and precision of float32 matrix products (a setting of the whole process)."""

from __future__ import annotations

import functools
import timeit
from typing import Any

import torch


def cast_weights(model: Any, dtype: torch.dtype) -> Any:
    """Convert the floating-point parameters of a model in place, and return the model. Buffers are not converted.

    The result equals a model loaded in half precision, whose rotary frequencies (buffers) stay in float32; rounded
    frequencies would give wrong angles for distant tokens.
    """
    with torch.no_grad():
        for weight in model.parameters():
            if weight.is_floating_point():
                weight.data = weight.data.to(dtype)
    return model


@functools.cache
def bfloat16_cost() -> float:
    """Return this processor's time for a bfloat16 matrix product relative to float32; measured once per process.

    The ratio is measured because the processor's flags do not determine it. For a model of 135M weights on one core:
    0.4 with AMX; with AVX512-BF16 alone 1.1 to 1.6 on a Xeon and 0.4 to 0.5 on an EPYC; 2 to 4 with AVX512 and 4 to 10
    with AVX2.
    """
    rows, width, inner = 128, 576, 1536
    seconds = {}
    for dtype in (torch.float32, torch.bfloat16):
        states, weight = torch.ones(rows, width, dtype=dtype), torch.ones(inner, width, dtype=dtype)
        product = functools.partial(torch.nn.functional.linear, states, weight)
        seconds[dtype] = min(timeit.repeat(product, number=1, repeat=8))
    return seconds[torch.bfloat16] / seconds[torch.float32]


def set_product_precision(device: str, dtype: str, tf32: bool) -> None:
    """Set whether a GPU multiplies float32 matrices in TF32; nothing changes on a CPU.

    TF32 is used with bfloat16 weights, whose products are exact in TF32 (as in the fp32 head), or if ``tf32`` is True.

    Args:
        device: name of the device.
        dtype: dtype of the weights.
        tf32: True allows TF32 for float32 weights.
    """
    if device.startswith("cuda"):
        torch.set_float32_matmul_precision("high" if tf32 or dtype == "bfloat16" else "highest")


def product_precision() -> str:
    """Return this process's setting of `torch.set_float32_matmul_precision`."""
    return torch.get_float32_matmul_precision()
