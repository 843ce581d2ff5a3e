"""Plain text as an environment: its next segment, or its next word, is the answer."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
