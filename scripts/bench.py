"""``palaestra bench``: run a benchmark. Benchmarks are part of a checkout, but not of an installed wheel."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

from ..errors import InputError


def main(argv: Sequence[str] | None = None) -> object:
    """Run one benchmark and return its exit code.

    Raises:
        InputError: the package is an installed wheel, which has no benchmarks.
    """
    benchmarks = find_benchmarks()
    if benchmarks is None:
        raise InputError(
            "benchmarks are in the checkout, not in the installed package; take the project's source and install it "
            "with pip install -e '.[train,grid,math]'."
        )
    return benchmarks.main(argv)


def find_benchmarks() -> ModuleType | None:
    """Import and return the package of benchmarks; None if it is not installed."""
    try:
        return importlib.import_module("..benchmarks", __package__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__.partition('.')[0]}.benchmarks":
            raise
        return None
