"""The attacks once more, on a sandbox of a user without privileges: there the program and what watches it are one
user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import palaestra
import pytest
from palaestra.envs.sandbox import Job, Limits, Result, Sandbox
from palaestra.envs.sandbox.bubblewrap import BubblewrapSandbox

from .attacks import DISK, MEMORY, OUTPUT, PROCESSES, Attack
from .attacks_on_walls import SECRET, WALLS
from .backends import missing
from .containment import assert_contained

pytestmark = pytest.mark.skipif(bool(missing("local")), reason=missing("local"))

NOBODY = 65534
ATTACKS = [*PROCESSES, *MEMORY, *DISK, *OUTPUT, *WALLS]
DRIVER = """
import dataclasses, json, os, sys
from palaestra.envs.sandbox.bubblewrap import BubblewrapSandbox
from palaestra.envs.sandbox.protocol import Job, Limits
assert os.getuid() == os.geteuid() != 0
sandbox = BubblewrapSandbox()
for line in sys.stdin:
    source, limits = json.loads(line)
    result = sandbox.run(Job(source), Limits(**limits))
    print(json.dumps({**dataclasses.asdict(result), "values": ()}), flush=True)
sandbox.close()
"""


def interpreter() -> str:
    """One that everybody may use."""
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        tried = [path, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(tried, user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True).returncode == 0:
                return path
        except OSError:
            continue
    pytest.skip("there is no interpreter of Python 3.11 that every user may start, such as Debian's python3")


class OtherUser:
    """A sandbox in a process of another user.

    Args:
        place: an empty folder that every user may enter.
    """

    def __init__(self, place: str):
        root = Path(palaestra.__file__).parent
        # The backend needs nothing of the package but these.
        folder = Path(place) / "palaestra"
        shutil.copytree(root / "envs/sandbox", folder / "envs/sandbox")
        shutil.copy(root / "errors.py", folder / "errors.py")
        for name in ("__init__.py", "envs/__init__.py", "envs/sandbox/__init__.py"):
            (folder / name).write_text("")
        subprocess.run(["chmod", "-R", "a+rX", place], check=True)
        self.process = subprocess.Popen(
            [interpreter(), "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env={"PATH": os.environ["PATH"], "PYTHONPATH": place, "PALAESTRA_SECRET": SECRET},
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
        )

    def run(self, job: Job, limits: Limits) -> Result:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([job.program, asdict(limits)]) + "\n")
        self.process.stdin.flush()
        told: dict[str, Any] = json.loads(self.process.stdout.readline())
        return Result(**told)

    def close(self) -> None:
        self.process.communicate()
        assert self.process.returncode == 0


@pytest.fixture(scope="module")
def other_user() -> Iterator[Sandbox]:
    # The folder that tempfile would choose may be this user's alone.
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        # Only the administrator becomes another user; everybody else is one.
        sandbox = OtherUser(place) if os.getuid() == 0 else BubblewrapSandbox()
        yield sandbox
        sandbox.close()


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_contained_where_the_sandbox_is_of_an_ordinary_user(attack: Attack, other_user: Sandbox) -> None:
    assert_contained(attack, other_user)
