"""Programs run by the sandboxes of other projects: a file for `peer_server` that imports nothing of this package.

{"side": "gem bwrap", "program": "print(6 * 7)"}
{"stdout": "42\\n", "said": ""}
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import os
import sys
from collections.abc import Callable

Runner = Callable[[str], tuple[str, str]]


def gem(kind: str) -> Runner:
    """Return a runner by GEM's Python tool, whose sandboxes start the first ``python`` on the path."""
    run = importlib.import_module("gem.utils.sandbox").run_python
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    # GEM makes only this folder visible in its sandbox; a virtual environment only links to an interpreter elsewhere.
    sys.prefix = sys.base_prefix

    def runner(program: str) -> tuple[str, str]:
        _, stdout, said = run(program, kind)
        return stdout, said

    return runner


# Name -> (distribution, maker, the maker's argument, how a program is contained).
SIDES: dict[str, tuple[str, Callable[[str], Runner], str, str]] = {
    "gem none": ("gem-llm", gem, "none", "words that a program may not hold; the limit of time is 10 s"),
    "gem bwrap": ("gem-llm", gem, "bwrap", "namespaces; no limits but 10 s"),
}


def find_installed() -> dict[str, str]:
    """Return the sides whose package is installed here, with its version."""
    found = {}
    for name, (distribution, *_) in SIDES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = f"{distribution} {importlib.metadata.version(distribution)}"
    return found


@functools.cache
def make_runner(side: str) -> Runner:
    _, make, kind, _ = SIDES[side]
    return make(kind)


def answer(side: str, program: str) -> dict[str, str]:
    try:
        stdout, said = make_runner(side)(program)
    except Exception as error:
        stdout, said = "", f"{type(error).__name__}: {error}"
    return {"stdout": stdout, "said": said[-500:]}
