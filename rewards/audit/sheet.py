r"""Sheets of labelled pairs: answers and references, labelled right or wrong by hand, for every verifier.

The labels follow from mathematics (or from the definition of the format) and never come from the output of a program.
The sheet of the verifier KIND is the file ``sheet/KIND.jsonl``, with lines such as

    {"kind": "math", "answer": "500 cm", "reference": "5 m", "label": true, "family": "unit"}

with optional "options" of the verifier and a "note". A long answer is written ``{"repeat": ["9", 1000000]}``, with
optional "before" and "after". `measure_grader` runs any grader over rows and collects its errors and times.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import Any

from ...errors import unknown_name
from ..verifiers import verify


@dataclass(frozen=True)
class Row:
    """One labelled pair.

    Args:
        kind: name of the verifier.
        given: the answer, or the parts of a long answer as in the module's docstring.
        reference: the reference, in the form that the verifier takes.
        label: True for a right answer.
        family: subject of the row ("unit", "injection", …).
        options: options of the verifier.
        note: the reason for the row.
    """

    kind: str
    given: str | Mapping[str, Any]
    reference: Any
    label: bool
    family: str
    options: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    @cached_property
    def answer(self) -> str:
        """Answer as text."""
        if isinstance(self.given, str):
            return self.given
        text, times = self.given["repeat"]
        return self.given.get("before", "") + text * times + self.given.get("after", "")

    def __str__(self) -> str:
        answer = self.answer if len(self.answer) <= 60 else f"{self.answer[:40]}… ({len(self.answer):,} characters)"
        return f"{self.kind}, {self.family}: {answer!r} for {self.reference!r:.80}"


# Callable from a row to True if the answer is accepted, False if refused, None if the grader did not decide.
Grader = Callable[[Row], "bool | None"]


@dataclass(frozen=True)
class SheetResult:
    """Errors and times of a grader on rows of a sheet.

    Args:
        seconds: wall time of each row, in the order of the rows.
        false_positives: wrong answers that the grader accepted.
        false_negatives: right answers that the grader refused.
        undecided: rows without a verdict.
        errors: rows on which the grader raised an exception, with the error as text.
        over_deadline: rows that took more than 1.1 times the deadline.
        right: number of rows labelled right.
    """

    seconds: tuple[float, ...]
    false_positives: tuple[Row, ...]
    false_negatives: tuple[Row, ...]
    undecided: tuple[Row, ...]
    errors: tuple[tuple[Row, str], ...]
    over_deadline: tuple[Row, ...]
    right: int

    @property
    def rows(self) -> int:
        return len(self.seconds)

    def __add__(self, other: SheetResult) -> SheetResult:
        """Concatenate two results."""
        return SheetResult(
            self.seconds + other.seconds,
            self.false_positives + other.false_positives,
            self.false_negatives + other.false_negatives,
            self.undecided + other.undecided,
            self.errors + other.errors,
            self.over_deadline + other.over_deadline,
            self.right + other.right,
        )

    @property
    def failures(self) -> tuple[Row, ...]:
        """All rows that did not get the right verdict."""
        return (*self.false_positives, *self.false_negatives, *self.undecided, *(row for row, _ in self.errors))

    @property
    def false_positive_share(self) -> float:
        """False positives divided by rows labelled wrong."""
        return len(self.false_positives) / max(1, self.rows - self.right)

    @property
    def missed_share(self) -> float:
        """Right answers that were not accepted, for any reason, divided by rows labelled right."""
        undecided = sum(row.label for row in self.undecided) + sum(row.label for row, _ in self.errors)
        return (len(self.false_negatives) + undecided) / max(1, self.right)

    def quantile(self, share: float) -> float:
        """Return the time in seconds that this share of the rows did not exceed (nearest rank)."""
        ordered = sorted(self.seconds)
        return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0

    @property
    def p50(self) -> float:
        return self.quantile(0.5)

    @property
    def p99(self) -> float:
        return self.quantile(0.99)

    @property
    def worst(self) -> float:
        return max(self.seconds, default=0.0)


def kinds() -> list[str]:
    """List the names of the verifiers that have a sheet."""
    return sorted(entry.name.removesuffix(".jsonl") for entry in _folder().iterdir() if entry.name.endswith(".jsonl"))


def load_rows(kind: str | None = None) -> list[Row]:
    """Load the rows of one verifier, or of all if ``kind`` is None.

    Raises:
        InputError: no sheet has that name.
    """
    known = kinds()
    if kind is not None and kind not in known:
        raise unknown_name("sheet", kind, known)
    return [row for name in known if kind in (None, name) for row in _read(name)]


def grade(row: Row) -> bool | None:
    """Grade a row with `verify`. Return None if the verdict is not valid."""
    verdict = verify(row.kind, row.answer, row.reference, **row.options)
    return verdict.success if verdict.valid else None


def measure_grader(
    grader: Grader,
    rows: Iterable[Row],
    *,
    deadline: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    after: Callable[[Row], object] | None = None,
) -> SheetResult:
    """Run ``grader`` over ``rows`` and collect its errors and times.

    Args:
        grader: returns True, False, or None if it did not decide. `TimeoutError` counts as None; any other exception is
            recorded as an error and not raised.
        rows: labelled pairs.
        deadline: seconds that a row may take; a row over 1.1 times that is recorded in ``over_deadline``.
        clock: a monotonic clock, in seconds.
        after: called with each row once it is graded (to show progress).
    """
    seconds: list[float] = []
    positives: list[Row] = []
    negatives: list[Row] = []
    undecided: list[Row] = []
    errors: list[tuple[Row, str]] = []
    late: list[Row] = []
    right = 0
    for row in rows:
        row.answer  # noqa: B018 -- builds a long answer before the clock starts
        right += row.label
        start = clock()
        try:
            accepted = grader(row)
        except TimeoutError:
            accepted = None
        except Exception as error:
            accepted = row.label
            errors.append((row, f"{type(error).__name__}: {error}"[:200]))
        seconds.append(clock() - start)
        if accepted is None:
            undecided.append(row)
        elif accepted and not row.label:
            positives.append(row)
        elif row.label and not accepted:
            negatives.append(row)
        if deadline is not None and seconds[-1] > 1.1 * deadline:
            late.append(row)
        if after is not None:
            after(row)
    wrong = (tuple(positives), tuple(negatives), tuple(undecided), tuple(errors))
    return SheetResult(tuple(seconds), *wrong, tuple(late), right)


def _folder() -> Any:
    return files(str(__package__)) / "sheet"


def _read(kind: str) -> Iterator[Row]:
    for line in (_folder() / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        yield Row(
            data["kind"],
            data["answer"],
            data["reference"],
            data["label"],
            data["family"],
            data.get("options", {}),
            data.get("note", ""),
        )
