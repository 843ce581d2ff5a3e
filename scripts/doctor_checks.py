"""Checks of ``palaestra doctor``: each check runs a component through the code of this package that uses it.

A check is a function without arguments that returns a description of the component, and raises if the component is
missing or fails. Run as a module with the name of a check as argument, this file does the check and prints the outcome
as JSON; a check that hangs or crashes then affects nothing else.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agents.language.model_cache import converted_folder, find_reader, is_converted
from ..agents.language.registered_models import MODELS
from ..errors import InputError, MissingExtra


@dataclass(frozen=True)
class MachineCheck:
    """Check for one component of this machine.

    Attributes:
        group: heading in the list.
        needed_for: features that do not work without the component.
        add: command that installs the component.
        run: returns a description of the component; raises an exception with the reason if it is absent or fails.
        quick: True if the check only reads numbers and names, and needs no separate process.
    """

    group: str
    needed_for: str
    add: str
    run: Callable[[], str]
    quick: bool = False


CORE = "core"


def find_checks() -> dict[str, MachineCheck]:
    """Return all checks by name, those of the group "core" first."""
    models = {f"model {name}": _check_of_model(name) for name in MODELS}
    return {**_CHECKS, **models, **{f"extra {name}": _check_of_extra(name) for name in find_extras()}}


def find_extras() -> dict[str, list[str]]:
    """Return the extras of the installed package: name -> names of the distributions that it installs."""
    found: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("palaestra") or ():
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == \"([\w-]+)\"", requirement)
        if name and extra and extra[1] != "dev" and name[0] != "palaestra":
            found.setdefault(extra[1], []).append(name[0])
    return found


def _check_python() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {cores} cores"


def _check_environment() -> str:
    import gymnasium as gym

    from .. import envs

    env: Any = gym.make("palaestra/Arithmetic-v0", disable_env_checker=True)
    env.reset(seed=0)
    info = env.step(env.unwrapped.oracle())[4]
    env.close()
    if not info["is_success"]:
        raise InputError("the solver of palaestra/Arithmetic-v0 does not succeed.")
    return f"{len(envs.ids())} environments; one was solved (gymnasium {gym.__version__})"


def _check_torch() -> str:
    import torch

    names = ["cpu"]
    if torch.cuda.is_available():
        for number in range(torch.cuda.device_count()):
            size = torch.cuda.get_device_properties(number).total_memory / 2**30
            names.append(f"cuda:{number} ({torch.cuda.get_device_name(number)}, {size:.0f} GiB)")
    if torch.backends.mps.is_available():
        names.append("mps")
    for name in names:
        ones = torch.ones(8, 8, device=name.partition(" ")[0])
        if (ones @ ones).sum().item() != 512:
            raise InputError(f"a product of matrices on {name} is wrong.")
    return f"torch {torch.__version__} on {', '.join(names)}"


def _check_transformers() -> str:
    import transformers

    from ..agents.language.tiny import tiny_model

    model, _ = tiny_model(seed=0)
    return f"transformers {transformers.__version__}; a model of {model.num_parameters():,} parameters was made"


def _check_sandbox() -> str:
    from ..envs.sandbox import run

    return f"{_run_program(run, 'local')} under bubblewrap"


def _run_program(run: Callable[..., Any], backend: str) -> str:
    result = run("print(6 * 7)", backend=backend)
    if result.stdout.strip() != "42":
        raise InputError(f"a program ended with {result.reason!r}: {(result.stderr or 'no output').strip()[-300:]}")
    return f"a program was run in {1000 * result.seconds:.0f} ms"


def _check_docker() -> str:
    from ..envs.sandbox import run
    from ..envs.sandbox.docker import IMAGE
    from ..envs.sandbox.docker_engine import connect_engine

    client = connect_engine()
    version = f"Docker {client.version().get('Version', '')}"
    image = os.environ.get("PALAESTRA_SANDBOX_IMAGE") or IMAGE
    if not client.images.list(name=image):
        return f"{version}; the image {image} is fetched on first use"
    return f"{version}; {_run_program(run, 'docker')} in {image}"


def _check_database(engine: str) -> str:
    from ..envs.sql.engines import QueryLimits, make_engine
    from ..rewards.verifiers.sql import Database

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.sqlite"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (41);")
        loaded = make_engine(engine).load(Database(path=str(path)))
        rows = loaded.query("SELECT number + 1 FROM numbers", QueryLimits(seconds=10.0)).rows
        loaded.close()
    if [tuple(row) for row in rows] != [(42,)]:
        raise InputError(f"a query gave {rows!r} instead of 42.")
    return "a query was answered"


def _check_chromium() -> str:
    import gymnasium as gym

    from ..envs.web.browsers.chromium_engine import engine, find_chromium

    env: Any = gym.make("palaestra/Shop-v0", backend="chromium", disable_env_checker=True)
    env.reset(seed=0)
    version = engine().chromium.version
    env.close()
    return f"Chromium {version} ({find_chromium()}) showed a page"


def _check_memory() -> str:
    # Windows has neither number, macOS not that of free pages.
    sysconf = getattr(os, "sysconf", None)
    if sysconf is None:
        return "not measured on this system"
    page = sysconf("SC_PAGE_SIZE") / 2**30
    total = free = page * sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(ValueError):
        free = page * sysconf("SC_AVPHYS_PAGES")
    with contextlib.suppress(OSError):
        found = dict(re.findall(r"^(\w+): +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE))
        free = int(found["MemAvailable"]) / 2**20
    # A control group may allow less than the machine has.
    with contextlib.suppress(OSError, ValueError):
        bound = int(Path("/sys/fs/cgroup/memory.max").read_text()) / 2**30
        used = int(Path("/sys/fs/cgroup/memory.current").read_text()) / 2**30
        total, free = min(total, bound), min(free, max(0.0, bound - used))
    _check_size("memory", free, 1.0)
    return f"{free:.1f} of {total:.1f} GiB free"


def _check_disk() -> str:
    places = {name: shutil.disk_usage(name).free / 2**30 for name in (os.getcwd(), tempfile.gettempdir())}
    for name, free in places.items():
        _check_size(name, free, 1.0)
    return ", ".join(f"{free:.1f} GiB free in {name}" for name, free in places.items())


def _check_shared_memory() -> str:
    if not os.path.isdir("/dev/shm"):
        return "this system has no /dev/shm"
    free = shutil.disk_usage("/dev/shm").free / 2**30
    _check_size("/dev/shm", free, 0.25)
    return f"{free:.1f} GiB free in /dev/shm"


def _check_size(what: str, free: float, least: float) -> None:
    if free < least:
        raise InputError(f"only {free:.2f} GiB are free ({what}); {least:g} are advised.")


def _check_ray() -> str:
    from ..agents.engines.ray_cluster import LOCAL, Cluster

    cluster = Cluster(LOCAL)
    try:
        if cluster.ray.get(cluster.ray.remote(lambda: 1 + 2).remote(), timeout=60) != 3:
            raise InputError("a task in a Ray cluster on this machine returned something else.")
        return f"ray {cluster.ray.__version__}; a task ran in a cluster on this machine"
    finally:
        cluster.close()


def _check_of_model(name: str) -> MachineCheck:
    model = MODELS[name]

    def run() -> str:
        folder = converted_folder(name, model.sha256)
        if model.sha256 and is_converted(folder):
            return f"{model.parameters:,} parameters, in {folder}"
        if not model.installed:
            raise InputError("not installed.")
        find_reader()
        return f"{model.parameters:,} parameters; converted on first use"

    return MachineCheck("models", f"--model {name}", model.install, run, quick=True)


def _check_of_extra(extra: str) -> MachineCheck:
    def run() -> str:
        found, absent = [], []
        for name in find_extras()[extra]:
            try:
                found.append(f"{name} {importlib.metadata.version(name)}")
            except importlib.metadata.PackageNotFoundError:
                absent.append(name)
        if absent:
            raise InputError(f"not installed: {', '.join(absent)}.")
        return ", ".join(found)

    return MachineCheck("extras", _EXTRAS.get(extra, f"what needs [{extra}]"), _pip(extra), run, quick=True)


_EXTRAS = {
    "grid": "pictures of gridworlds",
    "wfc": "the levels of MiniGrid's ids MiniGrid-WFC-...",
    "box2d": "the walker of StumpTracks-v0",
    "render": "pictures of boards in replays and the gallery",
    "reasoning-gym": "the tasks of reasoning-gym as an environment",
    "datasets": "data sets of the hub and parquet files",
    "math": "MATH-v0 and answers that are formulas",
    "json": "answers that follow a JSON schema",
    "chat": "agents and judges behind an endpoint (--agent openai:MODEL)",
    "judge": "the same as [chat], whose former name it is",
    "sql": "queries on DuckDB and PostgreSQL, and partial rewards of queries",
    "code": "the sandbox backend 'docker'",
    "web": "tasks on web sites, and search in the encyclopaedia",
    "miniwob": "the pages of MiniWoB++",
    "train": "palaestra train, --agent FOLDER or a hub id, and reports",
    "lora": "training adapters (--lora)",
    "gguf": "models from GGUF files (--model FILE.gguf)",
    "gemma3": "the model gemma3-270m",
    "pettingzoo": "both seats of games (palaestra.integrations.pettingzoo)",
    "ppo": "Stable-Baselines3, beside our PPO and under a teacher (palaestra.integrations.sb3)",
    "serve": "palaestra serve, and environments behind an OpenEnv server",
    "mcp": "palaestra mcp, and tools of MCP servers (palaestra/ToolUse-v0 with mcp=)",
    "trl": "tasks in TRL's trainer (palaestra.integrations.trl)",
    "inspect": "tasks in Inspect (inspect eval palaestra/NAME)",
    "verifiers": "tasks in verifiers and prime-rl (vf-eval palaestra_vf), in an environment of its own",
    "lm-eval": "tasks in lm-evaluation-harness (palaestra dataset --lm-eval)",
    "browsergym": "web tasks for BrowserGym's agents (palaestra.integrations.browsergym_tasks)",
    "rllib": "RLlib's algorithms under a teacher (palaestra.integrations.rllib)",
    "textarena": "games of TextArena (palaestra/TextArena-v0), and tasks in it",
    "gem": "games of GEM (palaestra/GEM-v0), and tasks in it",
    "vllm": "--engine vllm and --engine vllm-server, in an environment of its own",
    "ray": "rollout workers on several machines (--ray)",
    "wandb": "a run's curves in Weights & Biases (--track wandb)",
}


def _pip(extra: str) -> str:
    return f"pip install 'palaestra[{extra}]'"


_DEBIAN = "apt-get install"
_ADD_DOCKER = "systemctl start docker" if shutil.which("dockerd") else f"{_DEBIAN} docker.io"
_CHECKS: dict[str, MachineCheck] = {
    "python": MachineCheck(CORE, "everything", "install Python 3.11 or newer", _check_python, True),
    "environments": MachineCheck(CORE, "everything", "pip install --force-reinstall palaestra", _check_environment),
    "torch": MachineCheck("training", _EXTRAS["train"], _pip("train"), _check_torch),
    "transformers": MachineCheck("training", _EXTRAS["train"], _pip("train"), _check_transformers),
    "bubblewrap": MachineCheck("programs", "environments that run programs", f"{_DEBIAN} bubblewrap", _check_sandbox),
    "docker": MachineCheck("programs", _EXTRAS["code"], _ADD_DOCKER, _check_docker),
    "sqlite": MachineCheck("databases", "SQL tasks", "apt-get install libsqlite3-0", lambda: _check_database("sqlite")),
    "duckdb": MachineCheck("databases", "the engine 'duckdb'", _pip("sql"), lambda: _check_database("duckdb")),
    "postgres": MachineCheck(
        "databases", "the engine 'postgres'", f"{_DEBIAN} postgresql", lambda: _check_database("postgres")
    ),
    "chromium": MachineCheck("web", "web tasks with backend='chromium'", f"{_DEBIAN} chromium", _check_chromium),
    "ray": MachineCheck("several machines", _EXTRAS["ray"], _pip("ray"), _check_ray),
    "memory": MachineCheck("machine", "training and concurrent episodes", "end other programs", _check_memory, True),
    "disk": MachineCheck("machine", "checkpoints and logs", "delete what is not needed", _check_disk, True),
    "shared memory": MachineCheck(
        "machine", "AsyncVectorEnv and workers", "mount -o remount,size=1G /dev/shm", _check_shared_memory, True
    ),
}


def run_check(name: str) -> dict[str, str]:
    """Run one check in this process. Return its ``state`` ("ok", "missing" or "failed"), the component ``found`` or the
    reason of the failure, and the command that would ``add`` the component ("" if it is present)."""
    check = find_checks()[name]
    try:
        return {"state": "ok", "found": check.run(), "add": ""}
    except MissingExtra as error:
        return {"state": "missing", "found": _line(error), "add": _pip(str(error.name))}
    except (ImportError, InputError) as error:
        return {"state": "missing", "found": _line(error), "add": check.add}
    except Exception as error:
        return {"state": "failed", "found": f"{type(error).__name__}: {_line(error)}", "add": check.add}


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


if __name__ == "__main__":
    # Standard output is for the outcome alone: what libraries print goes to standard error.
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)
        print(json.dumps(run_check(sys.argv[1])), file=output)
