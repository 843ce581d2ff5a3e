"""On a system that lacks what only Unix has, everything but programs and PostgreSQL works, and programs say so."""

from __future__ import annotations

import json
import subprocess
import sys

# Windows has none of these modules and functions.
PLAY = """
import json, os, sys
for name in ("fcntl", "grp", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("fork", "geteuid", "getuid", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
import gymnasium, palaestra
from palaestra.scripts.cli import main
found = {}
for name in ("Arithmetic", "GuessNumber", "TextToSQL", "Shop", "ProgramSynthesis"):
    try:
        env = gymnasium.make(f"palaestra/{name}-v0", difficulty=0.0)
        env.reset(seed=0)
        over = False
        while not over:
            *_, terminated, truncated, info = env.step(env.unwrapped.oracle())
            over = terminated or truncated
        found[name] = info["is_success"]
    except palaestra.errors.InputError as error:
        found[name] = str(error)
found["eval"] = main(["eval", "palaestra/Countdown-v0", "--agent", "oracle", "--episodes", "4"])
sys.stderr.write(json.dumps(found))
"""


def test_what_needs_unix_says_so_and_the_rest_works():
    done = subprocess.run([sys.executable, "-c", PLAY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stderr.splitlines()[-1])
    refused = found.pop("ProgramSynthesis")
    assert found == {"Arithmetic": True, "GuessNumber": True, "TextToSQL": True, "Shop": True, "eval": 0}
    assert "programs cannot be run on" in refused
    assert "WSL" in refused
