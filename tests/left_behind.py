"""That the whole suite leaves nothing behind: no process, no mount, no temporary file. A plugin, see conftest.py.

All that the tests start inherits a name in its environment, and all their temporary files lie in one folder. When the
last worker has ended, both are looked for. Containers end with the engine of the tests, which is a process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Generator
from multiprocessing.util import Finalize
from pathlib import Path

import pytest
from xdist.workermanage import NodeManager

_NAME = "PALAESTRA_TEST_SESSION"
_SECONDS, _EXIT_SECONDS = 60.0, 300
_FOLDER = pytest.StashKey[str]()
# pytest keeps the folders of the last three sessions, and other libraries what they have compiled.
_KEPT = ("pytest-of-", "torchinductor_", "SB3-")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or _NAME in os.environ:
        return
    # Workers that take longer to end than this are killed, with their engines and servers left running.
    NodeManager.EXIT_TIMEOUT = _EXIT_SECONDS
    # A short name: below it lie sockets, whose paths are bounded.
    folder = tempfile.mkdtemp(prefix="pt-")
    os.environ[_NAME] = os.environ["TMPDIR"] = tempfile.tempdir = folder
    # After the folder that multiprocessing itself may have made there, whose priority is -100.
    Finalize(None, shutil.rmtree, args=(folder,), kwargs={"ignore_errors": True}, exitpriority=-200)
    config.stash[_FOLDER] = folder


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    yield  # the workers end
    folder = session.config.stash.get(_FOLDER, "")
    # Without workers, what ends with this process is still there.
    if not folder or not session.config.pluginmanager.hasplugin("dsession"):
        return
    deadline = time.monotonic() + _SECONDS
    while (left := left_behind(folder)) and time.monotonic() < deadline:
        time.sleep(0.2)
    if left:
        print("\nThe tests left behind:", *left, sep="\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def left_behind(folder: str) -> list[str]:
    """What is there of a session whose temporary files lie in ``folder``."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    files = [name for name in os.listdir(folder) if not name.startswith(_KEPT)]
    return [
        *(f"process {pid}: {' '.join(words)[:200]}" for pid, words in processes(f"{_NAME}={folder}").items()),
        *(f"mount {place}" for place in mounts if place.startswith(folder)),
        *(f"temporary file {name}" for name in files),
    ]


def processes(tag: str) -> dict[int, list[str]]:
    """The command lines of other processes that have ``tag`` in their environment."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            inherited = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            words = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if tag.encode() in inherited and int(name) != os.getpid():
            found[int(name)] = words
    return found
