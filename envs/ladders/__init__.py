"""Ladders: families made to compare teachers. Each has an axis of levels, the rungs; practice on a rung makes only the
next one learnable."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
