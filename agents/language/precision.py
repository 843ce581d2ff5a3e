"""The precision of weights, and that of products of float32 matrices, a setting of the whole process."""

from __future__ import annotations

from typing import Any

import torch


def cast_weights(model: Any, dtype: torch.dtype) -> Any:
    """Convert the floating-point parameters of a model in place, and return it; buffers stay as they are.

    So does a model that is loaded in half precision: its rotary frequencies are computed anew in float32. Rounded, they
    would turn distant tokens by other angles than those of the same model loaded from a checkpoint.
    """
    with torch.no_grad():
        for weight in model.parameters():
            if weight.is_floating_point():
                weight.data = weight.data.to(dtype)
    return model


def multiplies_bfloat16() -> bool:
    """True unless this processor is known to multiply bfloat16 numbers more slowly than float32 ones.

    On one core of a Xeon, products of the shapes of a model of 135M weights took 0.4 of float32's time with AMX, 1.1 to
    1.6 times it with AVX512-BF16 alone, 2 to 4 times with AVX512 and 4 to 10 times with AVX2.
    """
    known = getattr(torch.cpu, "get_capabilities", dict)()  # not in every version of torch
    return known.get("architecture") != "x86_64" or bool(known.get("amx_bf16"))


def set_product_precision(device: str, dtype: str, tf32: bool) -> None:
    """Let a GPU multiply float32 matrices in TF32 where a run allows it; nothing changes on a CPU.

    A product of bfloat16 numbers is exact in TF32, so the fp32 head of a bfloat16 model loses nothing by it.

    Args:
        dtype: of the weights.
        tf32: whether the run allows it for float32 weights.
    """
    if device.startswith("cuda"):
        torch.set_float32_matmul_precision("high" if tf32 or dtype == "bfloat16" else "highest")


def product_precision() -> str:
    """The setting of this process, for `torch.set_float32_matmul_precision`."""
    return torch.get_float32_matmul_precision()
