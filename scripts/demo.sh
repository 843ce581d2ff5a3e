#!/usr/bin/env bash
# Trains a tiny language model under a teacher and prints how far it came: bash scripts/demo.sh [--task ladder|arithmetic | --model NAME] [--seed N] [--out DIR]
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

arguments=("$@")
if [[ " $* " != *" --out"* ]]; then
    # A folder of its own for each run, so that the second one works like the first.
    mkdir -p runs
    arguments+=(--out "$(mktemp -d "runs/demo-XXXX")")
fi
python -m palaestra.benchmarks.demo "${arguments[@]}"
