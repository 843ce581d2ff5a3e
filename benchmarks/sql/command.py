"""``palaestra bench sql``: error rates of the SQL grader, compared with other graders, and its speed.

Queries are made from the gold queries of drawn tasks: rewritings that are right on all databases, and queries with one
mistake, which count as wrong if their result differs on one of many databases other than the task's. Queries that
`palaestra.envs.sql.queries.equivalence` proves to have the same result do not count. Two simpler graders, one of them
as in other projects (sets of rows), compare results on one database. Released evaluators of other benchmarks, if their
files are given, judge the same queries on one database and on all of the task's. Then the grader is probed with wrong
averages and incomplete orders (`probes`), statements that change rows or schemas are judged likewise (`scripts`), and
tasks made and answers graded per second are measured. With ``--slow-tasks``, right queries in slow forms are judged on
large tables, too.

examples:
  palaestra bench sql
  palaestra bench sql --engines duckdb postgres --tasks 60
  palaestra bench sql --failures --json sql.json
  palaestra bench sql --constructs arithmetic case columns contains window
  palaestra bench sql --constructs self children recursive view note dirty
  palaestra bench sql --tasks 0 --probe-seeds 0 --speed-tasks 0 --slow-tasks 40 --slow-repeats 20
  palaestra bench sql --evaluators test-suite-sql-eval/exec_eval.py bird/evaluation.py
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
from rich.console import Console

from ...envs.sql.engines import ENGINES, QueryLimits, grade_query, make_engine
from ...envs.sql.queries.query_tree import is_ordered_query
from ...errors import InputError
from ...rewards.verifiers.sql import Database, QueryError, open_database, same_rows
from ..harness import check_names, make_table, read_options, require, track, write_json
from ..peer_process import PeerProcess
from . import peer_evaluators
from .labels import PROVEN, LabelledQuery, label_queries, write_for
from .probes import Probe, probe_graders
from .scripts import grade_scripts
from .verdicts import Verdicts, count_verdict

DIFFICULTIES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Folders of the databases that evaluators of other benchmarks judge on.
_FOLDERS = ("one database", "all databases of the task")


@dataclass(frozen=True)
class SqlBenchOptions:
    tasks: int = 100
    """Tasks whose gold queries are rewritten, over five difficulties."""
    contents: int = 60
    """Databases on one of which a query with a mistake must have another result to count as wrong."""
    engines: tuple[str, ...] = ("sqlite",)
    """Engines that grade: sqlite, duckdb, postgres."""
    constructs: tuple[str, ...] = ()
    """Further constructs that the queries use, such as window and recursive; see the environment's ``constructs``."""
    probe_seeds: int = 40
    """Seeds whose tasks, at three difficulties, are probed for other averages and incomplete orders."""
    script_tasks: int = 100
    """Tasks of SQLChange and of SQLSchema, each, whose statements are rewritten."""
    speed_tasks: int = 100
    """Tasks made and graded at each difficulty for the figures per second."""
    slow_tasks: int = 0
    """Tasks, over five difficulties, whose right queries are judged in slow forms on large tables; 0 for none."""
    slow_rows: int = 100_000
    """Rows of the largest table in these tasks."""
    slow_repeats: int = 1
    """Number of times that each slow form is judged, to see whether the verdict changes."""
    seed: int = 0
    """Seed of the first task."""
    evaluators: tuple[Path, ...] = ()
    """Files of released evaluators: exec_eval.py of test-suite-sql-eval (Spider), evaluation.py of BIRD,
    evaluate.py of Spider 2.0-lite."""
    evaluators_python: Path = Path(sys.executable)
    """Python interpreter that runs the evaluators; it needs the packages that they import."""
    failures: bool = False
    """Print each wrong verdict of ours, and of evaluators on all databases of the task."""
    json: Path | None = None
    """Write the figures here as JSON."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    config = read_options(SqlBenchOptions, "sql", argv, __doc__)
    check_names("engine of SQL", config.engines, ENGINES)
    for name in config.engines:
        make_engine(name)
    with start_evaluators(config) as evaluators:
        graders, undecided = compare_graders(config, evaluators)
    probes = probe_graders(config.engines, config.probe_seeds)
    scripts = grade_scripts(config.engines, config.script_tasks, config.contents, config.seed, DIFFICULTIES)
    speeds = {name: measure_speed(name, config.speed_tasks, config.seed) for name in config.engines}
    slow = {name: _judge_slow_forms(name, config) for name in config.engines if config.slow_tasks}
    _print(graders, undecided, probes, speeds, config)
    for name, verdicts in slow.items():
        rows = [
            (one.form, *map(str, (one.queries, one.accepted, one.slow, one.other, one.changed)), f"{one.mean:.2f}")
            for one in verdicts
        ]
        heads = ("form", "queries", "accepted", "slow", "other", "changed", "s each")
        Console().print(make_table(heads, rows, title=f"right queries on {config.slow_rows:,} rows, {name}"))
    _print_scripts(*scripts, config)
    figures = {"undecided": undecided, "per_second": speeds}
    figures |= {"slow_forms": {name: list(map(asdict, verdicts)) for name, verdicts in slow.items()}}
    figures |= {"scripts": list(map(asdict, scripts[0])), "undecided_scripts": scripts[1]}
    figures |= {"graders": list(map(asdict, graders)), "probes": list(map(asdict, probes))}
    write_json(config.json, figures)
    return 0


def _judge_slow_forms(engine: str, config: SqlBenchOptions) -> list[Any]:
    require("'palaestra bench sql'", "sql", "sqlglot")
    from .slow_forms import judge_slow_forms

    asked = (config.slow_tasks, config.seed, config.slow_rows, config.slow_repeats, config.constructs)
    return judge_slow_forms(engine, *asked)


@contextlib.contextmanager
def start_evaluators(config: SqlBenchOptions) -> Iterator[PeerProcess | None]:
    """Run the evaluators of other benchmarks if their files are given; yield None otherwise."""
    if missing := [str(file) for file in config.evaluators if not file.is_file()]:
        raise InputError(f"--evaluators names files of evaluators, and {missing[0]!r} is none.")
    if not config.evaluators:
        yield None
        return
    files = [str(file.absolute()) for file in config.evaluators]
    with contextlib.closing(PeerProcess(config.evaluators_python, peer_evaluators.__file__, *files)) as process:
        if len(process.versions) < len(files):
            known = ", ".join(peer_evaluators.EVALUATORS)
            raise InputError(f"only {process.versions} of {len(files)} files are evaluators of {known}.")
        yield process


def compare_graders(
    config: SqlBenchOptions, evaluators: PeerProcess | None = None
) -> tuple[list[Verdicts], Counter[str]]:
    """Let all graders judge all queries. Return the graders' counts, and the number of queries that count neither as
    right nor as wrong, by the way they were made."""
    asked = {"split": "all", "constructs": config.constructs}
    env: Any = gym.make("palaestra/TextToSQL-v0", **asked, disable_env_checker=True).unwrapped
    ours = [Verdicts(f"several databases, {name}") for name in config.engines]
    rows_alone = Verdicts("one database, rows counted, in order")
    sets = Verdicts("one database, sets of rows (as peers)")
    names = [] if evaluators is None else evaluators.versions
    theirs = {(name, where): Verdicts(f"{name}, {where}") for name in names for where in _FOLDERS}
    undecided: Counter[str] = Counter()
    for place in track(range(config.tasks), "grading"):
        env.reset(seed=config.seed + place, options={"difficulty": DIFFICULTIES[place % len(DIFFICULTIES)]})
        known, gold = env.here().data, env.here().reference
        expected, ordered = known.witnesses.expected, is_ordered_query(known.query)
        queries = list(label_queries(known, gold, config.contents, undecided))
        if evaluators is not None:
            judge_elsewhere(evaluators, theirs, queries, gold, ordered, [database for database, _ in expected])
        for query in queries:
            for verdicts, name in zip(ours, config.engines):
                engine = make_engine(name)
                text = write_for(query.text, engine.dialect)
                schema = known.plan.schema.ddl_for(engine.dialect)
                start = time.process_time()
                tied = known.witnesses.tied
                found = grade_query(text, expected, tied=tied, ordered=ordered, engine=name, schema=schema)
                verdicts.seconds += time.process_time() - start
                count_verdict(verdicts, query, found.success, gold)
            count_verdict(rows_alone, query, _grade_once(query.text, expected[0], ordered, False), gold)
            count_verdict(sets, query, _grade_once(query.text, expected[0], ordered, True), gold)
    return [*ours, rows_alone, sets, *theirs.values()], undecided


def judge_elsewhere(
    evaluators: PeerProcess,
    theirs: dict[tuple[str, str], Verdicts],
    queries: Sequence[LabelledQuery],
    gold: str,
    ordered: bool,
    databases: Sequence[Database],
) -> None:
    """Let the evaluators judge the queries on files of the databases."""
    with tempfile.TemporaryDirectory(prefix="palaestra-bench-") as folder:
        for where, some in zip(_FOLDERS, (databases[:1], databases), strict=True):
            (there := Path(folder) / where).mkdir()
            for place, database in enumerate(some):
                with contextlib.closing(open_database(database)) as connection:
                    (there / f"{place}.sqlite").write_bytes(connection.serialize())
        for (name, where), verdicts in theirs.items():
            there = str(Path(folder) / where)
            for query in queries:
                asked = {"query": query.text, "gold": gold, "ordered": ordered, "folder": there}
                count_verdict(verdicts, query, evaluators.ask(evaluator=name, **asked), gold)


def _grade_once(text: str, expected: tuple[Database, Any], ordered: bool, as_sets: bool) -> bool:
    database, rows = expected
    try:
        found = make_engine("sqlite").load(database).query(text, QueryLimits()).rows
    except (QueryError, TimeoutError):
        return False
    return set(found) == set(rows) if as_sets else same_rows(found, rows, ordered)


def measure_speed(engine: str, tasks: int, seed: int) -> dict[str, dict[str, float]]:
    """Measure tasks made and right answers graded per second, by difficulty; "default" is a reset without difficulty.

    For SQLite, time is this process's CPU time; other engines run in other processes, so time is wall time.
    """
    clock = time.process_time if engine == "sqlite" else time.perf_counter
    options = {"engine": engine, "split": "all", "disable_env_checker": True}
    env: Any = gym.make("palaestra/TextToSQL-v0", **options).unwrapped
    env.reset(seed=seed + tasks)
    env.step(env.oracle())
    found = {}
    for difficulty in (None, *DIFFICULTIES):
        made = graded = 0.0
        for place in range(tasks):
            start = clock()
            env.reset(seed=seed + place, options={} if difficulty is None else {"difficulty": difficulty})
            made += clock() - start
            answer = env.oracle()
            start = clock()
            env.step(answer)
            graded += clock() - start
        name = "default" if difficulty is None else f"{difficulty:g}"
        if tasks:
            found[name] = {"made": tasks / made, "graded": tasks / graded}
    return found


def _print(
    graders: Sequence[Verdicts],
    undecided: Counter[str],
    probes: Sequence[Probe],
    speeds: dict[str, Any],
    config: SqlBenchOptions,
) -> None:
    console = Console()
    heads = ("grader", "right queries refused", "wrong queries accepted")
    console.print(make_table(heads, list(map(_write_shares, graders))))
    proven = undecided[PROVEN]
    console.print(
        f"{proven} changed queries are proven equivalent, and {undecided.total() - proven} more differ on none of "
        f"{config.contents} databases; they do not count."
    )
    shown = [*graders[: len(config.engines)], *(one for one in graders if one.grader.endswith(_FOLDERS[1]))]
    for one in shown:
        kinds = Counter(line.partition(": ")[0] for line in one.failures).most_common()
        console.print(f"{one.grader}, by mistake: {', '.join(f'{name} {n}' for name, n in kinds) or 'none'}")
    probed = [(one.mistake, str(one.tasks), str(one.wrong), *map(str, one.accepted.values())) for one in probes]
    heads = ("mistake", "tasks", "wrong", *(f"accepted, {name}" for name in config.engines))
    console.print(make_table(heads, probed))
    for name, figures in speeds.items():
        speed = [(where, f"{one['made']:,.0f}", f"{one['graded']:,.0f}") for where, one in figures.items()]
        table = make_table(("difficulty", "made / s", "graded / s"), speed, title=name)
        table.title_justify = "left"
        console.print(table)
    if config.failures:
        for one in shown:
            for line in one.failures:
                console.print(f"{one.grader}: {line}", markup=False, highlight=False)


def _write_shares(one: Verdicts) -> tuple[str, str, str]:
    return (
        one.grader,
        f"{one.refused} of {one.right} ({one.refused / max(one.right, 1):.1%})",
        f"{one.accepted} of {one.wrong} ({one.accepted / max(one.wrong, 1):.1%})",
    )


def _print_scripts(found: Sequence[Verdicts], undecided: Counter[str], config: SqlBenchOptions) -> None:
    console = Console()
    heads = ("scripts", "right ones refused", "wrong ones accepted")
    console.print(make_table(heads, list(map(_write_shares, found))))
    console.print(f"{undecided.total()} changed scripts of SQLChange differ on none of {config.contents} databases.")
    for one in found if config.failures else ():
        for line in one.failures:
            console.print(f"{one.grader}: {line}", markup=False, highlight=False)
