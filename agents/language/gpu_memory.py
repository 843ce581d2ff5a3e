"""What is free of a GPU's memory."""

from __future__ import annotations

import torch


def free_memory(device: torch.device | str) -> int:
    """Bytes of a GPU that this process can still take: what the device has, and what torch has taken from it without
    giving it out (which it gives back when a larger piece is asked for)."""
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + kept
