#!/usr/bin/env bash
# All checks: lint, format, types, tests, from any folder.
#   bash scripts/test.sh           a quick run: cheap tests, a tenth of the dear ones in turn, all that mirror a change
#   bash scripts/test.sh --full    every test
#   bash scripts/test.sh tests/envs -k oracle    these tests; arguments go to pytest
set -euo pipefail
source "$(dirname "$0")/setup.sh"

ruff check .
ruff format --check .

# Many tests start processes, each of which would compile the whole package anew.
unset PYTHONDONTWRITEBYTECODE

if [[ ${1-} == --full ]]; then
    shift
elif [[ $# == 0 ]]; then
    set -- --quick
fi

# pyright runs in what the tests leave idle, since it has one thread only; its result is shown after theirs.
types=$(mktemp)
nice pyright >"$types" 2>&1 &
checking=$!
trap 'kill "$checking" 2>/dev/null || true; rm -f "$types"' EXIT

# Two processes of one thread each are quicker than one process of two threads: most tests are too small to share out.
# Each begins with half of the tests, in their order, and takes over from the other at the end.
passed=true
OMP_NUM_THREADS=1 python -m pytest -n 2 --dist worksteal "$@" || passed=false
wait "$checking" || passed=false
cat "$types"
"$passed"
