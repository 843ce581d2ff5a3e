"""The server of PostgreSQL: private, shared by forks, stopped with its users; or one that the user names."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from palaestra.envs.sql.engines import make_engine, postgres_server
from palaestra.envs.sql.engines.postgres_engine import PostgresEngine
from palaestra.errors import InputError

from .engines import SHOP, engine_or_skip

QUERY = "SELECT COUNT(*) FROM sale"


@pytest.fixture
def server():
    """How to connect to the server of this process."""
    pytest.importorskip("psycopg")
    engine_or_skip("postgres").load(SHOP).query(QUERY)
    return os.environ[postgres_server.VARIABLE]


def ask(server: str, query: str):
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        return connection.execute(query).fetchall()


def databases(server: str) -> set[str]:
    return {name for (name,) in ask(server, "SELECT datname FROM pg_database WHERE datname LIKE 'palaestra_%'")}


def test_no_other_user_can_reach_a_private_server(server: str):
    folder = Path(server.split()[0].removeprefix("host="))
    assert folder.stat().st_mode & 0o077 == 0
    assert ask(server, "SHOW listen_addresses") == [("",)]


def test_a_process_drops_what_it_made_on_a_server_of_the_users(server: str):
    before = databases(server), ask(server, "SELECT rolname FROM pg_roles ORDER BY 1")
    code = (
        "from palaestra.envs.sql.engines import make_engine\n"
        "from palaestra.rewards.verifiers.sql import Database\n"
        "made = make_engine('postgres').load(Database(schema='CREATE TABLE x (a INTEGER); INSERT INTO x VALUES (7)'))\n"
        "print(made.query('SELECT a FROM x').rows, made.query('SELECT current_user').rows)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("((7,),) (('palaestra_")
    assert (databases(server), ask(server, "SELECT rolname FROM pg_roles ORDER BY 1")) == before


def test_a_forked_child_has_connections_of_its_own(server: str):
    mine = make_engine("postgres").load(SHOP)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        rows = mine.query("SELECT current_database()").rows
        os.write(writing, repr(rows).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    assert "palaestra_" in told
    assert repr(mine.query("SELECT current_database()").rows) != told


def test_a_lost_connection_is_made_anew(server: str):
    database = make_engine("postgres").load(SHOP)
    before = databases(server)
    ask(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'palaestra_%'")
    assert database.query(QUERY).rows == ((4,),)
    assert len(databases(server) - before) == len(before - databases(server)) == 1


def test_a_private_server_ends_when_its_process_is_killed(server: str):
    code = (
        "import sys, time\n"
        "from palaestra.envs.sql.engines.postgres_server import find_server\n"
        "print(find_server(), flush=True)\n"
        "time.sleep(600)"
    )
    environment = {name: value for name, value in os.environ.items() if name != postgres_server.VARIABLE}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().split()[0].removeprefix("host="))
    assert (folder / "data" / "postmaster.pid").exists()
    process.kill()
    process.wait()
    process.stdout.close()
    until = time.monotonic() + 60
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not folder.exists()


def test_what_is_missing_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("psycopg")
    monkeypatch.setenv(postgres_server.VARIABLE, "")
    monkeypatch.setattr(postgres_server, "find_programs", lambda: None)
    with pytest.raises(InputError, match=r"postgres.*package postgresql.*PALAESTRA_POSTGRES"):
        PostgresEngine()


def test_a_server_that_does_not_answer_gives_no_verdict(monkeypatch: pytest.MonkeyPatch):
    from palaestra.envs.sql.engines import ENGINES, grade_query

    pytest.importorskip("psycopg")
    monkeypatch.setenv(postgres_server.VARIABLE, "host=/nowhere user=nobody connect_timeout=2")
    ENGINES.add("lost postgres", PostgresEngine)
    try:
        verdict = grade_query(QUERY, [(SHOP, ((4,),))], ordered=False, engine="lost postgres")
    finally:
        del ENGINES._entries["lost postgres"]
        make_engine.cache_clear()
    assert (verdict.valid, verdict.success) == (False, False)
    assert "does not work" in verdict.feedback
