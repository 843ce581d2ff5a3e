"""A container engine for the tests: the one that DOCKER_HOST names, or one of their own, which ends with them; and an
image of this very interpreter, which nothing has to be fetched for."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy

IMAGE = "palaestra-test"
START_SECONDS = 60.0
# Besides the interpreter: what a hostile program might want to have at hand.
_COMMANDS = ("sh", "cat", "ls", "sleep", "id", "dd", "su", "mount", "passwd", "newgrp", "unshare", "echo")
_LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "lib2to3", "__pycache__"}
_LOCALE = "/usr/lib/locale/C.utf8"
# As dockerd needs them.
_PROGRAMS = ("dockerd", "containerd", "runc")


@functools.cache
def engine() -> str:
    """Make sure that DOCKER_HOST names an engine that has an image. Why there is none; "" where there is."""
    if "DOCKER_HOST" not in os.environ:
        if os.getuid() != 0:
            return "DOCKER_HOST is not set, and only root can start an engine"
        if missing := [name for name in _PROGRAMS if shutil.which(name) is None]:
            return f"DOCKER_HOST is not set, and {missing[0]} is not installed (Debian's package docker.io)"
        start()
    if "PALAESTRA_SANDBOX_IMAGE" not in os.environ:
        make_image()
        os.environ["PALAESTRA_SANDBOX_IMAGE"] = IMAGE
    return ""


def start() -> None:
    """Start an engine, and name it in DOCKER_HOST until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="palaestra-engine-"))
    place = f"unix://{folder}/socket"
    words = ["dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", "-H", place]
    words += ["--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec", "-p", f"{folder}/pid"]
    # A containerd that is slow to answer is killed by its engine, but first writes its stacks where TMPDIR says.
    environment = {**os.environ, "TMPDIR": str(folder)}
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    atexit.register(stop, process, folder)
    deadline = time.monotonic() + START_SECONDS
    while not answers(place):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the engine does not start: " + (folder / "log").read_text()[-2_000:])
        time.sleep(0.1)
    os.environ["DOCKER_HOST"] = place


def stop(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.terminate()
    process.wait(2 * START_SECONDS)
    deadline = time.monotonic() + START_SECONDS
    while True:
        # The engine mounts its own folder, and does not always take that away.
        mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for place in reversed([place for place in mounts if place.startswith(f"{folder}/")]):
            subprocess.run(["umount", place], check=False, stderr=subprocess.DEVNULL)
        try:
            return shutil.rmtree(folder)
        except OSError:
            # What the engine had started may outlive it for a moment, and still use the folder.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def answers(place: str) -> bool:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(place.removeprefix("unix://")) == 0


def make_image() -> None:
    """Have the engine take this interpreter, a few commands, and the libraries of both for an image."""
    import docker

    client = docker.from_env()
    try:
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", dereference=True) as archive:
                fill(archive)
            file.seek(0)
            client.api.import_image_from_data(file, repository=IMAGE, tag="latest")
    finally:
        client.close()


def fill(archive: tarfile.TarFile) -> None:
    folders = [name for name in ("bin", "sbin", "lib", "lib32", "lib64") if os.path.islink(f"/{name}")]
    for name in folders:
        link = tarfile.TarInfo(name)
        link.type, link.linkname = tarfile.SYMTYPE, os.readlink(f"/{name}")
        archive.addfile(link)
    for name in ("tmp", "root", "etc"):
        folder = tarfile.TarInfo(name)
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
        archive.addfile(folder)
    library = sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix})
    short = f"python{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = os.path.realpath(sys.executable)
    archive.add(interpreter, "usr/local/bin/python3")
    archive.add(library, f"usr/local/lib/{short}", filter=wanted)
    for folder in numpy_folders():
        archive.add(folder, f"usr/local/lib/{short}/site-packages/{folder.name}", filter=wanted)
    own = [Path(library), *numpy_folders()]
    extensions = [str(path) for folder in own for path in folder.rglob("*.so*")]
    commands = sorted({in_place(path) for name in _COMMANDS if (path := shutil.which(name))})
    for path in commands:
        archive.add(path)
    if os.path.isdir(_LOCALE):
        archive.add(_LOCALE)
    for path in libraries([interpreter, *extensions, *commands]):
        if not any(Path(path).is_relative_to(folder) for folder in own):
            archive.add(path)


def in_place(path: str) -> str:
    """Where a file is, but for links of folders."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)


def numpy_folders() -> list[Path]:
    package = Path(numpy.__file__).parent
    return [folder for folder in (package, package.with_name("numpy.libs")) if folder.is_dir()]


def wanted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    name = os.path.basename(member.name)
    return None if name in _LEFT_OUT or name.startswith("config-") else member


def libraries(programs: Iterable[str]) -> list[str]:
    """The shared libraries that programs need, and what loads them."""
    told = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False).stdout
    return sorted({in_place(word) for word in told.split() if word.startswith("/") and not word.endswith(":")})
