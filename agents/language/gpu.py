"""Properties of a GPU: free memory, and support of FlashAttention."""

from __future__ import annotations

import functools

import torch


def free_memory(device: torch.device | str) -> int:
    """Return the bytes of GPU memory that this process can still allocate: free device memory, plus memory that torch
    has reserved but not allocated (which torch returns if it needs a larger block)."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def has_flash_attention(device: torch.device, head_dim: int) -> bool:
    """Return True if torch's FlashAttention supports half precision with this head dimension on a device."""
    return device.type == "cuda" and fits_flash_attention(head_dim) and is_ampere(device)


def fits_flash_attention(head_dim: int) -> bool:
    """Return True if FlashAttention supports a head dimension: a multiple of 8, at most 256."""
    return head_dim % 8 == 0 and head_dim <= 256


@functools.cache
def is_ampere(device: torch.device) -> bool:
    """Return True if a GPU has compute capability 8.0 (Ampere) or later."""
    return torch.cuda.get_device_capability(device) >= (8, 0)
