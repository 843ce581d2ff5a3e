"""Programs: written, repaired, completed and understood, and judged by tests in the sandbox."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
