"""Reward of what a program writes to its two streams, the output and the error output (CodeBoost, arXiv 2508.05242).

The streams are predicted, in the blocks ``<stdout></stdout>`` and ``<stderr></stderr>`` of a response, or written by a
program that was completed. ``episode.extra("output_streams")`` is {"expected": streams, "given": streams}, each a
mapping from "stdout" and "stderr" to text, without the streams that a response leaves out; None before an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register

STREAMS = ("stdout", "stderr")
STDERR_SHARE = 0.5  # weight of the error output relative to the output, as in the released code


def read_streams(text: str) -> dict[str, str]:
    """Return the content of the last closed block of each stream in ``text``; a stream without a block is left out."""
    found, text = {}, text.replace("\r\n", "\n")
    for name in STREAMS:
        end = text.rfind(f"</{name}>")
        start = text.rfind(f"<{name}>", 0, end) if end >= 0 else -1
        if start >= 0:
            found[name] = text[start + len(name) + 2 : end]
    return found


def same_output(first: str, second: str) -> bool:
    """Return True if two texts are equal up to one line break at the beginning and one at the end."""
    return bool(_trimmed(first) & _trimmed(second))


def _trimmed(text: str) -> set[str]:
    """Return the text with and without one line break at the beginning and at the end."""
    ends = {text, text.removesuffix("\n")}
    return ends | {end.removeprefix("\n") for end in ends}


def line_overlap(first: str, second: str) -> float:
    """Return the intersection of two multisets of lines over their union; blank lines do not count; 1 if both are
    empty."""
    a, b = (Counter(line.rstrip() for line in text.split("\n") if line.strip()) for text in (first, second))
    union = sum((a | b).values())
    return sum((a & b).values()) / union if union else 1.0


def stream_accuracy(given: Mapping[str, str], expected: Mapping[str, str], stderr: bool = True) -> float:
    """Return 1/2 (1[output equal] + 1/2 overlap of the lines of the error output), at most 0.75; without ``stderr``,
    1[output equal]. A stream that is not given counts as wrong."""
    right = float("stdout" in given and same_output(given["stdout"], expected["stdout"]))
    if not stderr:
        return right
    overlap = line_overlap(given["stderr"], expected["stderr"]) if "stderr" in given else 0.0
    return 0.5 * (right + STDERR_SHARE * overlap)


@register("error-aware")
class ErrorAware(Reward):
    """Reward of a whole prediction of both streams: 0.9 by accuracy (`stream_accuracy`), and 0.1 by the share of the
    blocks that are there; 0 without any.

    As published, a right prediction earns 0.775, and a wrong output 0.325 if the error output is rightly left empty.
    With ``stderr=False`` these are 1 and 0.1.

    Raises:
        InputError: when called, ``episode.extra("output_streams")`` has another form.
    """

    paper = "CodeBoost, arXiv 2508.05242 (error-aware reward)"
    complete = True
    needs = frozenset({"output_streams"})
    stderr: bool = option(default=True, says="the error output counts.")
    form: float = option(default=0.1, low=0, high=1, says="weight of the blocks.")

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.form + (1 - self.form) * (0.5 * (1 + STDERR_SHARE) if self.stderr else 1.0)

    def value(self, episode: Episode) -> float:
        streams = episode.extra("output_streams")
        if streams is None:
            return 0.0
        if not isinstance(streams, Mapping) or not {"expected", "given"} <= set(streams):
            raise InputError(f"the extra 'output_streams' must have 'expected' and 'given', not {streams!r}.")
        given = streams["given"]
        if not given:
            return 0.0
        wanted = STREAMS if self.stderr else STREAMS[:1]
        share = sum(name in given for name in wanted) / len(wanted)
        accuracy = stream_accuracy(given, streams["expected"], self.stderr)
        return (1 - self.form) * accuracy + self.form * share
