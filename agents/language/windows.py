"""Limits on the range of a model's attention: sliding windows, chunks, number of selected keys.

`short_windows` lowers the limits of a transformers model, so that a comparison of two forward passes exceeds them with
a few tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .head import text_config

_LIMIT = re.compile(r"(?:^|_)window(?:_size|_len)?$|^attention_chunk_size$|^local_attention$|^index_topk$")
"""Pattern of names of attributes of configurations and attention layers that hold a limit in tokens."""


def window_lengths(config: Any) -> dict[str, int]:
    """Return the limits of a configuration that are in use: name of the attribute -> limit in tokens."""
    text = text_config(config)
    if getattr(text, "use_sliding_window", None) is False:
        return {}
    return {name: value for name, value in vars(text).items() if _is_limit(name, value)}


@contextmanager
def short_windows(model: Any, length: int) -> Iterator[None]:
    """Within the context, lower all limits of a model above ``length`` tokens to ``length``."""
    holders = {id(model.config): model.config, id(text_config(model.config)): text_config(model.config)}
    for module in model.modules():
        holders[id(module)] = module
        if (config := vars(module).get("config")) is not None:
            holders[id(config)] = config
    found = [
        (holder, name, value)
        for holder in holders.values()
        for name, value in vars(holder).items()
        if _is_limit(name, value) and value > length
    ]
    try:
        for holder, name, _ in found:
            setattr(holder, name, length)
        yield
    finally:
        for holder, name, value in found:
            setattr(holder, name, value)


def _is_limit(name: str, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and bool(_LIMIT.search(name))
