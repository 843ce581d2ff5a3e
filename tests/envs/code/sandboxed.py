"""What the tests of families whose answers are programs share."""

from __future__ import annotations

import shutil

import pytest
from palaestra.envs.sandbox import BACKENDS
from palaestra.errors import InputError

NONE = "none"
"""A backend that cannot be started, for tests that nothing is run."""


class NoSandbox:
    def __init__(self) -> None:
        raise InputError("the sandbox 'none' does not start.")


if NONE not in BACKENDS:
    BACKENDS.add(NONE, NoSandbox)  # type: ignore[arg-type]

needs_sandbox = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")

# Each must end with no reward, as a valid answer; {name} is the function that is asked for.
HOSTILE = {
    "runs for ever": "def {name}(*given):\n    while True:\n        pass",
    "ends at once": "import os\nos._exit(0)\ndef {name}(*given):\n    pass",
    "ends in the call": "import os\ndef {name}(*given):\n    os._exit(0)",
    "prints": "def {name}(*given):\n    print('All tests passed.')",
    "says that it is equal": "class Same:\n    def __eq__(self, other):\n        return True\n"
    "def {name}(*given):\n    return Same()",
    "raises": "def {name}(*given):\n    raise SystemExit(0)",
    "does not parse": "def {name}(*given:\n    return",
    "is too deep": "def {name}(*given):\n    return {name}(*given)",
}
