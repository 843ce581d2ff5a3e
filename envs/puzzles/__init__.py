"""Logic and planning: puzzles whose answers can be checked."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
