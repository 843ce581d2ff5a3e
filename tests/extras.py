"""Tests of what an extra brings are skipped where it is not installed. ``pytest.importorskip`` would load it in each
process that collects the tests: PEFT, TRL and Stable-Baselines3 take seconds each."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def needs(*modules: str) -> pytest.MarkDecorator:
    """A mark that skips tests where one of the modules is missing."""
    missing = [name for name in modules if find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
