"""Statements of scripts that no engine may carry out. In each, {t} stands for a table.

`HOSTILE` is refused with an error, whether or not definitions are allowed; `DEFINING` where they are not.
"""

from __future__ import annotations

from .hostile import OTHERS, SETTINGS

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"

DEFINING = [
    *(
        "DROP TABLE {t}",
        "DROP TABLE IF EXISTS {t} CASCADE",
        "ALTER TABLE {t} RENAME TO x",
        "CREATE TABLE x (a INTEGER)",
    ),
    *("CREATE VIEW v AS SELECT 1 AS a", "CREATE INDEX i ON {t} (rowid)", "CREATE TABLE x AS SELECT 1 AS a"),
    "DELETE FROM {t} WHERE 1 = 0; DROP TABLE {t}",
    "DELETE FROM {t} WHERE 1 = 0; ALTER TABLE {t} ADD COLUMN x TEXT",
]
DEFINERS = [
    *("CREATE TRIGGER a AFTER INSERT ON {t} BEGIN DELETE FROM {t}; END", "CREATE TEMP TABLE x AS SELECT 1 AS a"),
    "CREATE TRIGGER a AFTER INSERT ON {t} FOR EACH ROW EXECUTE FUNCTION f()",
    *("CREATE VIRTUAL TABLE x USING fts5(a)", "CREATE TEMPORARY VIEW v AS SELECT 1", "CREATE SCHEMA x"),
    "CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
    *("CREATE MACRO f(a) AS a + 1", "CREATE SEQUENCE x"),
    *("CREATE ROLE x SUPERUSER", "CREATE DATABASE x", "CREATE EXTENSION dblink", "CREATE TYPE x AS ENUM ('a')"),
    *(
        "CREATE RULE r AS ON INSERT TO {t} DO INSTEAD NOTHING",
        "CREATE UNLOGGED TABLE x (a INTEGER)",
        "DROP SCHEMA public",
    ),
    *(
        "CREATE TABLE pg_catalog.x (a INTEGER)",
        "CREATE TABLE memory.main.x (a INTEGER)",
        "CREATE TABLE temp.x (a INTEGER)",
    ),
    *("CREATE TABLE public.x (a INTEGER)", "DROP OWNED BY CURRENT_USER", "ALTER ROLE CURRENT_USER SUPERUSER"),
    *("ALTER DATABASE main RENAME TO x", "ALTER SYSTEM SET fsync = off"),
    *("TRUNCATE {t}", "GRANT ALL ON {t} TO PUBLIC"),
    *(
        "DO $$ BEGIN DELETE FROM {t}; COMMIT; END $$",
        "CALL f()",
        "LOCK TABLE {t}",
        "SELECT 1",
        "VALUES (1)",
        "TABLE {t}",
    ),
]
TRANSACTIONS = [
    *("COMMIT", "BEGIN; DELETE FROM {t} WHERE 1 = 0; COMMIT", "DELETE FROM {t} WHERE 1 = 0; ROLLBACK", "SAVEPOINT x"),
    *(
        "RELEASE probe",
        "END",
        "DELETE FROM {t} WHERE 1 = 0; COMMIT; BEGIN",
        "START TRANSACTION",
        "SET CONSTRAINTS ALL DEFERRED",
    ),
    *(
        "ROLLBACK TO probe",
        "ABORT",
        "PREPARE TRANSACTION 'x'",
        "/* */ COMMIT",
        "-- x\n COMMIT",
        "(COMMIT)",
        "WITH x AS (SELECT 1) COMMIT",
    ),
]
HIDDEN = [
    *(
        "DELETE FROM {t} WHERE '\\'; VACUUM; --'",
        "DELETE FROM sqlite_master",
        "UPDATE sqlite_master SET sql = 'x'",
    ),
    *(
        "INSERT INTO sqlite_master VALUES ('table', 'x', 'x', 0, 'x')",
        "DELETE FROM pg_authid",
        "UPDATE pg_class SET relname = 'x'",
    ),
    "UPDATE pg_settings SET setting = '0' WHERE name = 'statement_timeout'",
    "DELETE FROM information_schema.tables",
    *("DELETE FROM {t} WHERE load_extension('x')", "DELETE FROM {t} WHERE pg_sleep(9) IS NULL", "DELETE FROM x.y"),
    *(
        "DELETE FROM {t} WHERE set_config('role', 'postgres', false) = 'x'",
        "DELETE FROM {t} WHERE readfile('/etc/passwd') = 1",
    ),
    *(
        "DELETE FROM {t} WHERE writefile('canary.db', 'x') = 1",
        "DELETE FROM {t} WHERE pg_read_file('/etc/passwd') = ''",
    ),
    *(
        "DELETE FROM {t} WHERE EXISTS (SELECT * FROM read_text('/etc/passwd'))",
        "DELETE FROM {t} WHERE nextval('x') = 1",
    ),
    *(
        "DELETE FROM {t} RETURNING *",
        "DELETE FROM {t}\0",
        "DELETE FROM {t} WHERE ?",
        "DELETE FROM {t} WHERE $1",
        "EXPLAIN DELETE FROM {t}",
    ),
    *(
        "DELETE FROM {t} WHERE query_to_xml('DROP TABLE {t}', true, true, '') IS NULL",
        "COPY {t} FROM PROGRAM 'touch canary.db'",
    ),
    *(
        "DELETE FROM {t} WHERE getenv('HOME') = ''",
        "",
        ";",
        "-- nothing",
        "nonsense",
        "DELETE FROM",
        "UPDATE {t} SET no_such = 1",
    ),
]
COSTLY = [
    f"INSERT INTO {{t}} {COUNT} SELECT i FROM n",
    f"DELETE FROM {{t}} WHERE ({COUNT} SELECT MAX(i) FROM n) = 1",
    f"UPDATE {{t}} SET rowid = ({COUNT} SELECT MAX(i) FROM n)",
    "DELETE FROM {t} WHERE EXISTS (SELECT COUNT(*) FROM "
    + ", ".join(f"{{t}} AS a{n}" for n in range(40))
    + " HAVING COUNT(*) < 9)",
    *(
        "DELETE FROM {t} WHERE length(randomblob(1000000000)) = 1",
        "DELETE FROM {t} WHERE printf('%.*c', 2000000000, 'x') = 'y'",
    ),
    "DELETE FROM {t} WHERE length(repeat('x', 1000000000)) = 1",
    "DELETE FROM {t} WHERE (SELECT COUNT(*) FROM generate_series(1, 100000000000)) = 1",
    "; ".join(["DELETE FROM {t} WHERE 1 = 0"] * 300),
    "DELETE FROM {t} WHERE 1 IN (" + "1," * 20000 + "1)",
]
FILLING = [
    f"INSERT INTO {{into}} {COUNT} SELECT {{values}} FROM n LIMIT 100000000",
    f"INSERT INTO {{into}} {COUNT} SELECT {{values}} FROM n",
]
"""Inserts without an end; {{into}} is a table with its columns, and {{values}} a row with the key i + 5000."""
HOSTILE = [
    *DEFINERS,
    *TRANSACTIONS,
    *HIDDEN,
    *COSTLY,
    *SETTINGS,
    *(one for one in OTHERS if not one.startswith("SELECT")),
]
