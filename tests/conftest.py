"""What holds for every test: in continuous integration nothing is skipped, so that a missing component is seen."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def _refuse_skip(report: Any) -> Any:
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"with CI=true nothing may be skipped. {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _refuse_skip((yield))
