"""Every verifier by name: ``verify("number", "3/4", Fraction(3, 4))``.

A verifier is a pure function ``(answer, reference, **options) -> Verdict``. The answer is untrusted text of any length
and content, so a verifier is bounded in time and memory and never evaluates text; what it parses it parses with a
grammar, and the one kind that runs something, "sql", runs it on a read-only database under an authorizer. The
reference comes from the task and is trusted, and a wrong one raises `InputError`. The gold answer scores 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...registry import Registry
from ..verdict import Verdict

Verifier = Callable[..., Verdict]

VERIFIERS: Registry[Verifier] = Registry("verifier", modules=[__package__ or ""])


def verify(kind: str, answer: str, reference: Any, **options: Any) -> Verdict:
    """Judge ``answer`` against ``reference`` with the verifier named ``kind``.

    Raises:
        InputError: unknown kind, or a reference that this verifier cannot use.
    """
    verifier = VERIFIERS[kind]
    if not isinstance(answer, str):
        return rejected(f"The answer must be text, not {type(answer).__name__}.")
    return verifier(answer, reference, **options)


def rejected(feedback: str) -> Verdict:
    """The verdict on an answer that does not have the required form."""
    return Verdict(0.0, False, feedback=feedback, malformed=True)


CORRECT = Verdict(1.0, True, feedback="Correct.")
WRONG = Verdict(0.0, False, feedback="The answer is not correct.")
