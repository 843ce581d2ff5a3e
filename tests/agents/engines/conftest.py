"""The trials of the vLLM engines, which run in vLLM's own environment, each once, whichever test asks first."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from palaestra.agents.engines.ray_cluster import import_ray
from palaestra.agents.language.registered_models import MODELS

ROOT = Path(__file__).parents[3]
HOME = ROOT / ".venv-vllm"
TRIALS = ("vllm_trial", "vllm_server_trial")


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
def trials(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, vllm_python: Path
) -> Generator[Callable[[str], dict[str, Any]]]:
    """``trials(name)``: what a trial has seen. All that the tests ask for begin at once, as each waits a good deal."""
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    shared = tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    has_real = "real_models" in asked and MODELS["smollm2-135m"].installed
    words = {"vllm_trial": [str(request.getfixturevalue("real_models"))] if has_real else []}
    with ThreadPoolExecutor(len(TRIALS)) as pool:
        runs = {
            name: pool.submit(_try, shared, vllm_python, name, words.get(name, [])) for name in TRIALS if name in asked
        }
        yield lambda name: runs[name].result()


@pytest.fixture(scope="session")
def vllm_trial(trials: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What the trial of `vllm_trial.py` has seen."""
    return trials("vllm_trial")


@pytest.fixture(scope="session")
def vllm_server_trial(trials: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What the trial of `vllm_server_trial.py` has seen."""
    return trials("vllm_server_trial")


def _try(shared: Path, python: Path, name: str, words: Sequence[str]) -> dict[str, Any]:
    from filelock import FileLock

    folder = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not folder.exists():
            folder.mkdir()
            command = [str(python), str(Path(__file__).with_name(f"{name}.py")), str(folder), *words]
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
