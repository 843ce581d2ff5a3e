"""Every verifier by name: ``verify("number", "3/4", Fraction(3, 4))``.

A verifier is a pure function ``(answer, reference, **options) -> Verdict``. The answer is untrusted text of any length
and content, so a verifier is bounded in time and memory and never evaluates text; what it parses it parses with a
grammar, and the one kind that runs something, "sql", runs it on a read-only database under an authorizer. The
reference comes from the task and is trusted, and a wrong one raises `InputError`. The gold answer scores 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...registry import Registry
from ..answers import THOUGHTS, Form, check_format, readings
from ..verdict import Verdict

Verifier = Callable[..., Verdict]

VERIFIERS: Registry[Verifier] = Registry("verifier", modules=[__package__ or ""])

# How answers are laid out that are no single line, for `verify(extract=...)`.
_FORMS: dict[str, Form] = {
    **dict.fromkeys(("list", "math", "ordering", "interval"), "values"),
    **dict.fromkeys(("grid", "cells", "json", "structure", "toolcall", "sql"), "lines"),
}


def verify(
    kind: str,
    answer: str,
    reference: Any,
    *,
    extract: str | None = None,
    thoughts: Sequence[str] = THOUGHTS,
    **options: Any,
) -> Verdict:
    """Judge ``answer`` against ``reference`` with the verifier named ``kind``.

    Args:
        kind: a name in `VERIFIERS`.
        answer: the bare answer; with ``extract``, a whole reply.
        reference: what the verifier compares with.
        extract: None, or how the answer is found in a reply, as environments do: "any", "boxed", "tag", "last_line" or
            "whole"; see `rewards.answers.extract`. Of its readings the first that has the required form counts.
        thoughts: names of the tags around thoughts, which are dropped where ``extract`` is given.
        **options: of the verifier.

    Raises:
        InputError: unknown kind or format, or a reference that this verifier cannot use.
    """
    verifier = VERIFIERS[kind]
    if extract is not None:
        check_format(extract)
    if not isinstance(answer, str):
        return rejected(f"The answer must be text, not {type(answer).__name__}.")
    if extract is None:
        return verifier(answer, reference, **options)
    first = None
    for reading in readings(answer, extract, _FORMS.get(kind, "line"), thoughts):
        verdict = verifier(reading, reference, **options)
        if not verdict.malformed:
            return verdict
        first = first or verdict
    return first or rejected("There is no answer.")


def rejected(feedback: str) -> Verdict:
    """The verdict on an answer that does not have the required form."""
    return Verdict(0.0, False, feedback=feedback, malformed=True)


CORRECT = Verdict(1.0, True, feedback="Correct.")
WRONG = Verdict(0.0, False, feedback="The answer is not correct.")
