"""The trials of the vLLM engines, which run in vLLM's own environment, each once, whichever test asks first."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.engines.ray_cluster import import_ray

ROOT = Path(__file__).parents[3]
HOME = ROOT / ".venv-vllm"


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    """The Python of the environment with vLLM; waits while it is being made."""
    if HOME.is_dir():
        with (HOME / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
    if not (HOME / "installed").is_file():
        pytest.skip("vLLM is not installed beside the checkout: bash scripts/vllm.sh")
    return HOME / "bin" / "python"


@pytest.fixture(scope="session")
def vllm_trial(tmp_path_factory: pytest.TempPathFactory, vllm_python: Path) -> dict[str, Any]:
    """What the trial of `vllm_trial.py` has seen."""
    return _try(tmp_path_factory, vllm_python, "vllm_trial")


@pytest.fixture(scope="session")
def vllm_server_trial(tmp_path_factory: pytest.TempPathFactory, vllm_python: Path) -> dict[str, Any]:
    """What the trial of `vllm_server_trial.py` has seen."""
    return _try(tmp_path_factory, vllm_python, "vllm_server_trial")


def _try(tmp_path_factory: pytest.TempPathFactory, python: Path, name: str) -> dict[str, Any]:
    from filelock import FileLock

    alone = "PYTEST_XDIST_WORKER" not in os.environ
    shared = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent
    folder = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not folder.exists():
            folder.mkdir()
            command = ["nice", str(python), str(Path(__file__).with_name(f"{name}.py")), str(folder)]
            with (folder / "output").open("w") as output:
                subprocess.run(command, stdout=output, stderr=output, timeout=1200, check=False)
    seen = folder / "seen.json"
    assert seen.is_file(), (folder / "output").read_text()[-4000:]
    found = json.loads(seen.read_text())
    assert "error" not in found, found["error"]
    return found


@pytest.fixture(scope="session")
def ray_nodes() -> Generator[Any]:
    """A Ray cluster, a `ray.cluster_utils.Cluster`, whose head node has no room for workers; tests add nodes."""
    import_ray()
    from ray.cluster_utils import Cluster

    folder = os.environ["RAY_TMPDIR"] = tempfile.mkdtemp(prefix="ray-")
    (Path(folder) / "ray").mkdir()
    node = {"num_cpus": 0, "object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    yield cluster
    cluster.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
