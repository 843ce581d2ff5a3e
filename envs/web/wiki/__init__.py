"""A made-up encyclopaedia, and tasks of searching it.

`corpus.make_corpus` writes the articles of a self-consistent world drawn from a seed. Each file with an environment is
one family.
"""

from __future__ import annotations

from ...registration import import_families

import_families(__name__, __path__)
