"""Detection of references that a verifier cannot use, when data are loaded instead of in the middle of a run.

kept = [row for row in rows if unreadable("math", row["answer"], policy="dataset") is None]
report = check_references("math", answers, policy="dataset")      # and one warning that counts them
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, shorten
from .registry import VERIFIERS, verify

MAX_SHOWN = 80  # characters of a reference in a message


def unreadable(kind: str, reference: Any, **options: Any) -> str | None:
    """Explain in one sentence why the verifier ``kind`` cannot use a reference; return None if it can.

    A reference that is text must also be right as an answer to itself.

    Raises:
        InputError: an unknown kind.
    """
    VERIFIERS[kind]
    answer = reference if isinstance(reference, str) else str(reference)
    try:
        verdict = verify(kind, answer, reference, **options)
    except InputError as error:
        return str(error)
    if isinstance(reference, str) and not verdict.success:
        return f"it is not right as an answer to itself ({verdict.feedback})"
    return None


@dataclass(frozen=True)
class References:
    """Result of `check_references`.

    Args:
        kind: name of the verifier.
        total: number of references.
        unreadable: (position from 0, reference, reason) for each reference that the verifier cannot use.
    """

    kind: str
    total: int
    unreadable: tuple[tuple[int, Any, str], ...]

    @property
    def readable_share(self) -> float:
        """Share of readable references; 1 for an empty list."""
        return 1.0 - len(self.unreadable) / self.total if self.total else 1.0

    def __str__(self) -> str:
        if not self.unreadable:
            return f"The verifier {self.kind!r} can read all of {self.total} references."
        position, reference, reason = self.unreadable[0]
        shown = shorten(repr(reference), MAX_SHOWN)
        return (
            f"The verifier {self.kind!r} cannot read {len(self.unreadable)} of {self.total} references, which should "
            f"be left out; the first is number {position + 1}, {shown}: {reason}"
        )


def check_references(kind: str, references: Iterable[Any], *, warn: bool = True, **options: Any) -> References:
    """Find the references that the verifier ``kind`` cannot use; one warning states their number and shows the first.

    Args:
        kind: name of the verifier.
        references: references in the form that `palaestra.rewards.verify` takes.
        warn: warn if there are unreadable references.
        **options: options of the verifier; if it refuses them, every reference is reported for that reason.

    Raises:
        InputError: an unknown kind.
    """
    total, out = 0, []
    for position, reference in enumerate(references):
        total += 1
        if (reason := unreadable(kind, reference, **options)) is not None:
            out.append((position, reference, reason))
    found = References(kind, total, tuple(out))
    if out and warn:
        warnings.warn(str(found), stacklevel=2)
    return found
