"""The table of ``palaestra list models``: models for ``--model NAME``, with their licences and what installs them."""

from __future__ import annotations

from ..agents.language.registered_models import MODELS
from .list_stages import Row


def models() -> list[Row]:
    """List every registered model: name, summary, size, precision, licence, origin, install command."""
    return [
        {
            "name": name,
            "summary": model.summary,
            "parameters": f"{model.parameters:,}",
            "size": f"{model.megabytes} MB",
            "precision": model.precision,
            "licence": model.licence,
            "origin": model.origin,
            "install": "installed" if model.installed else model.install,
        }
        for name, model in MODELS.items()
    ]
