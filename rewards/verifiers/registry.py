"""Registry of verifiers, and `verify`: ``verify("number", "3/4", Fraction(3, 4))``.

A verifier is a pure function ``(answer, reference, **options) -> Verdict``. The answer is untrusted text of any length
and content, so a verifier is bounded in time and memory, parses text with a grammar and never evaluates it. Only "sql"
executes its answer, on a read-only database under an authorizer. The reference comes from the task and is trusted; an
unusable reference raises `InputError`. The gold answer scores 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...registry import Registry
from ..answers import THOUGHTS, Form, check_format, readings, without_thoughts
from ..answers.numbers import plain_number
from ..verdict import Verdict

Verifier = Callable[..., Verdict]

VERIFIERS: Registry[Verifier] = Registry("verifier", modules=[__package__ or ""], table="verifiers")

# Verifiers of numbers. Their grammars are strict, so `verify_reading` first rewrites other spellings in replies.
NUMBERS = frozenset({"number", "integer"})

# Verifier -> layout of its answers, if not a single line, for `verify(extract=...)`.
ANSWER_FORMS: dict[str, Form] = {
    **dict.fromkeys(("list", "math", "ordering", "interval"), "values"),
    **dict.fromkeys(("grid", "cells", "json", "structure", "toolcall", "sql"), "lines"),
    "constraints": "program",
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
        reference: the gold answer, in the form that the verifier requires.
        extract: None, or the answer's format in a reply, as for environments: "any", "boxed", "tag", "last_line" or
            "whole"; see `rewards.answers.extract`. Of the answer's readings the first in the required form is judged.
        thoughts: names of the tags around thoughts, which are dropped if ``extract`` is given.
        **options: options of the verifier.

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
    for reading in readings(answer, extract, ANSWER_FORMS.get(kind, "line"), thoughts):
        verdict = verify_reading(kind, reading, reference, **options)
        first = first or verdict
        if not verdict.malformed:
            first = verdict
            break
    if kind == "text" and extract == "any" and not (first and first.success):
        # Words that look like a label or a remark may be the answer.
        whole = verifier(without_thoughts(answer, thoughts) or "", reference, **options)
        return whole if whole.success else first or whole
    return first or rejected("There is no answer.")


def verify_reading(
    kind: str, reading: str, reference: Any, units: frozenset[str] | None = frozenset(), **options: Any
) -> Verdict:
    """Judge one reading of a reply. Unlike the verifier itself, it accepts numbers in every spelling that
    `plain_number` reads.

    Args:
        units: words that may follow a number, as for `plain_number`.
    """
    verdict = VERIFIERS[kind](reading, reference, **options)
    if verdict.malformed and kind in NUMBERS and (plain := plain_number(reading, units, stated=True)) is not None:
        return VERIFIERS[kind](plain, reference, **options)
    return verdict


def rejected(feedback: str) -> Verdict:
    """Return the verdict on an answer that does not have the required form, with ``feedback`` as the fault."""
    return Verdict(0.0, False, feedback=feedback, malformed=True)


CORRECT = Verdict(1.0, True, feedback="Correct.")
WRONG = Verdict(0.0, False, feedback="The answer is not correct.")
