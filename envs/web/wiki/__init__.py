"""Encyclopaedia of a made-up world, and tasks of searching and reading it.

`corpus.make_corpus` writes the articles of a self-consistent world drawn from a seed. Each file with an environment is
one family.
"""

from __future__ import annotations

from ...registration import import_families

import_families(__name__, __path__)
