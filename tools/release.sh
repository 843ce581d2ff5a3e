#!/usr/bin/env bash
# Makes a release and checks it: builds the wheel and the source distribution into a folder, checks their metadata with twine,
# installs the wheel into a fresh environment outside the checkout, and runs the examples and the Python of the README there.
# Nothing is uploaded. Usage: bash tools/release.sh [FOLDER], from any folder; FOLDER is dist of the checkout by default.
set -euo pipefail
out=$(realpath -m "${1:-$(dirname "$0")/../dist}")
cd "$(dirname "$0")/.."
root=$PWD
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
for file in CITATION.cff CHANGELOG.md; do
    grep -q "$version" "$file" || { echo "$file does not name version $version of pyproject.toml" >&2; exit 1; }
done

python3 -m venv "$place/venv"
echo "installing the wheel of $version into a fresh environment ..." >&2
"$place/venv/bin/python" -m pip install -qq --disable-pip-version-check build twine
# The wheel is built from the source distribution, so that neither lacks a file.
"$place/venv/bin/python" -m build --outdir "$place/dist" . >"$place/build.log" 2>&1 || { cat "$place/build.log" >&2; exit 1; }
"$place/venv/bin/python" -m twine check --strict "$place"/dist/*
wheel=$(echo "$place"/dist/*.whl)
"$place/venv/bin/python" -m pip install -qq --disable-pip-version-check -c constraints.txt \
    "palaestra[train,grid,math,sql,web] @ file://$wheel"

# Away from the checkout, so that what is imported is what was installed.
unset PYTHONPATH
cd "$place"
"$place/venv/bin/palaestra" doctor >/dev/null
"$place/venv/bin/palaestra" eval palaestra/Arithmetic-v0 --agent oracle --episodes 20 >/dev/null
"$place/venv/bin/python" - "$root/README.md" <<'PYTHON'
import re
import subprocess
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8")
for number, block in enumerate(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)):
    Path(f"readme_{number}.py").write_text(block, encoding="utf-8")
    subprocess.run([sys.executable, "-W", "error", f"readme_{number}.py"], check=True, stdout=subprocess.DEVNULL)
    print(f"README, block {number + 1}: runs")
PYTHON
for script in "$root"/examples/*.py; do
    # Those need extras that are not installed here.
    if grep -qE '^ *(from|import) (trl|ray|stable_baselines3)' "$script"; then continue; fi
    "$place/venv/bin/python" "$script" >/dev/null
    echo "$(basename "$script"): runs"
done
mkdir -p "$out"
cp "$place"/dist/* "$out"
echo "palaestra $version is ready in $out: $(cd "$place/dist" && echo *)"
