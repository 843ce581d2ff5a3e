"""Write ``envs/registered.json`` and ``envs/adapters.json``, after an environment was added, renamed or moved.

usage: python -m palaestra.tools.update_registered
"""

from __future__ import annotations

import importlib
import json

from .. import envs
from ..agents.atomic import write_atomically
from ..envs.registration import ADAPTERS, TABLE, stated_by_modules


def read_modules(listed: bool = True) -> dict[str, str]:
    """Import all families, and return id -> "module:Class" of the environments that they register, those that are
    listed or the adapters."""
    for name in envs.FAMILIES:
        importlib.import_module(f"{envs.__name__}.{name}")
    return {key: place for key, place in stated_by_modules(listed).items() if key.startswith("palaestra/")}


if __name__ == "__main__":
    for table in (TABLE, ADAPTERS):
        write_atomically(table, json.dumps(read_modules(table is TABLE), indent=0) + "\n")
