"""``python -m palaestra.scripts.bench``: the same as ``palaestra bench``."""

from __future__ import annotations

import sys

from ..cli import guarded
from . import main

if __name__ == "__main__":
    sys.exit(guarded(main, sys.argv[1:]))
