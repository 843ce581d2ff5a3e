"""``palaestra bench``: runs the benchmarks beside the package, which a checkout has and a wheel has not."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

from ..errors import InputError


def main(argv: Sequence[str] | None = None) -> object:
    """Run one benchmark and return its exit code.

    Raises:
        InputError: this is an installed wheel.
    """
    benchmarks = find_benchmarks()
    if benchmarks is None:
        raise InputError(
            "benchmarks are in the checkout, not in the installed package; take the project's source and install it "
            "with pip install -e '.[train,grid,math]'."
        )
    return benchmarks.main(argv)


def find_benchmarks() -> ModuleType | None:
    """Find the package of the benchmarks; None if it was left out of the installation."""
    try:
        return importlib.import_module("..benchmarks", __package__)
    except ModuleNotFoundError as error:
        if error.name != f"{__name__.partition('.')[0]}.benchmarks":
            raise
        return None
