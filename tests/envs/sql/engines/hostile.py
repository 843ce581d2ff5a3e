"""Statements that no engine may carry out: writes, other databases, files, settings, what takes all time or memory.

In each, {t} stands for a table. None of them is a query with a result on any of the engines.
"""

from __future__ import annotations

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"

WRITES = [
    *("DELETE FROM {t}", "DROP TABLE {t}", "DROP TABLE IF EXISTS {t} CASCADE", "INSERT INTO {t} DEFAULT VALUES"),
    *("UPDATE {t} SET rowid = 9", "REPLACE INTO {t} VALUES (1)", "TRUNCATE {t}", "ALTER TABLE {t} RENAME TO x"),
    *("CREATE TABLE x (a INTEGER)", "CREATE TEMP TABLE x AS SELECT 1 AS a", "CREATE VIEW v AS SELECT 1 AS a"),
    *("CREATE INDEX i ON {t} (rowid)", "CREATE SCHEMA x", "CREATE SEQUENCE x", "SELECT * INTO x FROM {t}"),
    *("WITH x AS (SELECT 1) DELETE FROM {t}", "WITH x AS (SELECT 1) INSERT INTO {t} SELECT * FROM x"),
    "WITH x AS (DELETE FROM {t} RETURNING *) SELECT * FROM x",
    "MERGE INTO {t} USING {t} AS o ON 1 = 1 WHEN MATCHED THEN DELETE",
    "CREATE TRIGGER a AFTER INSERT ON {t} BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "CREATE FUNCTION f() RETURNS int AS 'SELECT 1' LANGUAGE sql",
    "CREATE MACRO f(a) AS a + 1",
    "DO $$ BEGIN DELETE FROM {t}; END $$",
]
SETTINGS = [
    *("PRAGMA writable_schema = ON", "PRAGMA query_only = OFF", "SELECT * FROM pragma_database_list()", "ANALYZE"),
    *("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "END", "ABORT", "VACUUM", "REINDEX", "CHECKPOINT", "CLUSTER"),
    *("SET memory_limit = '100GB'", "SET threads = 64", "RESET ALL", "SET enable_external_access = true"),
    *("SET ROLE postgres", "SET SESSION AUTHORIZATION postgres", "SET statement_timeout = 0", "RESET ROLE"),
    *("SELECT set_config('statement_timeout', '0', false)", "SELECT set_config('role', 'postgres', false)"),
    *("SELECT pg_reload_conf()", "ALTER SYSTEM SET fsync = off", "GRANT ALL ON {t} TO PUBLIC", "SET VARIABLE a = 1"),
    *("ALTER ROLE CURRENT_USER SUPERUSER", "CREATE ROLE x SUPERUSER", "LOCK TABLE {t}", "LISTEN x", "NOTIFY x"),
    *("PREPARE x AS SELECT 1", "EXECUTE x", "DECLARE x CURSOR FOR SELECT 1", "FETCH ALL FROM result", "CLOSE result"),
]
OTHERS = [
    *("ATTACH ':memory:' AS x", "ATTACH 'canary.db' AS x", "DETACH main", "VACUUM INTO 'canary.db'", "USE x"),
    *("COPY {t} TO 'canary.db'", "COPY {t} FROM '/etc/passwd'", "COPY (SELECT 1) TO PROGRAM 'touch canary.db'"),
    *("EXPORT DATABASE 'canary.db'", "IMPORT DATABASE 'canary.db'", "SELECT * FROM read_csv('/etc/passwd')"),
    *("SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_blob('/etc/passwd')", "SELECT * FROM glob('/*')"),
    *(
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
        "SELECT getenv('A')",
    ),
    *("INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL spatial", "CREATE SECRET x (TYPE s3)", "CREATE EXTENSION dblink"),
    *("SELECT load_extension('x')", "SELECT readfile('x')", "SELECT writefile('canary.db', 'x')", "SELECT edit('x')"),
    *("SELECT fts3_tokenizer('x')", "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')", "SELECT * FROM x.y"),
    *("SELECT lo_import('/etc/passwd')", "SELECT lo_from_bytea(0, 'x')", "SELECT * FROM dblink('x', 'y') AS a(b int)"),
    *("SELECT pg_terminate_backend(pg_backend_pid())", "SELECT pg_cancel_backend(pg_backend_pid())"),
    *("SELECT query_to_xml('DROP TABLE {t}', true, true, '')", "SELECT * FROM query('DROP TABLE {t}')"),
    *(
        "SELECT pg_notify('x', 'y')",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_sleep(9)",
        "SELECT sleep_ms(9000)",
        "SELECT pg_sleep_for('9 s')",
    ),
    *("SELECT * FROM pg_authid", "SELECT * FROM pg_stat_file('/etc/passwd')", "SELECT nextval('x')"),
]
SECONDS = [
    *("SELECT printf('%.*c', 2000000000, 'x')", "SELECT PRINTF('%.2000000000c', 'x') FROM {t}"),
    *("SELECT \"printf\"(x'252e2a63', 2000000000, 'x')", "SELECT printf('%.*' || 'lc', 2000000000, 'x')"),
    *("SELECT 1; DELETE FROM {t}", "SELECT 1; SELECT 2", "SELECT 1 -- \n; DROP TABLE {t}", "SELECT 1 /* */; VACUUM"),
    *("VALUES (1); DROP TABLE {t}", "SELECT 1;; DROP TABLE {t}", "SELECT 1; COMMIT; DROP TABLE {t}; BEGIN"),
    *("SELECT '\\'; DROP TABLE {t}; --'", "SELECT 1 /* ' */; DROP TABLE {t} -- '", "SELECT 1\0; DROP TABLE {t}"),
]
COSTLY = [
    "SELECT * FROM " + ", ".join(f"{{t}} AS a{number}" for number in range(9)),
    "SELECT COUNT(*) FROM " + ", ".join(f"{{t}} AS a{number}" for number in range(9)),
    f"{COUNT} SELECT max(i) FROM n",
    f"{COUNT} SELECT i FROM n ORDER BY -i",
    f"{COUNT} SELECT DISTINCT i || '{'x' * 5000}' FROM n ORDER BY 1",
    *("SELECT randomblob(1000000000)", "SELECT zeroblob(1000000000)", "SELECT repeat('x', 1000000000)"),
    "SELECT replace(hex(zeroblob(40000)), '0', hex(zeroblob(40000)))",
    "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "SELECT array_agg(i) FROM generate_series(1, 1000000000) AS g(i)",
    "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 100000000)",
    *("SELECT range(1000000000)", "SELECT lpad('x', 900000000, 'y')"),
    "SELECT " + "1," * 20000 + "1",
]
NOTHING = ["-- nothing", ";", "nonsense", "", "SELECT no_such_column FROM {t}", "CALL f()"]
HOSTILE = [*WRITES, *SETTINGS, *OTHERS, *SECONDS, *COSTLY, *NOTHING]
