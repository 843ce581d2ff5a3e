"""The precision of products of float32 matrices, a setting of the whole process."""

from __future__ import annotations

import torch


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
