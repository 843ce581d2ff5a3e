"""Runs of the benchmark: each appends one record to a file when it ends, so that a stopped benchmark can be resumed.

A run is a table, a setting, a teacher and a seed. Student and teacher share the seed, so that runs are paired across
teachers. Runs are played in worker processes with one thread each, so that a result does not depend on other runs.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError, find_place
from .table import PEERS, Table, resolve_options

Key = tuple[str, str, str, int]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class BenchmarkRun:
    """Specification of one run.

    Attributes:
        table: location of the table, as "module:attribute".
        folder: folder for data that runs share; "" for tables without shared data.
    """

    table: str
    setting: str
    teacher: str
    seed: int
    length: int
    folder: str = ""


@dataclass(frozen=True)
class Failure:
    """A run that raised. ``error`` is the type and message of the exception, and its place in the user's code, if
    any."""

    run: BenchmarkRun
    error: str


def load_table(table: str) -> Table:
    """Return the table at "module:attribute"."""
    module, _, attribute = table.partition(":")
    return getattr(importlib.import_module(module), attribute)


def plan_runs(
    tables: Mapping[str, str],
    teachers: Mapping[str, Sequence[str]],
    seeds: int | None,
    length: int | None,
    folder: str = "",
    optional_teachers: Collection[str] = (),
) -> list[BenchmarkRun]:
    """List all runs of some tables and their teachers, ordered by table, setting and seed, so that teachers alternate
    and a busy machine slows them alike. If runs share data, the first run of each setting and seed, which creates the
    data, moves to the front, so that no process waits for another.

    Args:
        tables: name -> location.
        teachers: name of the table -> its teachers.
        seeds, length: number of seeds and length of each run; by default the table's and the setting's.
        folder: folder for data that the runs of a table share.
        optional_teachers: teachers that by default run only with the seeds and settings of
            `Table.optional_teacher_seeds`.
    """
    runs = []
    for name, place in tables.items():
        table = load_table(place)
        for setting, options in table.settings.items():
            steps = int(options["length"] if length is None else length)
            few = table.optional_teacher_seeds
            usual = range(table.seeds) if few is None else few.get(setting, ())
            for seed in range(table.seeds if seeds is None else seeds):
                for teacher in teachers[name]:
                    if seeds is None and teacher in optional_teachers and seed not in usual:
                        continue
                    runs.append(BenchmarkRun(place, setting, teacher, seed, steps, folder if table.keeps else ""))
    makers: dict[tuple[str, str, int], str] = {}
    for run in runs:
        makers.setdefault((run.table, run.setting, run.seed), run.teacher)
    return sorted(runs, key=lambda run: bool(run.folder) and makers[run.table, run.setting, run.seed] != run.teacher)


def record_inputs(run: BenchmarkRun) -> dict[str, Any]:
    """Return the inputs of a run that are not in its key: the setting, the length, and the teacher's options."""
    table = load_table(run.table)
    options = {name: value for name, value in table.settings[run.setting].items() if name != "length"}
    found = {"length": run.length, "setting": options, "teacher": resolve_options(run.teacher, table.own)}
    return json.loads(json.dumps(found))


def record_key(run: BenchmarkRun) -> Key:
    return load_table(run.table).name, run.setting, run.teacher, run.seed


def play_run(run: BenchmarkRun) -> dict[str, Any]:
    """Make one run and return its record, JSON-able."""
    table = load_table(run.table)
    shared = (Path(run.folder),) if table.keeps else ()
    result = table.run(table.settings[run.setting], run.teacher, run.seed, run.length, *shared)
    name, setting, teacher, seed = record_key(run)
    row = {"table": name, "setting": setting, "teacher": teacher, "seed": seed, "made": record_inputs(run)}
    return json.loads(json.dumps({**row, **dataclasses.asdict(result)}, allow_nan=False))


