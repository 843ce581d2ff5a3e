"""Small models for the tests of what acts and learns."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="session")
def small() -> Any:
    """A LanguageModel with 2 layers of width 32: everything that the tiny model has, in a twentieth of the time."""
    from palaestra.agents.language.model import LanguageModel
    from palaestra.agents.language.tiny import TinyShape, tiny_model

    shape = TinyShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=512)
    return LanguageModel.of(*tiny_model(3, shape))
