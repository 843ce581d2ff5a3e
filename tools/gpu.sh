#!/usr/bin/env bash
# Measures all that concerns a GPU in nine minutes: `palaestra bench gpu` from this checkout, which need not be installed.
# Usage: bash tools/gpu.sh [--wheels FOLDER] [--site FOLDER] [options of palaestra bench gpu], from any folder.
#   --wheels FOLDER  wheels that are installed for this run alone, without a network
#   --site FOLDER    packages that are installed there already
#   --cpu            tries all of it out without a GPU, with tiny models
# PYTHON names another interpreter than python3 or python. It needs torch and transformers.
set -euo pipefail

wheels="" site="" options=()
while [[ $# -gt 0 ]]; do
    case $1 in
        --wheels) wheels=$(cd "$2" && pwd) && shift 2 ;;
        --site) site=$(cd "$2" && pwd) && shift 2 ;;
        --cpu) options+=(--device cpu) && shift ;;
        *) options+=("$1") && shift ;;
    esac
done
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$(command -v python3 || command -v python)} || { echo "There is neither python3 nor python; set PYTHON." >&2; exit 2; }

# The checkout is the package palaestra, whatever its folder is called.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/lib"
ln -s "$root" "$place/lib/palaestra"
if [[ -n "$wheels" ]]; then
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps --no-compile --target "$place/site" "$wheels"/*.whl
    site="$place/site${site:+:$site}"
fi
export PYTHONPATH="$place/lib${site:+:$site}${PYTHONPATH:+:$PYTHONPATH}" HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
status=0
"$python" -m palaestra.benchmarks gpu "${options[@]}" || status=$?
exit "$status"
