"""Tensors as text, for saved states in JSON."""

from __future__ import annotations

import base64
import io
from typing import Any


def pack_tensors(state: Any) -> str:
    """Encode ``state`` (such as a mapping of state dicts) by `torch.save` and base64."""
    import torch

    file = io.BytesIO()
    torch.save(state, file)
    return base64.b64encode(file.getvalue()).decode("ascii")


def unpack_tensors(text: str) -> Any:
    """Decode a text written by `pack_tensors`; only tensors and plain containers are accepted."""
    import torch

    return torch.load(io.BytesIO(base64.b64decode(text)), weights_only=True)
