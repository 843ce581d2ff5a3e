#!/usr/bin/env bash
# Makes .venv-peers, an environment with projects that palaestra.integrations is tried against: bash scripts/peers.sh
# It sees the packages of .venv (torch, transformers, datasets and this one), which it makes where it is missing, and adds
# what .venv must not have: projects whose own pins would bind everything else. It takes half a minute and 300 MB, once.
set -euo pipefail
source "$(dirname "$0")/setup.sh"

# One line a project; what it requires and .venv lacks, or has in another version, is installed beside it.
peers=(inspect-ai==0.3.285)

mkdir -p .venv-peers
# Tests that come meanwhile wait for this lock.
exec 9>.venv-peers/lock
flock 9
wanted="${peers[*]}, in $PWD, $(<.venv/installed)"
[[ ! -f .venv-peers/installed || "$(<.venv-peers/installed)" != "$wanted" ]] || exit 0
rm -f .venv-peers/installed

echo "installing ${peers[*]} into .venv-peers (once, half a minute) ..." >&2
python -m venv --clear --without-pip .venv-peers/env
place_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
# site.addsitedir also reads the .pth files there, by which this package is found.
printf 'import site; site.addsitedir("%s")\n' "$(place_of python)" >"$(place_of .venv-peers/env/bin/python)/of_the_checkout.pth"
python -m pip --python .venv-peers/env/bin/python install -qq --disable-pip-version-check --no-compile -c constraints.txt "${peers[@]}"
printf '%s\n' "$wanted" >.venv-peers/installed
