"""``palaestra bench verifiers``: errors and times of the verifiers over the labelled sheet.

Our verifiers are measured over all kinds of rows. Over rows of the kind "math" without options, math-verify, GEM's
grader and reasoning-gym's scorer are measured, too, if they are installed here or in another environment; other kinds
have a fixed grammar that peers do not share. The kind "math" is also measured over its rows restated (other names of
variables, another order, other delimiters) and over random right and wrong pairs whose variables are named like units.

A peer runs in a separate process, in a temporary folder, with a time limit per row, because some rows make peers hang
or run code: a row over the limit is undecided, and rows that leave a file in the folder are counted.

examples:
  palaestra bench verifiers
  palaestra bench verifiers --kinds math number --failures
  palaestra bench verifiers --kinds math --no-peers --right-pairs 20000 --wrong-pairs 100000 --seed 0
  palaestra bench verifiers --json verifiers.json
  palaestra bench verifiers --peer-python /path/to/venv/bin/python --peer-seconds 3
  palaestra bench verifiers --references FOLDER
  palaestra bench verifiers --labelled answers.jsonl --failures

With --references or --labelled, other data are measured instead of the sheet: --references reports the share of
reference answers, in files of JSON or CSV below a folder, that the verifier "math" can use under each policy;
--labelled reports its verdicts on answers that others labelled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...rewards import VERIFIERS, verify
from ...rewards.audit import FuzzResult, measure_fuzz, sheet
from ...rewards.audit.restated_rows import restate_rows
from ..harness import check_names, make_table, plain_text, progress, read_options, write_json
from ..peer_process import PeerProcess, find_peers
from . import peers, references

# The kind of rows for peers: other kinds have a fixed grammar, and a peer that is more lenient there is not wrong.
SHARED = "math"
STARTUP_SECONDS = 120.0


@dataclass(frozen=True)
class VerifierBenchOptions:
    kinds: tuple[str, ...] = ()
    """Kinds of verifiers; all by default. Peers are measured if math is among them."""
    peers: bool = True
    """Measure the peers that are installed."""
    peer_python: tuple[Path, ...] = ()
    """Python interpreters of virtual environments that have a peer installed."""
    peer_seconds: float = 5.0
    """Time limit per row of a peer; beyond it, the peer is killed and started again."""
    right_pairs: int = 1_000
    """Number of random pairs with a right answer, for math."""
    wrong_pairs: int = 1_000
    """Number of random pairs with a wrong answer, for math."""
    seed: int = 0
    """Seed of the random pairs and of the restated rows."""
    deadline: float = 1.0
    """Time limit per row of our verifiers; rows that take over 1.1 times as long are counted."""
    throughput_seconds: float = 2.0
    """Seconds of each measurement of throughput."""
    failures: bool = False
    """List every row without the right verdict."""
    references: Path | None = None
    """Folder of data sets (.jsonl, .json, .csv), of which the usable reference answers are counted and some unusable
    ones printed."""
    field: str | None = None
    """Field of a record of --references that holds the answer; by default the usual names are tried."""
    labelled: tuple[Path, ...] = ()
    """Files of records with "answer", "reference" and "label", judged under each policy."""
    json: Path | None = None
    """Write the figures and the failures here as JSON."""


@dataclass(frozen=True)
class GraderFigures:
    """One line of the table: a grader over some rows; ``wrote`` is the number of rows that left a file behind."""

    grader: str
    over: str
    result: sheet.SheetResult
    wrote: int = 0


class Peer:
    """A peer's grader in a separate process, which is started again after a row that kills it or exceeds the limit.

    Attributes:
        wrote: number of rows that left files behind.
    """

    def __init__(self, name: str, python: Path, seconds: float):
        self._name, self._python, self._seconds = name, python, seconds
        self._process: PeerProcess | None = None
        self.wrote = 0

    def __call__(self, row: sheet.Row) -> bool | None:
        reply = None
        with contextlib.suppress(OSError, InputError):
            if self._process is None:
                self._process = PeerProcess(self._python, peers.__file__, quiet=True, startup=STARTUP_SECONDS)
                # The first call triggers the peer's lazy imports, which must not count for a row.
                self._process.ask(STARTUP_SECONDS, grader=self._name, answer="1", reference="1")
            pair = {"answer": row.answer, "reference": str(row.reference)}
            reply = self._process.ask(self._seconds, grader=self._name, **pair)
        if self._process is not None:
            left = list(self._process.folder.iterdir())
            self.wrote += bool(left)
            for path in left:
                with contextlib.suppress(OSError):
                    path.unlink()
        if reply is None:
            self.close()
            return None
        if reply["error"] is not None:
            raise RuntimeError(reply["error"])
        return reply["accepted"]

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    config = read_options(VerifierBenchOptions, "verifiers", argv, __doc__)
    for name in ("peer_seconds", "deadline", "throughput_seconds"):
        if not getattr(config, name) > 0:
            raise InputError(f"--{name.replace('_', '-')} must be positive, not {getattr(config, name)!r}.")
    for name in ("right_pairs", "wrong_pairs", "seed"):
        if getattr(config, name) < 0:
            raise InputError(f"--{name.replace('_', '-')} must be 0 or more, not {getattr(config, name)!r}.")
    if config.references is not None or config.labelled:
        write_json(
            config.json, references.run_on_data(config.references, config.labelled, config.field, config.failures)
        )
        return 0
    known = [kind for kind in sheet.kinds() if kind in VERIFIERS]
    check_names("verifier with a sheet", config.kinds, known)
    kinds = list(config.kinds or known)
    measured = list(_measured(config, kinds))
    fuzz = None
    if "math" in kinds:
        with progress(config.right_pairs + config.wrong_pairs, "random pairs") as advance:
            fuzz = measure_fuzz(config.right_pairs, config.wrong_pairs, config.seed, after=advance)
    speeds = measure_throughputs(config.throughput_seconds) if "math" in kinds else {}
    _print(measured, fuzz, speeds, config.failures)
    data = {"graders": [_as_json(line) for line in measured], "checks_per_second": speeds}
    write_json(config.json, data | ({} if fuzz is None else {"random_pairs": dataclasses.asdict(fuzz)}))
    return 0


def _measured(config: VerifierBenchOptions, kinds: list[str]) -> Iterator[GraderFigures]:
    sheets = {kind: sheet.load_rows(kind) for kind in kinds}
    if SHARED in sheets:
        # Peers have no options. Every row is measured only once, because results are cached.
        sheets[f"{SHARED}, options"] = [row for row in sheets[SHARED] if row.options]
        sheets[SHARED] = [row for row in sheets[SHARED] if not row.options]
    anew = list(restate_rows(sheets["math"], config.seed)) if "math" in sheets else []
    graders: dict[str, tuple[Path, str]] = {}
    if config.peers and SHARED in sheets:
        # If several interpreters have a peer, the first one named counts; the running one comes last.
        for python in (*config.peer_python, Path(sys.executable)):
            try:
                graders = find_peers([python], peers.__file__, STARTUP_SECONDS) | graders
            except (OSError, InputError, ValueError):
                raise InputError(f"--peer-python {str(python)!r} must be a Python of version 3.11 or later.") from None
    total = sum(map(len, sheets.values())) + len(anew) + len(graders) * len(sheets.get(SHARED, ()))
    own: list[sheet.SheetResult] = []
    with progress(total, "rows") as after:
        if SHARED in sheets:
            # The first symbolic call starts the worker processes, which must not count as a row's time.
            verify("math", "\\sin^2 x", "1 - \\cos^2 x")
        for name, rows in sheets.items():
            own.append(sheet.measure_grader(sheet.grade, rows, deadline=config.deadline, after=after))
            yield GraderFigures("palaestra", name, own[-1])
        yield GraderFigures("palaestra", "all", functools.reduce(operator.add, own))
        if anew:
            yield GraderFigures("palaestra", "math, said anew", sheet.measure_grader(sheet.grade, anew, after=after))
        for grader in (name for name in peers.GRADERS if name in graders):
            python, version = graders[grader]
            with contextlib.closing(Peer(grader, python, config.peer_seconds)) as peer:
                result = sheet.measure_grader(peer, sheets[SHARED], deadline=config.peer_seconds, after=after)
                yield GraderFigures(f"{grader} {version}", SHARED, result, peer.wrote)


def measure_throughputs(seconds: float) -> dict[str, float]:
    """Return checks per second of the verifier "math", one after the other, on distinct pairs.

    "numeric": a decimal and a fraction. "polynomial": a product and the polynomial that it expands to, decided in this
    process. "symbolic": an identity of sines and cosines, proved in a worker process.
    """

    def numeric(n: int) -> tuple[str, str]:
        return f"{n}.25", f"\\frac{{{4 * n + 1}}}{{4}}"

    def polynomial(n: int) -> tuple[str, str]:
        return f"(x+{n})(x+{n + 1})", f"x^2 + {2 * n + 1}x + {n * n + n}"

    def symbolic(n: int) -> tuple[str, str]:
        return f"2\\sin({n}x)\\cos({n}x)", f"\\sin({2 * n}x)"

    return {pair.__name__: _rate(pair, seconds) for pair in (numeric, polynomial, symbolic)}


def _rate(pair: Callable[[int], tuple[str, str]], seconds: float) -> float:
    for n in range(3):
        verify("math", *pair(n + 1))
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        answer, reference = pair(done + 10)
        if not verify("math", answer, reference).success:
            raise AssertionError(f"{answer} must equal {reference}")
        done += 1
    return done / spent


def _print(
    measured: Sequence[GraderFigures], fuzz: FuzzResult | None, speeds: dict[str, float], failures: bool
) -> None:
    from rich.console import Console

    console = Console()
    verdicts, times = [], []
    for line in measured:
        found = line.result
        wrong, refused = len(found.false_positives), len(found.false_negatives)
        shares = f"{wrong} ({found.false_positive_share:.1%})", f"{refused} ({refused / max(1, found.right):.1%})"
        counts = str(found.rows), *shares, str(len(found.undecided)), str(len(found.errors))
        verdicts.append((line.grader, line.over, *counts))
        milliseconds = (f"{1e3 * value:.3g}" for value in (found.p50, found.p99, found.worst))
        times.append((line.grader, line.over, *milliseconds, str(len(found.over_deadline)), str(line.wrote)))
    head = ("grader", "rows", "n", "false +", "false -", "undec.", "errors")
    console.print(make_table(head, verdicts, text=2, plain=True, title="verdicts over the labelled sheet"))
    title = "time of a row, rows over the limit, rows that left a file behind"
    head = ("grader", "rows", "p50 ms", "p99 ms", "worst ms", "late", "wrote")
    console.print(make_table(head, times, text=2, plain=True, title=title))
    if fuzz is not None:
        console.print(
            f"random pairs with letters of units as variables: {len(fuzz.refused):,} of {fuzz.right:,} right answers "
            f"refused, {len(fuzz.accepted):,} of {fuzz.wrong:,} wrong ones accepted, {len(fuzz.undecided):,} undecided"
        )
    for name, value in speeds.items():
        console.print(f"{name} checks on one core: {value:,.0f} a second")
    if failures and fuzz is not None:
        for name, pairs in (("accepted", fuzz.accepted), ("refused", fuzz.refused), ("undecided", fuzz.undecided)):
            for pair in pairs:
                text = f"random pair, {name}: {pair.answer!r} for {pair.reference!r} ({pair.what})"
                console.print(text, markup=False, highlight=False)
    if failures:
        for line in measured:
            # "all" only adds up the lines above it.
            for name, row in () if line.over == "all" else _failures(line.result):
                text = f"{line.grader}, {line.over}: {name}: {plain_text(str(row))}"
                console.print(text, markup=False, highlight=False)


def _failures(result: sheet.SheetResult) -> Iterator[tuple[str, sheet.Row]]:
    yield from (("accepted though wrong", row) for row in result.false_positives)
    yield from (("refused though right", row) for row in result.false_negatives)
    yield from (("not decided", row) for row in result.undecided)
    yield from ((f"raised {error}", row) for row, error in result.errors)


def _as_json(line: GraderFigures) -> dict[str, Any]:
    result = line.result
    counted = ("false_positives", "false_negatives", "undecided", "errors", "over_deadline")
    return {
        "grader": line.grader,
        "rows": line.over,
        "n": result.rows,
        "right": result.right,
        **{name: len(getattr(result, name)) for name in counted},
        "rows_that_wrote_files": line.wrote,
        **{f"{name}_ms": 1e3 * getattr(result, name) for name in ("p50", "p99", "worst")},
        "failures": [
            {"what": name, "kind": row.kind, "answer": row.given, "reference": row.reference, "family": row.family}
            for name, row in _failures(result)
        ],
    }
