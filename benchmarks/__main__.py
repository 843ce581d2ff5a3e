"""Entry point of ``python -m palaestra.benchmarks``, the same as ``palaestra bench``."""

from __future__ import annotations

import sys

from ..scripts.cli import run_guarded
from . import main

if __name__ == "__main__":
    sys.exit(run_guarded(main, sys.argv[1:]))
