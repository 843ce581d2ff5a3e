"""Shared parts of the benchmarks: options, sides that take turns, ratios with their spread, tables and files.

A benchmark is data and a function that measures one side once. The benchmark reads its options with `read_options`,
measures its sides with `compare`, and shows the measurements with `make_table` or `format_markdown`. A side may run in
a process under another Python, see `peer_process`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import tyro

from ..agents.atomic import check_output, write_atomically
from ..agents.grpo.config import Collapse, Patience
from ..errors import InputError, MissingExtra, unknown_name

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

T = TypeVar("T")
FILES, FOLDER = ("json", "markdown", "figure"), "out"
"""Names of the options for files and for the folder that a benchmark writes."""
UNWATCHED: dict[str, Any] = {
    "eval_every": 0,
    "checkpoint_every": 10**6,
    "keep_trajectories": 0,
    "track": (),
    "patience": Patience(0, 0, 0, 0),
    "collapse": Collapse(),
}
"""Settings of a `TrainConfig` whose run is only to end: nothing is evaluated, stored or watched on the way."""
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
WIDTH = 120
"""Least width of a wide table in characters, even if the output is a file."""


def read_options(kind: type[T], name: str, argv: Sequence[str] | None, about: str | None) -> T:
    """Parse the options of ``palaestra bench NAME``.

    Raises:
        InputError: a file or folder named by an option cannot be written.
    """
    options = tyro.cli(kind, args=argv, prog=f"palaestra bench {name}", description=about)
    for option in (*FILES, FOLDER):
        check_output(getattr(options, option, None), f"--{option}", folder=option == FOLDER)
    return options


def check_least(options: object, low: float, *names: str) -> None:
    """Check that the named options are at least ``low`` or None; raise InputError otherwise."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < low:
            raise InputError(f"--{name.replace('_', '-')} must be at least {low}, not {value}.")


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise InputError for a name that is not in ``known``."""
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)


def run_to_end(kind: Any, place: Path, config: Any) -> Any:
    """Run a `Learner` or a `RewardModelRun` in a new folder to its end, without a word, and return it."""
    run = kind.start(place, config)
    run.run(notify=lambda sentence: None)
    run.close()
    return run


def check_pythons(paths: Iterable[Path]) -> None:
    """Raise InputError for a path of a Python interpreter that is not a file."""
    for path in paths:
        if not path.is_file():
            raise InputError(f"--peer-python must be a Python interpreter, but {str(path)!r} is no file.")


def require(feature: str, extra: str, *packages: str) -> None:
    """Raise `MissingExtra` unless all packages can be imported."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        raise MissingExtra(feature, extra)


