"""What holds for every test: one that runs programs is skipped where nothing can contain them, and in continuous
integration nothing is skipped, so that a missing component is seen."""

from __future__ import annotations

import functools
import gc
import hashlib
import os
import pickle
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from . import left_behind, quick_run, together

os.environ.setdefault("HF_HUB_OFFLINE", "1")
# The same examples in each run, and as much time for each as a busy machine takes.
hypothesis.settings.register_profile(
    "repeatable", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("repeatable")
pytest.register_assert_rewrite("palaestra.envs.testing")  # before any test file imports it

_ENVIRONMENTS = {".venv-peers": "test_peer_", ".venv-vllm": "test_vllm_"}
"""Folder of an environment that a script makes -> how the names of the test files that need it begin."""
_MADE = "PALAESTRA_TEST_ENVIRONMENTS"


def pytest_addoption(parser: pytest.Parser) -> None:
    quick_run.add_options(parser)
    together.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(left_behind)
    config.pluginmanager.register(quick_run)
    config.pluginmanager.register(together)
    # Nothing that tests write has to outlive a loss of power. A disk takes milliseconds for each file that it must
    # keep, and the runs of the tests save tens of thousands; that they ask for it is tested where they do.
    os.fsync = lambda descriptor: None
    # Looked up once, as the processes of a run must agree on the order of its tests.
    made = [name for name in _ENVIRONMENTS if (Path(__file__).parents[1] / name / "installed").is_file()]
    os.environ.setdefault(_MADE, " ".join(made))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Tests in other environments wait for a few long trials: they come first, while there is other work for the second
    # process, or last where their environment may be in the making.
    for name, start in _ENVIRONMENTS.items():
        made = name in os.environ[_MADE].split()
        items.sort(key=lambda item, start=start, made=made: item.path.name.startswith(start) != made)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    # The tests themselves are a million objects that stay. To look for garbage while they are made takes a seventh of
    # the time of that, and to look among them later a tenth of all. What is garbage by then stays, some megabytes.
    # To look after every 700 new objects, as is usual, takes a fortieth of the time of the tests that train.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


def pytest_unconfigure() -> None:
    # What is left are the tests themselves; collections of garbage at the end would go through them for seconds.
    gc.freeze()


def _refuse_skip(report: Any) -> Any:
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"with CI=true nothing may be skipped. {reason}"
    return report


def _skip_without_sandbox(report: Any, call: Any) -> Any:
    if not report.failed or call.excinfo is None:
        return report
    if together.lacks_sandbox(f"{call.excinfo.value} {report.capstderr}"):
        file, line, _ = report.location
        report.outcome, report.longrepr = "skipped", (file, line or 0, f"Skipped: {together.WITHOUT_SANDBOX}")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: Any) -> Generator[None, Any, Any]:
    return _refuse_skip(_skip_without_sandbox((yield), call))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    report = yield
    if report.failed and together.lacks_sandbox(str(report.longrepr)):
        # A module whose families are made as it is imported.
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, f"Skipped: {together.WITHOUT_SANDBOX}")
    return _refuse_skip(report)


@pytest.fixture(scope="session")
def small() -> Any:
    """A LanguageModel with 2 layers of width 32: everything that the tiny model has, in a twentieth of the time."""
    from palaestra.agents.language.model import LanguageModel
    from palaestra.agents.language.tiny import TinyShape, tiny_model

    shape = TinyShape(hidden=32, layers=2, heads=4, kv_heads=2, head_dim=8, intermediate=48, context=512)
    return LanguageModel.of(*tiny_model(3, shape))


@pytest.fixture(scope="session")
def real_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PALAESTRA_CACHE in which smollm2-135m is converted, by whichever process of pytest-xdist asks first;
    skipped where its package is not installed."""
    from palaestra.agents.language.model_cache import find_model
    from palaestra.agents.language.registered_models import MODELS

    if not MODELS["smollm2-135m"].installed:
        pytest.skip(f"smollm2-135m is not installed: {MODELS['smollm2-135m'].install}")
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    cache = (tmp_path_factory.getbasetemp() if alone else tmp_path_factory.getbasetemp().parent) / "real-models"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALAESTRA_CACHE", str(cache))
        find_model("smollm2-135m")
    return cache


@pytest.fixture(scope="session")
def step(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """``step(line, **options)``: what `one_step.take_step` says of a line, in which {trained}, {untrained} and
    {reward.safetensors} stand for saved models; each line is run once, whichever process of pytest-xdist asks first."""
    from filelock import FileLock

    from .one_step import save_models, take_step

    alone = "PYTEST_XDIST_WORKER" not in os.environ
    shared = tmp_path_factory.getbasetemp() / "steps" if alone else tmp_path_factory.getbasetemp().parent / "steps"
    shared.mkdir(exist_ok=True)
    with FileLock(shared / "models.lock"):
        folder = shared / "models"
        if not folder.exists():
            save_models(shared / "unfinished")
            (shared / "unfinished").rename(folder)

    @functools.cache
    def run(line: str, **options: Any) -> Any:
        name = hashlib.sha256(repr((line, options)).encode()).hexdigest()
        kept = shared / f"{name}.pickle"
        with FileLock(shared / f"{name}.lock"):
            if not kept.exists():
                outcome = take_step(tmp_path_factory.mktemp("step") / "run", fill_in(line), **options)
                kept.write_bytes(pickle.dumps(outcome))
            return pickle.loads(kept.read_bytes())

    def fill_in(line: str) -> str:
        for name in ("trained", "untrained", "reward.safetensors"):
            line = line.replace(f"{{{name}}}", str(folder / name))
        return line

    return run
