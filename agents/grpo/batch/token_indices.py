"""Index arithmetic for tokens without a loop over rows, and asynchronous copies of tensors to the device."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


def concatenate_ranges(start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Concatenate the ranges start_i, ..., start_i + length_i - 1: int64 [sum of lengths]."""
    before = np.cumsum(length) - length
    return np.repeat(start - before, length) + np.arange(int(length.sum()))


def send(tensor: Tensor, device: torch.device) -> Tensor:
    """Copy the tensor to a device; a copy from CPU to GPU is asynchronous."""
    if tensor.device == device or device.type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)
