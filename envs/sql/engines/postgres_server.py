"""A PostgreSQL server: the one named by PALAESTRA_POSTGRES, or a private one that ends with its last user.

A private server listens only on a socket in a temporary folder that no other user can enter. It limits the memory of
each query, and keeps no data. A shell supervises it: when the last process with the other end of a pipe has ended, for
whatever reason, the shell stops the server and removes the folder.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from .engine import MEMORY_MB, EngineFailure

if TYPE_CHECKING:
    from pwd import struct_passwd

VARIABLE = "PALAESTRA_POSTGRES"
START_SECONDS = 60.0
_PROGRAMS = ("initdb", "postgres")
# A server process also maps libraries and memory shared with other server processes.
_MAPPED_MB = 320
# No data has to survive the server, so it need not wait for the disk.
_SETTINGS = {
    **{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "autovacuum": "off"},
    **{"listen_addresses": "", "shared_buffers": "16MB", "max_connections": "100", "jit": "off"},
    **{"max_parallel_workers": "0", "max_wal_senders": "0", "wal_level": "minimal", "max_worker_processes": "0"},
    **{"temp_file_limit": f"{MEMORY_MB}MB", "work_mem": "8MB", "log_min_messages": "fatal"},
}
_KEEP = """
ulimit -v "$3"
bin=$1 folder=$2
shift 3
"$bin/postgres" -D "$folder/data" -k "$folder" "$@" </dev/null >"$folder/log" 2>&1 &
read -r _
kill -INT $!
wait $!
rm -rf "$folder"
"""
_STARTING = threading.Lock()


def find_programs() -> Path | None:
    """Find the folder of the newest installed server's programs."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda one: int("0" + one.parent.name))
    found = shutil.which("postgres")
    folders = [*reversed(installed), *([Path(found).resolve().parent] if found else [])]
    return next((one for one in folders if all((one / name).exists() for name in _PROGRAMS)), None)


def check_server() -> None:
    """Raise InputError where no server is named and none can be started."""
    if not os.environ.get(VARIABLE) and find_programs() is None:
        raise InputError(
            f"the engine 'postgres' finds no server: install PostgreSQL (Debian's package postgresql), or name a "
            f"server in {VARIABLE}, such as 'host=localhost user=postgres password=...', or choose the engine 'sqlite'."
        )


def find_server() -> str:
    """Return the connection string, as superuser, of the named server, or of a private server started on first use.

    Raises:
        InputError: no server is named or installed.
        EngineFailure: the server does not start.
    """
    with _STARTING:
        if not os.environ.get(VARIABLE):
            check_server()
            # Child processes use the same server.
            os.environ[VARIABLE] = start_server()
        return os.environ[VARIABLE]


def start_server() -> str:
    """Start a private server and return its connection string."""
    programs = find_programs()
    assert programs is not None
    account = _choose_account()
    place = Path(tempfile.gettempdir()).resolve()
    if account is not None and not all(one.stat().st_mode & 0o001 for one in (place, *place.parents)):
        place = Path("/tmp")  # as the server's account cannot enter the folder of this process
    folder = Path(tempfile.mkdtemp(prefix="palaestra-pg-", dir=place))
    options: dict[str, Any] = {"cwd": folder, "env": {"LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH", "")}}
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
        options |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    initialise = [programs / "initdb", "-D", folder / "data", "-U", "palaestra", "-A", "trust", "-E", "UTF8"]
    done = subprocess.run([*initialise, "--no-locale", "--no-sync"], capture_output=True, text=True, **options)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise EngineFailure(f"initdb fails: {done.stderr.strip()[-500:]}")
    bound = (MEMORY_MB + _MAPPED_MB) << 10
    words = ["sh", "-c", _KEEP, "palaestra-postgres", programs, folder, str(bound)]
    words += [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
    keeper = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True, **options)
    atexit.register(_stop_server, keeper, os.getpid())
    until = time.monotonic() + START_SECONDS
    ready = folder / "data" / "postmaster.pid"
    while not (ready.exists() and ready.read_text().rstrip().endswith("ready")):
        if keeper.poll() is not None or time.monotonic() > until:
            raise EngineFailure(f"PostgreSQL does not start: {(folder / 'log').read_text()[-500:].strip()}")
        time.sleep(0.02)
    return f"host={folder} user=palaestra dbname=postgres"


def _stop_server(keeper: subprocess.Popen[Any], owner: int) -> None:
    """Stop the server at the end of the process that started it, but not at the end of a forked child."""
    if os.getpid() == owner:
        assert keeper.stdin is not None
        keeper.stdin.close()
        keeper.wait(START_SECONDS)


def _choose_account() -> struct_passwd | None:
    """Return the account to run the server if this process is root, as PostgreSQL refuses root; otherwise None."""
    if os.geteuid() != 0:
        return None
    import pwd  # systems without it have no root either

    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise InputError("PostgreSQL does not run as root, and there is neither an account 'postgres' nor 'nobody'.")
