"""The sandbox "docker": a warm container whose first process forks each run.

Needs a container engine, on this machine or at DOCKER_HOST, and the package ``docker``. A container has no network, a
read-only root, no capability, no way to gain privileges, a user that no other container has, and limits on memory,
processes, processor time and disk. `inside.container` describes how runs are kept apart in it.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from .docker_engine import OWNER, connect_engine, describe_host, engine_errors, ensure_image, owner, remove_abandoned
from .docker_stream import ContainerStream
from .inside.frames import CHANNELS, FOLDERS, OWN_BYTES, OWN_FILES, PACKAGES, PARTS, REQUEST
from .protocol import Call, Job, Limits, Result
from .seccomp import guard_of_the_first_process, system_call_filter
from .wire import decode_result, encode_job

if TYPE_CHECKING:
    from docker import DockerClient

IMAGE = "python:3-slim"
START_SECONDS = 60.0
# Time of a run beyond its own limit before its container is removed, seconds.
GRACE = 5.0
# Maximum containers of one sandbox: one for each of the last combinations of limits, modules and packages.
_KEPT = 3
# Memory of the first process beyond the run's memory, MiB.
_SUPERVISOR_MB = 32
_USERS = range(20_000, 60_000)
_MODULES = ("kernel", "frames", "program", "calls", "restrict", "run", "watch", "container")
_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "USER": "sandbox",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
# Reads the modules of the first process, so that any image with Python will do.
_BOOT = """
import json, os, sys, types
def take(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        data += part or sys.exit("nothing came")
    return data
sys.version_info >= (3, 10) or sys.exit("its Python is " + sys.version)
inside = sys.modules["inside"] = types.ModuleType("inside")
inside.__path__ = []
for name, text in json.loads(take(int(take(8)))):
    module = sys.modules["inside." + name] = types.ModuleType("inside." + name)
    module.__package__ = "inside"
    setattr(inside, name, module)
    exec(compile(text, "inside/" + name + ".py", "exec"), module.__dict__)
inside.container.main()
"""


class DockerSandbox:
    """Backend of warm containers of one image. A container serves runs with equal limits, modules and packages. It is
    started for the first of them, and replaced if a run leaves anything behind.

    Args:
        image: an image with python3 (3.10 or newer), fetched if the engine lacks it. The default is the image named by
            the environment variable PALAESTRA_SANDBOX_IMAGE, or python:3-slim.
        cpus: the processor cores that a container may use.

    Raises:
        InputError: no engine answers, or no program can be run in the image.
        MissingExtra: the package docker is not installed.
    """

    @classmethod
    def check(cls) -> None:
        """Raise MachineryError or MissingExtra where no engine answers."""
        connect_engine().close()

    def __init__(self, image: str | None = None, cpus: float = 1.0):
        self.image = image or os.environ.get("PALAESTRA_SANDBOX_IMAGE") or IMAGE
        self.cpus = cpus
        self._client = connect_engine()
        self._containers: dict[tuple[object, ...], Container] = {}
        try:
            ensure_image(self._client, self.image)
            remove_abandoned(self._client)
            self._container(Limits(), Job(""))
        except engine_errors() as error:
            self.close()
            raise InputError(f"the container engine at {describe_host()} refuses: {error}.") from None
        except BaseException:
            self.close()
            raise

    def run(self, job: Job, limits: Limits) -> Result:
        parts = encode_job(job)
        try:
            container = self._container(limits, job)
        except (*engine_errors(), InputError) as error:
            if job.packages and "bind source path" in str(error):
                raise InputError(
                    f"packages must be a folder on the machine of the container engine at {describe_host()}, not "
                    f"{job.packages!r}, which it does not have."
                ) from None
            return Result(reason="lost", valid=False, stderr="The container engine was lost.")
        ended = container.run(parts, limits, job.calls)
        if not container.clean:
            self._containers.pop(_container_key(limits, job)).remove()
        return ended

    @property
    def containers(self) -> list[str]:
        """The ids of the containers that exist."""
        return [container.id for container in self._containers.values()]

    def close(self) -> None:
        """Remove the containers."""
        while self._containers:
            self._containers.popitem()[1].remove()
        self._client.close()

    def _container(self, limits: Limits, job: Job) -> Container:
        """Return the container for these limits, modules and packages, and mark it as most recently used."""
        key = _container_key(limits, job)
        container = self._containers.pop(key, None) or Container(self._client, self.image, self.cpus, limits, job)
        self._containers[key] = container
        if len(self._containers) > _KEPT:
            self._containers.pop(next(iter(self._containers))).remove()
        return container


def _container_key(limits: Limits, job: Job) -> tuple[object, ...]:
    return limits.memory_mb, limits.processes, limits.files, limits.disk_mb, job.preload, job.packages


class Container:
    """A container with its first process ready.

    Raises:
        InputError: the container does not start.
    """

    def __init__(self, client: DockerClient, image: str, cpus: float, limits: Limits, job: Job):
        # False if the container cannot be reused.
        self.clean = True
        self._client = client
        self._container = client.containers.create(image, **_options(cpus, limits, job))
        self.id: str = self._container.id or ""
        attached = self._container.attach_socket(params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        self._stream = ContainerStream(attached)
        self._stream.deadline = time.monotonic() + START_SECONDS
        try:
            self._container.start()
            folder = Path(__file__).with_name("inside")
            modules = json.dumps([(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in _MODULES])
            self._stream.write(f"{len(modules):08}{modules}".encode())
            hello = json.loads(self._stream.report([], []))
            filters = guard_of_the_first_process(hello["machine"]), system_call_filter(hello["machine"])
            self._stream.write(REQUEST.pack(*map(len, filters), 0, 0, 0) + b"".join(filters))
        except (*engine_errors(), ValueError, KeyError, TypeError) as error:
            last = self._stream.errors.decode(errors="replace").strip().rpartition("\n")[2]
            self.remove()
            raise InputError(
                f"no program can be run in the image {image!r} ({last or error}); it must have python3, 3.10 or newer."
            ) from None

    def run(self, parts: Mapping[str, bytes], limits: Limits, calls: Sequence[Call]) -> Result:
        header = json.dumps({name: getattr(limits, name) for name in Limits.__slots__}).encode()
        sent = [header, *[parts[name] for name in PARTS]]
        begun = time.monotonic()
        self._stream.deadline = begun + limits.seconds + GRACE
        found = [bytearray() for _ in CHANNELS]
        try:
            self._stream.write(REQUEST.pack(*map(len, sent)) + b"".join(sent))
            report = json.loads(self._stream.report(found, [int(getattr(limits, name)) for name in CHANNELS]))
            self.clean = bool(report["clean"])
            return decode_result(report, *map(bytes, found), calls=calls)
        except TimeoutError:
            reason = "time"
        except (*engine_errors(), ValueError, KeyError, TypeError):
            reason = "memory" if self._was_killed_for_memory() else "lost"
        self.clean = False
        if not self.remove() or reason == "lost":
            return Result(reason="lost", valid=False, stderr="The container was lost.")
        # The number of answered calls is unknown.
        report = {"code": None, "reason": reason, "seconds": time.monotonic() - begun, "peak": 0}
        return decode_result(report, *map(bytes, found), calls=calls)

    def remove(self) -> bool:
        """Remove the container and end all its processes. Return False if the engine failed."""
        from docker.errors import APIError

        self._stream.close()
        try:
            self._container.remove(force=True, v=True)
        except APIError as error:
            # It is gone, or being removed.
            return error.status_code in (404, 409)
        except engine_errors():
            return False
        return True

    def _was_killed_for_memory(self) -> bool:
        """Return True if the kernel killed the first process for lack of memory, and thus all others."""
        try:
            # Past events are listed up to the present time of the engine's clock.
            now = datetime.fromisoformat(self._client.info()["SystemTime"]).timestamp()
            wanted = {"container": self.id, "event": "oom"}
            return any(True for _ in self._client.events(since=1, until=int(now) + 1, filters=wanted, decode=True))
        except (*engine_errors(), KeyError, ValueError):
            return False


def _options(cpus: float, limits: Limits, job: Job) -> dict[str, Any]:
    """Return the options with which a container is created."""
    from docker.types import LogConfig, Mount, Ulimit

    environment = {**_ENVIRONMENT, **({"PYTHONPATH": PACKAGES} if job.packages else {})}
    user = secrets.choice(_USERS)
    memory = math.ceil((limits.memory_mb + _SUPERVISOR_MB) * 2**20)
    size, files = math.ceil(limits.disk_mb * 2**20) + OWN_BYTES, int(limits.files) + 1 + OWN_FILES
    disk = f"mode=1777,size={size},nr_inodes={files}"
    return {
        "entrypoint": ["python3", "-s", "-B", "-c", _BOOT],
        "command": [*environment, "--", *job.preload],
        "environment": environment,
        "mounts": [Mount(PACKAGES, job.packages, "bind", read_only=True)] if job.packages else [],
        "labels": {OWNER: owner()},
        "stdin_open": True,
        "auto_remove": True,
        # It holds nothing to save when the engine is stopped.
        "stop_signal": "SIGKILL",
        "log_config": LogConfig(type="none"),
        "healthcheck": {"test": ["NONE"]},
        "hostname": "sandbox",
        "working_dir": "/",
        "user": f"{user}:{user}",
        "network_mode": "none",
        "read_only": True,
        "tmpfs": dict.fromkeys(FOLDERS, disk),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": int(limits.processes) + 1,
        "nano_cpus": int(cpus * 1e9),
        "oom_score_adj": 500,
        # The default stack of threads of programs.
        "ulimits": [Ulimit(name="stack", soft=2 << 20, hard=8 << 20), Ulimit(name="core", soft=1, hard=1)],
    }
