"""The container engine: connecting to it, fetching the image, and removing containers whose owner is gone."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import InputError, MachineryError, MissingExtra

if TYPE_CHECKING:
    from docker import DockerClient

# The label that names a container's owner.
OWNER = "palaestra.owner"
# Time limit of any answer of the engine, seconds.
ENGINE_SECONDS = 60


def connect_engine() -> DockerClient:
    """Connect to the engine.

    Raises:
        MachineryError: no engine answers.
        MissingExtra: the package docker is not installed.
    """
    try:
        import docker
    except ImportError:
        raise MissingExtra("the sandbox backend 'docker'", "code") from None
    try:
        client = docker.from_env(timeout=ENGINE_SECONDS)
        client.ping()
    except (*engine_errors(), ValueError) as error:
        raise MachineryError(
            f"no container engine answers at {describe_host()}: {error}. Start Docker, or set DOCKER_HOST to an engine "
            "that runs, or choose the backend 'local'."
        ) from None
    return client


def describe_host() -> str:
    host = os.environ.get("DOCKER_HOST")
    return f"DOCKER_HOST={host}" if host else "its usual place (DOCKER_HOST is not set)"


def engine_errors() -> tuple[type[BaseException], ...]:
    """Return the exception types of a failing engine. Connection errors are all OSErrors."""
    from docker.errors import DockerException

    return DockerException, OSError, EOFError


def ensure_image(client: DockerClient, name: str) -> None:
    """Make the engine fetch the image, unless the engine has it.

    Raises:
        InputError: the image cannot be fetched, or declares volumes, which programs could write to.
    """
    from docker.errors import ImageNotFound

    try:
        try:
            image = client.images.get(name)
        except ImageNotFound:
            image = client.images.pull(name)
    except engine_errors() as error:
        raise InputError(
            f"the container engine does not have the image {name!r} and cannot fetch it ({error}); name one that it "
            "has, with python3, in the environment variable PALAESTRA_SANDBOX_IMAGE."
        ) from None
    if volumes := (image.attrs.get("Config") or {}).get("Volumes"):
        raise InputError(f"the image {name!r} declares volumes ({', '.join(volumes)}); choose one without.")


def remove_abandoned(client: DockerClient) -> None:
    """Remove the containers whose owner, a process of this machine, is gone."""
    place = owner().rpartition(" ")[0].rpartition(" ")[0]
    for found in client.containers.list(all=True, filters={"label": OWNER}, ignore_removed=True):
        there, process, begun = found.labels[OWNER].rsplit(" ", 2)
        if there == place and _start_time(int(process)) != begun:
            with contextlib.suppress(*engine_errors()):
                found.remove(force=True, v=True)


def owner() -> str:
    """Identify this process: the machine and its namespace of processes, the process id, and the start time."""
    return f"{_place()} {os.getpid()} {_start_time(os.getpid())}"


@functools.cache
def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _start_time(process: int) -> str:
    """Return the start time of a process, in a form that is the same at each call; "" if it does not exist."""
    if sys.platform == "linux":
        try:
            # The fields after the process's name, which is in parentheses and may hold any character.
            return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
        except OSError:
            return ""
    answer = subprocess.run(["ps", "-o", "lstart=", "-p", str(process)], capture_output=True, text=True, check=False)
    return "-".join(answer.stdout.split())
