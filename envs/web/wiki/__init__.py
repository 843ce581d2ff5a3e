"""A made-up encyclopaedia, and tasks of searching it.

`corpus.make_corpus` makes articles of a world that is drawn from a seed and consistent in itself; every file with an
environment is one family.
"""

from __future__ import annotations

from ...registration import import_families

import_families(__name__, __path__)
