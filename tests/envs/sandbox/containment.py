"""What every attack must come to: it is contained, and the next program finds nothing of it."""

from __future__ import annotations

import functools
import time
from dataclasses import replace

from palaestra.envs.sandbox import Job, Sandbox

from .attacks import BEYOND, PATIENT, Attack
from .attacks_on_walls import SECRET

# How often a busy machine may look too late, in a row, before that is a failure; and what it may add to the time of
# what is no attack, seconds.
TRIES = 6
BUSY = 30.0
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
print(os.getcwd(), oct(os.stat("/tmp").st_mode), os.nice(0) - NICE, json.dumps([6 * 7]))
print(*writes(), sum(range(100_000)), "PYTHONSTARTUP" in os.environ)
"""
UNAFFECTED = """\
['program.py'] [] [] False False False
/tmp 0o41777 0 [42]
['program.py', 'x', 'x'] 0o100644 4999950000 False
"""


@functools.cache
def niceness(sandbox: Sandbox) -> int:
    """Of a program in the sandbox, which may be that of an engine."""
    return int(sandbox.run(Job("import os\nprint(os.nice(0))"), PATIENT).stdout)


def assert_contained(attack: Attack, sandbox: Sandbox) -> None:
    nice = niceness(sandbox)
    for _ in range(TRIES):
        begun = time.monotonic()
        result = sandbox.run(Job(attack.source), attack.limits)
        assert time.monotonic() - begun <= BEYOND * attack.limits.seconds + BUSY
        assert result.valid
        assert attack.contained(result), result
        assert SECRET not in result.stdout
        if within := result.seconds <= BEYOND * attack.limits.seconds and attack.within(result):
            break
    assert within, result
    after = sandbox.run(Job(PROBE.replace("NICE", str(nice))), replace(attack.limits, seconds=BUSY))
    assert (after.stdout, after.stderr, after.reason) == (UNAFFECTED, "", "exit")
