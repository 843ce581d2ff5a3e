from __future__ import annotations

import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from palaestra.envs.sandbox import Job, Limits, Sandbox

from .attacks import USE, Attack
from .attacks_on_walls import SECRET, WALLS
from .backends import SAFE, started

ATTACKS = [*USE, *WALLS]
# What a busy machine may add to any time, seconds.
BUSY = 3.0
# What the next program finds: its folders, its answer, other processes, its environment, mask and memory.
PROBE = """
import gc, os, socket
def others():
    try: os.kill(-1, 0)
    except ProcessLookupError: return False
    return True
def connects():
    try: socket.socket(socket.AF_UNIX).connect("\\0planted")
    except ConnectionRefusedError: return False
    return True
def remembers():
    found = gc.get_objects() + [*globals().values()]
    return any(isinstance(thing, str) and "xyzzy-" + "plugh" in thing for thing in found)
def writes():
    for folder in ("/tmp", "/dev/shm"):
        with open(folder + "/x", "wb") as file: file.write(b"x" * (7 << 20))
    return sorted(os.listdir("/tmp") + os.listdir("/dev/shm")), oct(os.stat("/tmp/x").st_mode)
import json
print(os.listdir("/tmp"), os.listdir("/dev/shm"), os.listxattr("/tmp"), others(), connects(), remembers())
print(os.getcwd(), oct(os.stat("/tmp").st_mode), os.nice(0), json.dumps([6 * 7]), "PYTHONSTARTUP" in os.environ)
print(*writes(), sum(range(100_000)))
"""
UNAFFECTED = f"""\
[] [] [] False False False
/tmp 0o41777 {os.nice(0)} [42] False
['x', 'x'] 0o100644 4999950000
"""


@pytest.fixture(scope="module", params=SAFE)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with (
        pytest.MonkeyPatch.context() as patch,
        socket.socket(socket.AF_UNIX) as listening,
        open(Path(tempfile.gettempdir()) / "palaestra-secret", "w") as secret,
    ):
        patch.setenv("PALAESTRA_SECRET", SECRET)
        listening.bind("\0palaestra-attack")
        listening.listen()
        secret.write(SECRET)
        sandbox = started(request.param)
        yield sandbox
        sandbox.close()
        os.unlink(secret.name)


def test_there_are_sixty_attacks_of_different_names() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 60


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_attack_is_contained_and_the_next_program_is_not_affected(attack: Attack, sandbox: Sandbox) -> None:
    begun = time.monotonic()
    result = sandbox.run(Job(attack.source), attack.limits)
    took = time.monotonic() - begun
    assert result.valid
    assert attack.contained(result), result
    assert result.seconds <= 1.2 * attack.limits.seconds + BUSY
    assert took <= 1.2 * attack.limits.seconds + 2 * BUSY
    assert SECRET not in result.stdout
    after = sandbox.run(Job(PROBE), Limits(seconds=BUSY, disk_mb=8))
    assert (after.stdout, after.stderr, after.reason) == (UNAFFECTED, "", "exit")
