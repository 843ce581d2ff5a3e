#!/usr/bin/env bash
# All checks: lint, format, types, tests, from any folder.
#   bash scripts/test.sh           a quick run: cheap tests, a tenth of the dear ones in turn, all that mirror a change
#   bash scripts/test.sh --full    every test
#   bash scripts/test.sh tests/envs -k oracle    these tests; arguments go to pytest
set -euo pipefail
source "$(dirname "$0")/setup.sh"

ruff check .
ruff format --check .

# Processes of one thread each, as most tests are too small to share out. More than the two cores of a small machine: many
# tests wait for other processes, above all the dear ones, of which a quick run has a tenth.
workers=3
if [[ ${1-} == --full ]]; then
    workers=4
    shift
elif [[ $# == 0 ]]; then
    set -- --quick
fi

# pyright runs in what the tests leave idle, since it has one thread only; its result is shown after theirs.
types=$(mktemp)
nice pyright >"$types" 2>&1 &
checking=$!
trap 'kill "$checking" 2>/dev/null || true; rm -f "$types"' EXIT

# Each process begins with its share of the tests, in their order, and takes over from the others at the end.
passed=true
OMP_NUM_THREADS=1 python -m pytest -n "$workers" --dist worksteal "$@" || passed=false
wait "$checking" || passed=false
cat "$types"
"$passed"
