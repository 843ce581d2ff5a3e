"""Programs run by the sandboxes of other projects: a plain file that runs under whatever Python has the peer.

It imports nothing of this package. Reads one JSON request a line from standard input and answers with one line:

    {"side": "gem bwrap", "program": "print(6 * 7)"}
    {"stdout": "42\\n", "said": ""}
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable

Runner = Callable[[str], tuple[str, str]]


def gem(kind: str) -> Runner:
    """GEM's tool for Python. Its sandboxes start the ``python`` that comes first on the path."""
    run = importlib.import_module("gem.utils.sandbox").run_python
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    # GEM shows its sandbox this folder only. A virtual environment's holds links to an interpreter that lies elsewhere.
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
    """Sides whose package is installed here, with its version."""
    found = {}
    for name, (distribution, *_) in SIDES.items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = f"{distribution} {importlib.metadata.version(distribution)}"
    return found


def main() -> None:
    # Redirect prints of peers to standard error, so that they do not mix with the answers.
    out, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(find_installed()), file=out, flush=True)
    runners: dict[str, Runner] = {}
    for line in sys.stdin:
        request = json.loads(line)
        name = request["side"]
        try:
            if name not in runners:
                _, make, kind, _ = SIDES[name]
                runners[name] = make(kind)
            stdout, said = runners[name](request["program"])
        except Exception as error:
            stdout, said = "", f"{type(error).__name__}: {error}"
        print(json.dumps({"stdout": stdout, "said": said[-500:]}), file=out, flush=True)


if __name__ == "__main__":
    main()
