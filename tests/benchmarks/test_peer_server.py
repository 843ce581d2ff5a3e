"""The server of peers needs nothing but a Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from palaestra.benchmarks import peer_server


def test_it_answers_line_by_line_without_this_package(tmp_path: Path):
    text = 'def find_installed():\n    print("said")\n    return {}\n\n\ndef answer(x):\n    return x\n'
    (tmp_path / "peers.py").write_text(text)
    command = [sys.executable, "-I", "-S", peer_server.__file__, str(tmp_path / "peers.py")]
    done = subprocess.run(command, input='{"x": 1}\n{"y": 2}\n', capture_output=True, text=True, check=True)
    first, one, other = map(json.loads, done.stdout.splitlines())
    assert (first, one) == ({}, 1)
    assert other["error"].startswith("TypeError: ")
    assert done.stderr == "said\n"