class Records:
    """A JSON-lines file of records.

    A last line without a line break, which an interrupted write leaves, is removed from the file.

    Raises:
        InputError: any other line is not a record.
    """

    def __init__(self, path: Path):
        self.path = path
        self.rows: dict[Key, dict[str, Any]] = {}
        text = path.read_bytes() if path.is_file() else b""
        whole, _, cut = text.rpartition(b"\n")
        for position, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            try:
                row = json.loads(line)
                self.rows[(row["table"], row["setting"], row["teacher"], row["seed"])] = row
            except (ValueError, KeyError, TypeError):
                raise InputError(
                    f"line {position} of {str(path)!r} is no record of a run; remove the line, or choose another --out."
                ) from None
        if cut:
            with path.open("r+b") as file:
                file.truncate(len(text) - len(cut))

    def find_missing(self, runs: Sequence[BenchmarkRun]) -> list[BenchmarkRun]:
        """Return the runs without a record.

        Raises:
            InputError: a record was made with other options.
        """
        left = []
        for run in runs:
            row = self.rows.get(record_key(run))
            if row is None:
                left.append(run)
            elif row["made"] != (wanted := record_inputs(run)):
                changed = sorted(name for name in wanted if row["made"].get(name) != wanted[name])
                place = " / ".join(map(str, record_key(run)))
                raise InputError(
                    f"{str(self.path)!r} holds {place} made with another {', '.join(changed)} "
                    f"({', '.join(repr(row['made'].get(name)) for name in changed)}); choose another --out, or remove "
                    "the file."
                )
        return left

    def add(self, row: dict[str, Any]) -> None:
        """Append a record and flush it to the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            file.write(json.dumps(row).encode() + b"\n")
        self.rows[(row["table"], row["setting"], row["teacher"], row["seed"])] = row


def play_all(
    runs: Sequence[BenchmarkRun], jobs: int, peers: Mapping[str, Any] | None = None
) -> Iterator[dict[str, Any] | Failure]:
    """Yield the record of each run as it ends, or a `Failure` if it raised; at most ``jobs`` run at a time.

    The worker processes also register ``peers`` (see `table.PEERS`).

    When a process dies (for lack of memory, for example), the runs in progress are lost. Each lost run is played again
    alone, so that the failure can be attributed to one run.
    """
    left = list(runs)
    while left:
        suspects, left = yield from _play(left, jobs, peers or {})
        for run in suspects:
            if (yield from _play([run], 1, peers or {}))[0]:
                yield Failure(run, "its process died, perhaps for lack of memory.")


def _play(
    runs: list[BenchmarkRun], jobs: int, peers: Mapping[str, Any]
) -> Generator[dict[str, Any] | Failure, None, tuple[list[BenchmarkRun], list[BenchmarkRun]]]:
    """Play ``runs`` until a process dies. Return the runs in progress at that moment, and the runs not started."""
    with _pool(jobs, peers) as pool:
        playing: dict[Future[dict[str, Any] | Failure], BenchmarkRun] = {}
        for position in range(len(runs) + 1):
            if position < len(runs):
                playing[pool.submit(_attempt_run, runs[position])] = runs[position]
            # Submit no more runs than processes, so that the runs in progress are known when a process dies.
            while len(playing) >= (jobs if position + 1 < len(runs) else 1):
                for future in wait(playing, return_when=FIRST_COMPLETED).done:
                    error = future.exception()
                    if isinstance(error, BrokenProcessPool):
                        return list(playing.values()), runs[position + 1 :]
                    playing.pop(future)
                    yield future.result()
    return [], []


def _attempt_run(run: BenchmarkRun) -> dict[str, Any] | Failure:
    """Return the record of a run or its failure: exceptions are caught here, as a traceback does not leave the
    process."""
    try:
        return play_run(run)
    except Exception as error:
        place = find_place(error)
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Failure(run, f"{text} ({place})" if place else text)


def _begin(peers: Mapping[str, Any]) -> None:
    # Ctrl-C reaches the whole process group; a worker must end without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if (parent := multiprocessing.parent_process()) is not None:
        # Without this thread, a worker would wait for its next run for ever after its parent was killed.
        threading.Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    PEERS.update(peers)


@contextmanager
def _pool(size: int, peers: Mapping[str, Any]) -> Iterator[ProcessPoolExecutor]:
    """Start processes with one thread each: a new interpreter reads the variables when it loads NumPy."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    pool = ProcessPoolExecutor(
        size, mp_context=multiprocessing.get_context("spawn"), initializer=_begin, initargs=(dict(peers),)
    )
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
