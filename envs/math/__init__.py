"""Mathematics: questions with one exact answer, computed or proved."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
