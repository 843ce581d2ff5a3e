"""Abilities of a GPU: memory that is free, and a kernel of attention that keeps no scores."""

from __future__ import annotations

import functools

import torch


def free_memory(device: torch.device | str) -> int:
    """Return the bytes of a GPU that this process can still allocate: free device memory, and memory that torch has
    reserved but not allocated (which it returns if a larger block is needed)."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept


def has_flash_attention(device: torch.device, head_dim: int) -> bool:
    """Return True if torch's FlashAttention takes half precision on a device, with heads of this width."""
    return device.type == "cuda" and fits_flash_attention(head_dim) and is_ampere(device)


def fits_flash_attention(head_dim: int) -> bool:
    """Return True if FlashAttention is made for heads of this width."""
    return head_dim % 8 == 0 and head_dim <= 256


@functools.cache
def is_ampere(device: torch.device) -> bool:
    """True if a GPU is of compute capability 8.0 or later."""
    return torch.cuda.get_device_capability(device) >= (8, 0)
