"""``palaestra bench teachers``: teachers and uniform choice compared on simulated and real students.

Tables: T1 a student whose tasks become learnable one after the other; T2 time and memory of a teacher; T3 bandits over
categories; T4 choosing prompts and allocating attempts; T5 scores of levels compared with exact regret; T6 as T1 on
irregular spaces; T7 a tiny language model on ladders of tasks; T8 PPO on gridworlds; T9 students on environments of
your own, given by --env. T6 to T9 are slow and not among the defaults.

With --peer-python, teachers of other projects take part with their own defaults, and a further table compares each with
ours: in T1, T2 and T6 teachDeepRL (a checkout of flowersteam/teachDeepRL on the path of that Python, through PYTHONPATH
or a .pth file, with scikit-learn, treelib and gym), in T3 syllabus-rl and reasoning-gym.

Every finished run is a record in OUT/results.jsonl: a stopped benchmark continues when the same command is given again.
OUT/summary.json and OUT/report.html are written at the end, and after Ctrl-C. A teacher is a registered name (palaestra
list teachers) or module:name of your own, with options after it.

examples:
  palaestra bench teachers
  palaestra bench teachers --tables T1 --teachers alp-gmm riac "alp-gmm history=100" --seeds 3 --episodes 5000
  palaestra bench teachers --tables T1 T3 --teacher my_module:MyTeacher --out runs/mine --jobs 4
  palaestra bench teachers --tables T1 --settings 2d 3d --teachers riac covar-gmm
  palaestra bench teachers --tables T1 T3 --peer-python /path/to/venv/bin/python
  palaestra bench teachers --tables T6 --teachers palaestra alp-gmm rlve-down
  palaestra bench teachers --tables T7
  palaestra bench teachers --tables T7 --settings NextDigits --teachers all --seeds 1
  palaestra bench teachers --tables T8 --settings DoorKey --seeds 2
  palaestra bench teachers --env my_module:mine/Cart-v0 --teachers alp-gmm plr --episodes 100000
  palaestra bench teachers --env my_module:mine/Maze-v0 --learner q --learner "sb3 n_steps=512" --seeds 5
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from ...agents.atomic import write_atomically
from ...agents.evaluation.formats import Format, format_rows
from ...errors import InputError, MissingExtra
from ...estimates import MeanEstimate
from ...teachers.benchmarks import table as named
from ...teachers.benchmarks.runs import BenchmarkRun, Failure, Records, load_table, plan_runs, play_all, record_key
from ...teachers.benchmarks.statistics import (
    Line,
    compare_over_settings,
    expand_records,
    summarise_records,
    summarise_settings,
)
from ...teachers.benchmarks.table import ORACLE, UNIFORM, Table
from ...teachers.registration import TEACHERS
from ..harness import check_least, check_names, make_table, progress, read_options, wide_console, write_json
from .figures import SEEDS_TO_JUDGE, compare_to_uniform, format_estimate
from .own_environment import check_setting
from .peer_teachers import compare_with_peers, find_peers

OWN = "T9"
BESIDE = "palaestra.teachers.benchmarks"
TABLES = {
    "T1": f"{BESIDE}.hypercube:TABLE",
    "T2": f"{BESIDE}.cost:TABLE",
    "T3": f"{BESIDE}.categories:TABLE",
    "T4": f"{BESIDE}.selection:TABLE",
    "T5": f"{BESIDE}.regret:TABLE",
    "T6": f"{BESIDE}.irregular:TABLE",
    "T7": "palaestra.benchmarks.teachers.language_model:TABLE",
    "T8": "palaestra.benchmarks.teachers.gridworlds:TABLE",
    OWN: "palaestra.benchmarks.teachers.own_environment:TABLE",
}
SLOW = ("T6", "T7", "T8", OWN)
ALL = "all"
BEST_SHOWN = 12  # teachers in the comparison over settings


@dataclass(frozen=True)
class TeacherBenchOptions:
    tables: tuple[str, ...] = tuple(name for name in TABLES if name not in SLOW)
    """Tables to make."""
    settings: tuple[str, ...] = ()
    """Settings to run; all by default. Tables without any of these settings are left out."""
    env: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """An environment of your own, "module:id", as a setting of table T9, the only table made unless
    --tables is given. It needs a param_space (palaestra.envs.ParamEnv gives any environment one)."""
    learner: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """With --env: a learner, ppo (the default), q (a table, for small worlds) or sb3 (Stable-Baselines3, extra [ppo]),
    with options after it, "q rate=0.5" or "sb3 algorithm=DQN"; may be given several times."""
    teachers: tuple[str, ...] = ()
    """Teachers, each in the tables that it fits; by default each table's own list. "all" adds all registered teachers,
    in table T7 with one seed and in two settings unless --seeds is given."""
    teacher: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """A further teacher; may be given several times."""
    seeds: int | None = None
    """Number of seeds, 0 to N-1; by default the table's own number."""
    episodes: int | None = None
    """Length of a run in the table's unit (episodes, tasks, batches, attempts, mazes, steps); by default the
    setting's."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of virtual environments that have a peer installed."""
    out: Path = Path("runs/bench-teachers")
    """Folder for the results."""
    format: Format = "table"
    """Format of the output: a table for the terminal, csv, markdown, latex (with booktabs) or json."""
    jobs: int = 2
    """Number of processes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark; return 0, 1 if a teacher failed, or 130 if Ctrl-C stopped it."""
    config = read_options(TeacherBenchOptions, "teachers", argv, __doc__)
    check_least(config, 1, "seeds", "jobs")
    check_least(config, 10, "episodes")
    check_names("table", config.tables, TABLES)
    config = add_environments(config)
    named.PEERS.clear()
    named.PEERS.update(find_peers(config.peer_python))
    places = {name: TABLES[name] for name in dict.fromkeys(config.tables)}
    tables = {name: load_table(place) for name, place in places.items()}
    check_names("setting", config.settings, [setting for table in tables.values() for setting in table.settings])
    if config.settings:
        without = [name for name, table in tables.items() if not set(config.settings) & set(table.settings)]
        if without and config.tables != TeacherBenchOptions.tables:
            print(f"palaestra: {', '.join(without)} left out: no such setting there.", file=sys.stderr)
        tables = {name: table for name, table in tables.items() if name not in without}
        places = {name: places[name] for name in tables}
    chosen = choose_teachers(config, tables)
    named_ones = {*config.teachers, *config.teacher, *(t for table in tables.values() for t in table.teachers())}
    optional = set(TEACHERS) - named_ones
    runs = plan_runs(places, chosen, config.seeds, config.episodes, str(config.out), optional)
    runs = [run for run in runs if not config.settings or run.setting in config.settings]
    records = Records(config.out / "results.jsonl")
    failures, stopped = _play(runs, records, config.jobs)
    rows: dict[str, list[Any]] = {name: [] for name in tables}
    for run in runs:
        if (found := records.rows.get(record_key(run))) is not None:
            rows[found["table"]].append(found)
    rows = {name: expand_records(found) for name, found in rows.items()}
    lines = {name: summarise_records(rows[name], table.statistic, table.columns) for name, table in tables.items()}
    joint = {name: summarise_settings(rows[name], table.joint) for name, table in tables.items()}
    if config.format == "table":
        _print(tables, lines, joint)
        _print_peers(tables, rows)
    else:
        print(format_rows([row for name in tables for row in _rows(name, lines[name])], config.format), end="")
    for sentence in summarise_failures(failures):
        print(f"palaestra: {sentence}", file=sys.stderr)
    summary = {name: [asdict(line) for line in lines[name]] for name in tables}
    write_json(config.out / "summary.json", _plain(summary))
    _report(config.out, tables, rows, lines, failures)
    if stopped:
        print(f"stopped; the same command goes on where it was (results in {config.out}).", file=sys.stderr)
        return 130
    return 1 if failures else 0


