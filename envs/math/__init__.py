"""Mathematics: questions whose answers are computed or proved, never guessed at."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
