"""The engines, and whether this machine has them."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.envs.sql.engines import SqlEngine, make_engine
from palaestra.errors import InputError, MissingExtra
from palaestra.rewards.verifiers.sql import Database

SHOP = Database(
    schema="""
    CREATE TABLE store (store_id INTEGER PRIMARY KEY, name TEXT NOT NULL, opened_on DATE);
    CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, store_id INTEGER REFERENCES store, price REAL, Reason TEXT);
    INSERT INTO store VALUES (1, 'West End', '2022-03-01'), (2, 'Old Mill', '2021-07-09'), (3, 'Harbour', NULL);
    INSERT INTO sale VALUES (1, 1, 2.5, NULL), (2, 1, 0.1, 'late'), (3, 2, 0.2, 'late'), (4, NULL, 7, 'worn');
    """
)

every_engine = pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres"])


def engine_or_skip(name: str) -> SqlEngine:
    """Make an engine; with CI=true a skip fails."""
    try:
        return make_engine(name)
    except (InputError, MissingExtra) as error:
        pytest.skip(f"the engine {name!r} is missing: {error}")


def env_or_skip(name: str, family: str = "TextToSQL", **options):
    """Make a family on an engine; SQLExplorer asks questions of TextToSQL, or of another family ``of``."""
    engine_or_skip(name)
    where = {"of_kwargs": {"engine": name}} if family == "SQLExplorer" else {"engine": name}
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, **where, **options).unwrapped