def add_environments(config: TeacherBenchOptions) -> TeacherBenchOptions:
    """Make each environment of ``--env`` with each learner a setting of T9, in place of those of an earlier call, and
    choose these settings.

    Raises:
        InputError: there is no such environment or learner, the environment has no parameters, or a table or learner is
            given without an environment.
    """
    settings: Any = load_table(TABLES[OWN]).settings
    settings.clear()
    if not config.env:
        if config.learner or OWN in config.tables:
            raise InputError(f"{'--learner' if config.learner else OWN} is for an environment; give --env module:id.")
        return config
    for env_id, learner in itertools.product(config.env, config.learner or ("ppo",)):
        text = env_id if learner == "ppo" else f"{env_id} learner={learner}"
        check_setting(text)
        settings[text] = settings[text]
    tables = (OWN,) if config.tables == TeacherBenchOptions.tables else (*config.tables, OWN)
    return replace(config, tables=tables, settings=(*config.settings, *settings))


def _rows(table: str, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Return the lines of a table as rows for `format_rows`."""
    found: list[dict[str, Any]] = []
    for line in lines:
        row = {"table": table, "setting": line.setting, "teacher": line.teacher, "seeds": line.score.n}
        for name, estimate in {"score": line.score, "gain": line.gain, **line.columns}.items():
            if estimate is not None:
                row |= {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        found.append(row)
    return found


def choose_teachers(config: TeacherBenchOptions, tables: Mapping[str, Table]) -> dict[str, list[str]]:
    """Choose the teachers of each table, the uniform teacher first.

    Raises:
        InputError: an unknown name, or a teacher that fits none of the tables.
    """
    found: dict[str, list[str]] = {}
    own = frozenset().union(*(table.own for table in tables.values()))
    asked = [each for each in dict.fromkeys((*config.teachers, *config.teacher)) if each != ALL]
    for teacher in asked:
        # A module that cannot be imported is reported once by the command, not by every run.
        name, options = named.parse_teacher(teacher)
        if name not in own:
            named.find_factory(name)
            if ":" not in name and name not in named.PEERS:
                TEACHERS.check_options(name, options)
    for name, table in tables.items():
        peers = [text for peer in named.PEERS.values() for text in (peer.ours, peer.name) if name in peer.tables]
        chosen = [t for t in config.teachers if t != ALL] or (*table.teachers(), *peers)
        if ALL in config.teachers:
            chosen = [*dict.fromkeys((*chosen, *table.teachers(), *(t for t in TEACHERS if table.fits(t))))]
        # An oracle of one table is unknown in the others.
        fitting = [
            t for t in (*chosen, *config.teacher) if named.parse_teacher(t)[0] not in own - table.own and table.fits(t)
        ]
        found[name] = list(dict.fromkeys((UNIFORM, *fitting)))
    for teacher in asked:
        if not any(teacher in fitting for fitting in found.values()):
            raise InputError(f"teacher {teacher!r} fits none of {', '.join(tables)}; choose other --tables.")
    return found


def _play(runs: Sequence[BenchmarkRun], records: Records, jobs: int) -> tuple[list[Failure], bool]:
    """Play the missing runs. Return the failures, and True if Ctrl-C stopped them."""
    left = records.find_missing(runs)
    failures: list[Failure] = []
    with progress(len(runs), "runs", len(runs) - len(left)) as advance:
        try:
            for done in play_all(left, jobs, named.PEERS):
                if isinstance(done, Failure):
                    failures.append(done)
                    advance(f"{done.run.teacher} failed")
                else:
                    records.add(done)
                    advance(f"{done['table']} {done['setting']}")
        except KeyboardInterrupt:
            return failures, True
    return failures, False


def summarise_failures(failures: Sequence[Failure]) -> list[str]:
    """Return one sentence for each teacher and error, whatever the number of runs that failed by it."""
    found: dict[tuple[str, str, str], list[BenchmarkRun]] = {}
    for failure in failures:
        run = failure.run
        found.setdefault((load_table(run.table).name, run.teacher, failure.error), []).append(run)
    return [
        f"teacher {teacher!r} failed in {len(runs)} runs of {table}, first in {runs[0].setting!r} with seed "
        f"{runs[0].seed}: {error}"
        for (table, teacher, error), runs in found.items()
    ]


def _print(
    tables: Mapping[str, Table],
    lines: Mapping[str, Sequence[Line]],
    joint: Mapping[str, Mapping[str, MeanEstimate]],
) -> None:
    from rich.console import Console
    from rich.markup import escape

    console = Console()
    for name, table in tables.items():
        seeds = max((line.score.n for line in lines[name]), default=0)
        few = seeds < SEEDS_TO_JUDGE and any(line.gain is not None for line in lines[name])
        unit = f"{table.score}{' in %' if table.percent else ''}, {seeds} seed{'' if seeds == 1 else 's'}"
        unit += f"; a verdict takes {SEEDS_TO_JUDGE}" if few else ""
        mean = "mean ± 95 %" if table.statistic == "mean" else "IQM [95 %]"
        grid = make_table((), plain=True, title=f"{name}: {table.title} ({unit})")
        grid.add_column("setting and teacher", overflow="fold", min_width=12)
        for column in (mean, "minus uniform", *table.columns):
            grid.add_column(column, justify="right", no_wrap=not table.columns)
        setting = ""
        for line in sorted(lines[name], key=lambda line: list(table.settings).index(line.setting)):
            if line.setting != setting:
                setting = line.setting
                grid.add_row(f"[bold]{escape(setting)}[/bold]")
            gain = "" if line.gain is None else f"{format_estimate(line.gain, table)} {compare_to_uniform(line, table)}"
            # The intervals of these are in the report.
            further = (f"{line.columns[name].mean:.2f}" for name in table.columns)
            grid.add_row(escape(f"  {line.teacher}"), format_estimate(line.score, table), gain, *further)
        console.print(grid)
        for setting in dict.fromkeys(line.setting for line in lines[name]):
            if not table.lower and not any(line.score.mean for line in lines[name] if line.setting == setting):
                console.print(
                    f"Every score on {escape(setting)} is 0, which tells nothing of the teachers: give more "
                    "--episodes, or easier tasks."
                )
        # The oracle reads the student's state, so teachers are ranked without it.
        ranked = [line for line in lines[name] if line.teacher != ORACLE]
        standings = compare_over_settings(ranked, table.lower)
        if len({line.setting for line in ranked}) > 1 and len(standings) > 1:
            grid = make_table((), plain=True, title=f"{name} over its settings")
            grid.add_column("teacher", overflow="fold")
            both = [f"{table.score}, {' + '.join(table.joint)}"] if joint[name] else []
            for column in ("worst rank", "mean rank", "first or level", *both):
                grid.add_column(column, justify="right", no_wrap=not both)
            for each in standings[:BEST_SHOWN]:
                places = f"{each.worst:g}", f"{each.mean:.1f}", f"{each.level} of {each.settings}"
                found = joint[name].get(each.teacher)
                grid.add_row(each.teacher, *places, *([format_estimate(found, table)] if found else []))
            console.print(grid)


def _print_peers(tables: Mapping[str, Table], rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    head = ("setting", "theirs", "ours", "their score", "our score", "difference", "time, theirs / ours")
    for name, table in tables.items():
        found = compare_with_peers(list(named.PEERS.values()), rows[name])
        cells = []
        for each in found:
            scores = (format_estimate(value, table) for value in (each.theirs, each.ours, each.difference))
            times = f"{each.times:.3g}" if math.isfinite(each.times) else "–"
            cells.append((each.setting, each.peer.name, each.peer.ours, *scores, times))
        if cells:
            versions = ", ".join(f"{each.name} {each.version}" for each in dict.fromkeys(c.peer for c in found))
            title = f"{name}: ours beside {versions}"
            wide_console().print(make_table(head, cells, text=3, title=title, plain=True))


def _report(
    out: Path,
    tables: Mapping[str, Table],
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    lines: Mapping[str, Sequence[Line]],
    failures: Sequence[Failure],
) -> None:
    try:
        from .page import render_page
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("jinja2", "matplotlib"):
            raise
        # The summary has all figures; only the page needs the extra.
        print(f"no report.html: {MissingExtra('the report', 'train')}", file=sys.stderr)
        return
    print(write_atomically(out / "report.html", render_page(tables, rows, lines, summarise_failures(failures))))


def _plain(value: Any) -> Any:
    """Replace numbers that are not finite by None, because JSON has no NaN."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
