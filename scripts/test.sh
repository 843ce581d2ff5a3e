#!/usr/bin/env bash
# All checks: lint, format, types, tests. Usage: bash scripts/test.sh [pytest arguments], from any folder.
set -euo pipefail
source "$(dirname "$0")/setup.sh"

ruff check .
ruff format --check .
pyright
# Two processes of one thread each are quicker than one process of two threads: most tests are too small to share out.
OMP_NUM_THREADS=1 python -m pytest -n 2 "$@"
