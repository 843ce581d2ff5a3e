#!/usr/bin/env bash
# Makes .venv-peers, an environment with the projects that palaestra.integrations is tried against and whose requirements
# would bind everything else: bash scripts/peers.sh. It takes half a minute and 320 MB, once.
set -euo pipefail
cd "$(dirname "$0")/.."

peers=(openenv==0.10.0)
python=${PYTHON:-python3}
mkdir -p .venv-peers
# Tests that come meanwhile wait for this lock.
exec 9>.venv-peers/lock
flock 9
wanted="${peers[*]}, $("$python" -c 'import sys; print(*sys.version_info[:3], sep=".")') in $PWD"
[[ ! -f .venv-peers/installed || "$(<.venv-peers/installed)" != "$wanted" ]] || exit 0
rm -f .venv-peers/installed

echo "installing ${peers[*]} into .venv-peers (once, half a minute) ..." >&2
"$python" -m venv .venv-peers
.venv-peers/bin/python -m pip install -qq --disable-pip-version-check --no-compile -c constraints.txt "${peers[@]}"
printf '%s\n' "$wanted" >.venv-peers/installed
