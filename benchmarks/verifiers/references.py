"""Part of ``palaestra bench verifiers`` that works on external data: files of reference answers, and labelled answers.

The package contains none of these data: public lists of answers and public outputs of models are in other repositories,
in files of JSON, JSON lines or CSV.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...envs.datasets.layouts import find_boxed
from ...envs.datasets.sources import SUFFIXES, read_source
from ...errors import InputError
from ...rewards.verifiers.mathematics.leniencies import POLICIES
from ...rewards.verifiers.references import unreadable
from ...rewards.verifiers.registry import verify
from ..harness import make_table, plain_text, wide_console

# Usual fields of a record's answer, in the order in which they are tried.
FIELDS = ("final_answer", "expected_answer", "reference", "answer", "Answer", "target", "gt", "solution")
SHOWN = 3  # number of unreadable references of a file that are printed without --failures
OUTCOMES: tuple[str, ...] = ("accepted", "refused", "undecided", "unreadable")


@dataclass(frozen=True)
class ReadableReferences:
    """The references of one file.

    Args:
        file: path of the file in the folder.
        references: number of records with a reference.
        unreadable: policy -> (reference, reason) for each reference that the verifier "math" cannot use.
    """

    file: str
    references: int
    unreadable: dict[str, list[tuple[str, str]]]

    def share(self, policy: str) -> float:
        """Return the share of readable references; 1 without references."""
        return 1.0 - len(self.unreadable[policy]) / self.references if self.references else 1.0


@dataclass(frozen=True)
class JudgedAnswers:
    """Labelled answers of one file under one policy.

    Args:
        file: name of the file.
        policy: policy of the verifier "math".
        counts: label ("right" or "wrong") -> verdict (one of `OUTCOMES`) -> number of rows.
        disagreements: (answer, reference, label) of each row whose verdict differs from its label.
    """

    file: str
    policy: str
    counts: dict[str, dict[str, int]]
    disagreements: list[tuple[str, str, bool]]


def load_references(folder: Path, field: str | None) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and references of every data file in a folder; files without references are left out.

    Raises:
        InputError: no such folder, or a file that cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"--references must name a folder with files of data, not {str(folder)!r}.")
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(SUFFIXES)):
        found = [read_reference(record, field) for _, record in read_source(str(file))]
        references = [reference for reference in found if reference]
        if references:
            yield file.relative_to(folder).as_posix(), references


def read_reference(record: dict[str, Any], field: str | None = None) -> str:
    r"""Read the answer of a record, "" without one: the text of a field, or for a worked solution the part after "####"
    or in the last ``\boxed{}``. A list of answers is joined with commas."""
    for name in (field,) if field else FIELDS:
        value = record.get(name)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        if value in (None, ""):
            continue
        text = str(value).strip()
        return find_boxed(text) if name == "solution" else text.rpartition("####")[2].strip()
    return ""


def check_references(folder: Path, field: str | None = None) -> Iterator[ReadableReferences]:
    """Yield for each file the references that the verifier "math" cannot use, because it cannot read them or does not
    accept them as answers to themselves."""
    for file, references in load_references(folder, field):
        out: dict[str, list[tuple[str, str]]] = {}
        for policy in POLICIES:
            reasons = ((reference, unreadable("math", reference, policy=policy)) for reference in references)
            out[policy] = [(reference, reason) for reference, reason in reasons if reason is not None]
        yield ReadableReferences(file, len(references), out)


def judge_answers(file: Path) -> Iterator[JudgedAnswers]:
    """Yield the verdicts under each policy on records with "answer", "reference" and "label" (true for right answers).

    Raises:
        InputError: no such file, or a record without one of these fields.
    """
    rows: list[tuple[str, str, bool]] = []
    for place, record in read_source(str(file)):
        if not {"answer", "reference", "label"} <= record.keys() or not isinstance(record["label"], bool):
            raise InputError(f'{place} must have "answer", "reference" and "label", which is true or false.')
        rows.append((str(record["answer"]), str(record["reference"]), record["label"]))
    for policy in POLICIES:
        counts = {name: dict.fromkeys(OUTCOMES, 0) for name in ("right", "wrong")}
        disagreements = []
        for answer, reference, label in rows:
            try:
                verdict = verify("math", answer, reference, policy=policy)
                outcome = ("accepted" if verdict.success else "refused") if verdict.valid else "undecided"
            except InputError:
                outcome = "unreadable"
            counts["right" if label else "wrong"][outcome] += 1
            if outcome != ("accepted" if label else "refused"):
                disagreements.append((answer, reference, label))
        yield JudgedAnswers(file.name, policy, counts, disagreements)


def run_on_data(
    references: Path | None, labelled: Sequence[Path], field: str | None, failures: bool
) -> dict[str, list[dict[str, Any]]]:
    """Measure the given files, print tables, and return the results as JSON-able data."""
    lists = [] if references is None else list(check_references(references, field))
    verdicts = [line for file in labelled for line in judge_answers(file)]
    _print(lists, verdicts, failures)
    return {"references": [asdict(line) for line in lists], "labelled": [asdict(line) for line in verdicts]}


def _print(lists: Sequence[ReadableReferences], verdicts: Sequence[JudgedAnswers], failures: bool) -> None:
    console = wide_console()

    def say(text: str) -> None:
        console.print(plain_text(text)[:400], markup=False, highlight=False, soft_wrap=True)

    if lists:
        rows = [(one.file, str(one.references), *(f"{one.share(name):.2%}" for name in POLICIES)) for one in lists]
        title = "references that the verifier math can use"
        console.print(make_table(("file", "references", *POLICIES), rows, text=1, title=title, plain=True))
        for line in lists:
            left = line.unreadable["dataset"]
            for reference, reason in left if failures else left[:SHOWN]:
                say(f"{line.file}: {reference!r}: {reason}")
            if len(left) > SHOWN and not failures:
                say(f"{line.file}: and {len(left) - SHOWN} more; --failures lists them")
    if verdicts:
        rows = [
            (line.file, f"{line.policy}, {label}", *map(str, (sum(counts.values()), *counts.values())))
            for line in verdicts
            for label, counts in line.counts.items()
        ]
        head = ("file", "policy and label", "n", "acc.", "ref.", "undec.", "unread.")
        console.print(make_table(head, rows, text=2, title="answers with labels by others", plain=True))
    for line in verdicts if failures else ():
        for answer, reference, label in line.disagreements:
            said = "right" if label else "wrong"
            say(f"{line.file}, {line.policy}: {answer!r} for {reference!r}, labelled {said}")
