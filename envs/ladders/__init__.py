"""Ladders: families made to compare teachers, in which practice on a rung opens the next one and no other."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
