"""Tensors as text, for saved states that are JSON."""

from __future__ import annotations

import base64
import io
from typing import Any


def pack_tensors(state: Any) -> str:
    """Pack what `torch.save` writes of ``state`` (such as state dicts by name), in base64."""
    import torch

    file = io.BytesIO()
    torch.save(state, file)
    return base64.b64encode(file.getvalue()).decode("ascii")


def unpack_tensors(text: str) -> Any:
    """The inverse of `pack_tensors`; of tensors and plain containers alone."""
    import torch

    return torch.load(io.BytesIO(base64.b64decode(text)), weights_only=True)
