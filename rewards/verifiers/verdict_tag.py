"""Verifier "verdict": a judge's decision, in the tag at the end of its text, against the right decision."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

WINDOW = 80


@VERIFIERS.register("verdict")
def verify_verdict(
    answer: str,
    reference: str,
    *,
    labels: Sequence[str] = ("A", "B"),
    window: int = WINDOW,
    tagged: bool = False,
) -> Verdict:
    """Check that the last characters of ``answer`` hold the verdict ``[[reference]]`` and no other label's verdict.

    With labels A and B this is the reward of RM-R1 (arXiv 2505.02387), there +1 and −1; with labels for a right and a
    wrong solution, the reward of Libra (arXiv 2507.21645). A tag that the window cuts off does not count.

    Args:
        answer: the judge's text.
        reference: the right label.
        labels: all labels, at least two, distinct, without brackets.
        window: number of characters at the end that are read.
        tagged: require ``<answer>[[A]]</answer>``, as the released code of RM-R1 does.

    Raises:
        InputError: labels of another form, a reference that is not a label, or a window below 1.
    """
    usable = isinstance(labels, Sequence) and not isinstance(labels, str)
    usable = usable and all(isinstance(label, str) and label.strip("[] ") for label in labels)
    if not usable or not len(set(labels)) == len(labels) >= 2:
        raise InputError(f"the labels of a verdict must be at least two different texts, not {labels!r}.")
    if reference not in labels:
        raise InputError(f"the verdict verifier needs one of {list(labels)!r} as reference, not {reference!r}.")
    if isinstance(window, bool) or not isinstance(window, int) or window < 1:
        raise InputError(f"the window of the verdict verifier must be at least 1 character, not {window!r}.")
    end = answer[-window:]
    form = "<answer>[[{}]]</answer>" if tagged else "[[{}]]"
    found = [label for label in labels if form.format(label) in end]
    others = [label for label in labels if f"[[{label}]]" in end and label not in found]
    if len(found) != 1 or others:
        return rejected(f"The text must end in one verdict, such as {form.format(labels[0])}."[:190])
    return CORRECT if found[0] == reference else WRONG