def write_json(path: Path | None, figures: Any) -> None:
    """Write figures as JSON to the path of ``--json``; nothing if it is None."""
    if path is not None:
        write_atomically(path, json.dumps(figures, indent=2) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON lines; return an empty list if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


# Measuring ------------------------------------------------------------------------------------------------------------


def processor_seconds(work: Callable[[], object], number: int = 0) -> float:
    """Return the processor seconds of this process during ``work()``.

    The round ``number`` is ignored; the parameter makes the function fit `Side.measure`.
    """
    begun = time.process_time()
    work()
    return time.process_time() - begun


@dataclass
class Side(Generic[T]):
    """One side of a comparison.

    Attributes:
        name: name in the table.
        measure: called with the number of the round; returns its measurement.
        warm_up: called once before the first measurement.
        rounds: measurements so far, one per counted round; empty after a failure.
        failure: error that ended the measurements, if any.
    """

    name: str
    measure: Callable[[int], T]
    warm_up: Callable[[], object] = lambda: None
    rounds: list[T] = field(default_factory=list)
    failure: Exception | None = None


def compare(
    sides: Sequence[Side[T]],
    rounds: int,
    *,
    dropped: int = 0,
    failures: tuple[type[Exception], ...] = (),
    watch: Callable[[Side[T], T | None], object] = lambda side, found: None,
) -> dict[str, list[T]]:
    """Measure the sides in turns, in reversed order every other round, so that a busy machine slows all alike.

    Args:
        rounds: number of counted measurements of each side.
        dropped: number of rounds before them that are not counted.
        failures: errors that end the measurements of one side but not the comparison.
        watch: called with a side and its measurement (None after a failure) at every turn, including dropped rounds.

    Returns:
        Name of the side -> its counted measurements.
    """
    for number in range(dropped + rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            found = None
            if side.failure is None:
                try:
                    if number == 0:
                        side.warm_up()
                    found = side.measure(number)
                    if number >= dropped:
                        side.rounds.append(found)
                except failures as error:
                    side.failure = error
                    side.rounds.clear()
            watch(side, found)
    return {side.name: side.rounds for side in sides}


@dataclass(frozen=True)
class Spread:
    """Median and lower and upper quartile of some values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        low, median, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
        return cls(median, low, high)

    @classmethod
    def of_ratios(cls, above: Iterable[float], below: Iterable[float]) -> Spread:
        """Return the spread of ``above / below``, divided round by round."""
        return cls.of([a / b for a, b in zip(above, below, strict=True)])

    def show(self, form: str, between: str = " to ") -> tuple[str, str]:
        """Return the median as text, and both quartiles as text."""
        return format(self.median, form), f"{self.low:{form}}{between}{self.high:{form}}"

    def to_json(self) -> dict[str, float]:
        return dataclasses.asdict(self)


# Showing --------------------------------------------------------------------------------------------------------------


def make_table(
    head: Sequence[str],
    rows: Iterable[Sequence[Any]] = (),
    *,
    text: int | None = None,
    title: str | None = None,
    plain: bool = False,
    **column: Any,
) -> Table:
    """Make a table for the terminal.

    Args:
        head: titles of the columns.
        rows: cells of each row.
        text: number of first columns that hold text; later columns are right-aligned. By default all hold text.
        title: title above the table.
        plain: True for a rule only below the head, and no line breaks in cells.
        column: further options of all columns, see `rich.table.Table.add_column`.
    """
    from rich import box
    from rich.table import Table

    style: dict[str, Any] = {"box": box.SIMPLE_HEAD, "title_justify": "left"} if plain else {}
    table = Table(title=title, **style)
    for place, name in enumerate(head):
        justify = "left" if text is None or place < text else "right"
        table.add_column(name, **{"justify": justify, "no_wrap": plain, **column})
    for row in rows:
        table.add_row(*row)
    return table


def format_markdown(head: Sequence[str], rows: Iterable[Sequence[str]], align: str = "l") -> str:
    """Format a table in Markdown.

    Args:
        align: "l" or "r" for each column; columns after the last letter are right-aligned.
    """
    rule = ["---" if side == "l" else "---:" for side in align.ljust(len(head), "r")]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *rows))


def wide_console() -> Console:
    """Return a console in which wide tables fit, even if the output is a file."""
    from rich.console import Console

    return Console(width=max(WIDTH, Console().width))


def plain_text(text: str) -> str:
    """Escape all non-ASCII characters, and control characters except tabs and line feeds: answers may contain an attack
    on the terminal."""
    shown = text.encode("ascii", "backslashreplace").decode()
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", shown)


def track(items: Iterable[T], title: str, total: int | None = None) -> Iterable[T]:
    """Iterate with a progress bar on standard error that disappears at the end."""
    from rich.console import Console
    from rich.progress import track

    return track(items, title, total, console=Console(stderr=True), transient=True)


@contextlib.contextmanager
def progress(total: int, title: str, done: int = 0) -> Iterator[Callable[[object], None]]:
    """Show a progress bar; yield a function that advances it by one and shows its argument if that is text."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, completed=done)
        yield lambda note: bar.update(task, advance=1, description=note if isinstance(note, str) else None)
