#!/usr/bin/env bash
# Makes the other environments of the tests: bash scripts/peers.sh
# .venv-peers, .venv-verifiers and .venv-agentlab have the projects that palaestra.integrations is tried against and whose
# requirements would bind everything else. Verifiers and AgentLab need versions that the others refuse. All lie on top of
# .venv, so that palaestra is this checkout, and only what .venv lacks or has in another version is installed: two or
# three minutes and 930 MB, once.
# .venv-python3.12 and later ones have newer interpreters, where python3.12 or pyenv has them: half a minute each.
set -euo pipefail
source "$(dirname "$0")/setup.sh"

base=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
root="$(python -c 'import sys; print(*sys.version_info[:3], sep=".")') in $PWD, $(cat pyproject.toml constraints.txt | cksum)"

# Tests that come meanwhile wait for this lock.
mkdir -p .venv-peers
exec 9>.venv-peers/lock
flock 9

# make_environment FOLDER PIP_ARGUMENTS...; packages in the variable "bare" are installed without what they require.
make_environment() {
    local own place=$1 wanted="${*:2}, ${bare:-}, $root"
    if [[ ! -f $place/installed || "$(<"$place/installed")" != "$wanted" ]]; then
        rm -f "$place/installed"
        echo "installing ${*:2} into $place (once, about a minute) ..." >&2
        python -m venv --without-pip "$place"
        own=$("$place/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
        echo "import site; site.addsitedir('$base')" >"$own/base.pth"
        python -m pip --python "$place/bin/python" install -qq --disable-pip-version-check --no-compile "${@:2}"
        if [[ -n ${bare:-} ]]; then
            # shellcheck disable=SC2086  # several packages
            python -m pip --python "$place/bin/python" install -qq --disable-pip-version-check --no-deps $bare
        fi
        printf '%s\n' "$wanted" >"$place/installed"
    fi
}

make_environment .venv-verifiers "$(grep '^verifiers==' constraints.txt)"
# RLlib is a part of ray, which .venv has; the rest of ray[rllib] but for its version of Gymnasium.
rllib=(dm-tree lz4 ormsgpack tensorboardX)
# OpenEnv needs an earlier mcp, and BrowserGym an earlier Playwright.
grep -v -e '^mcp==' -e '^playwright==' constraints.txt >.venv-peers/constraints.txt
make_environment .venv-peers -c .venv-peers/constraints.txt openenv inspect_ai lm_eval textarena gem-llm browsergym-core \
    "${rllib[@]}"
# All that AgentLab requires has no solution beside an openai of 2 or later; these are what its studies import.
bare="agentlab==0.4.2 browsergym-webarena==0.14.3" make_environment .venv-agentlab -c .venv-peers/constraints.txt \
    browsergym-core browsergym-experiments anthropic contexttimer gitpython ipython litellm nltk python-slugify

for version in 3.12 3.13 3.14; do
    for python in "$(command -v "python$version" || true)" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python; do
        # The stand-in that pyenv puts on the path fails where no version is chosen.
        if [[ -x $python ]] && "$python" -c '' 2>/dev/null; then
            place=.venv-python$version
            packages=(-e '.[grid,math,sql,web,chat]' pytest pytest-xdist hypothesis)
            wanted="${packages[*]}, $("$python" -VV) in $PWD, $(cat pyproject.toml constraints.txt | cksum)"
            if [[ ! -f $place/installed || "$(<"$place/installed")" != "$wanted" ]]; then
                rm -f "$place/installed"
                echo "installing Python $version into $place (once, half a minute) ..." >&2
                "$python" -m venv --without-pip "$place"
                python -m pip --python "$place/bin/python" install -qq --disable-pip-version-check --no-compile \
                    -c constraints.txt "${packages[@]}"
                printf '%s\n' "$wanted" >"$place/installed"
            fi
            break
        fi
    done
done
