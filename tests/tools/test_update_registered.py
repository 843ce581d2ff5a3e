"""The table of ids, which stands for imports of all families."""

from __future__ import annotations

import json
import subprocess
import sys

from palaestra.envs.registration import ADAPTERS, TABLE
from palaestra.tools.update_registered import read_modules


def test_the_table_has_the_ids_that_the_modules_register():
    assert json.loads(TABLE.read_text("utf-8")) == read_modules()
    assert json.loads(ADAPTERS.read_text("utf-8")) == read_modules(listed=False)


def test_families_are_imported_when_they_are_made():
    program = """
import sys, palaestra, gymnasium
families = ("palaestra.envs.math", "palaestra.envs.sql", "palaestra.rewards.verifiers")
assert not set(families) & set(sys.modules), sorted(sys.modules)
gymnasium.make("palaestra/Arithmetic-v0").reset(seed=0)
assert "palaestra.envs.math" in sys.modules
assert "palaestra.envs.sql" not in sys.modules
assert {"Game", "sql"} <= set(dir(palaestra.envs)) and {"teachers", "evaluate"} <= set(dir(palaestra))
assert "palaestra/WebArena-v0" in gymnasium.registry and "palaestra/WebArena-v0" not in palaestra.envs.ids()
assert palaestra.envs.Game and palaestra.envs.sql and palaestra.teachers.make
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
