"""Questions from data sets on disk or the hub, and from Reasoning Gym."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
