"""Questions made of other questions: the same task in another form."""

from __future__ import annotations

from ..registration import import_families

import_families(__name__, __path__)
