"""Signals of trouble: loops, calls that fail, failures of the machinery, and giving up.

Loops and efficiency follow Signals (arXiv 2604.00356), with one deliberate difference: actions that are repeated count
as a loop only if they change nothing, as walking three steps ahead is no fault.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence

from .traces import RecordedCall, Signal, Trace, any_of

LOOP = 3
"""Fewest equal actions, failing calls of one tool, or cycles of two actions, that count as a loop."""
REPEATS = 5
VIEWS = 12
"""Fewest equal actions that count as a loop if observations are no text: views of different places may be equal."""
EXCESS = 0.3


def efficiency(turns: int, baseline: float) -> float:
    """Return ``1 / (1 + 0.3 (turns - baseline))``, 1 up to the baseline (Signals, arXiv 2604.00356)."""
    return 1.0 / (1.0 + EXCESS * max(0.0, turns - baseline))


def _runs(
    calls: Sequence[RecordedCall], same: Callable[[RecordedCall, RecordedCall], bool]
) -> Iterator[tuple[int, int]]:
    """Yield (start, length) of the longest runs of neighbours that are ``same``."""
    start = 0
    for place in range(1, len(calls) + 1):
        if place == len(calls) or not same(calls[place - 1], calls[place]):
            yield start, place - start
            start = place


def find_retries(trace: Trace) -> Iterator[Signal]:
    """Find the same call at least three times in a row, with the same response."""

    def same(one: RecordedCall, two: RecordedCall) -> bool:
        return (one.tool, one.arguments, one.after) == (two.tool, two.arguments, two.after) and one.after == one.before

    for start, length in _runs(trace.calls, same):
        first = trace.calls[start]
        fewest = LOOP if first.after is None or isinstance(first.after, str) else VIEWS
        if length >= fewest:
            yield Signal("retry", start, f"{length} times {first.text or first.tool}")


def find_drift(trace: Trace) -> Iterator[Signal]:
    """Find at least three failing calls of one tool in a row, with changing arguments."""

    def same(one: RecordedCall, two: RecordedCall) -> bool:
        return one.tool == two.tool and one.arguments != two.arguments and one.failed and two.failed

    for start, length in _runs(trace.calls, same):
        if length >= LOOP and trace.calls[start].failed:
            yield Signal("drift", start, f"{length} failing calls of {trace.calls[start].tool}")


def find_oscillation(trace: Trace) -> Iterator[Signal]:
    """Find two different actions that alternate for at least three cycles, and undo each other."""
    calls = trace.calls
    place = 0
    while place + 2 * LOOP <= len(calls):
        length = 2
        while place + length < len(calls) and _repeats(calls[place + length], calls[place + length - 2]):
            length += 1
        first, second = calls[place : place + 2]
        if length >= 2 * LOOP and (first.tool, first.arguments) != (second.tool, second.arguments):
            yield Signal("oscillation", place, f"{length // 2} times {first.text or first.tool}, {second.tool}")
            place += length
        else:
            place += 1


def _repeats(one: RecordedCall, two: RecordedCall) -> bool:
    return (one.tool, one.arguments, one.before) == (two.tool, two.arguments, two.before)


def find_unusable(trace: Trace) -> Iterator[Signal]:
    """Find episodes of which three actions, or half of them, could not be used."""
    failed = [n for n, turn in enumerate(trace.row.get("turns") or ()) if turn.get("action_error") is not None]
    if failed and (len(failed) >= LOOP or 2 * len(failed) >= len(trace.calls)):
        reason = trace.row["turns"][failed[0]]["action_error"]
        yield Signal("unusable actions", failed[0], f"{len(failed)} of {len(trace.calls)}: {reason}")


_NO_TOOL = re.compile(
    r"\b(?:unknown|no such|not a|no) (?:tool|command|function|action)\b|\b(?:tool|command|function)\b[^.]{0,40}"
    r"\b(?:not found|does not exist|is unknown|is not known|is not available)",
    re.IGNORECASE,
)


def find_unknown_tools(trace: Trace) -> Iterator[Signal]:
    """Find calls of tools that the environment does not have."""
    for place, turn in enumerate(trace.row.get("turns") or ()):
        texts = [turn.get("action_error"), trace.calls[place].after if trace.calls[place].failed else None]
        if any(isinstance(text, str) and _NO_TOOL.search(text) for text in texts):
            yield Signal("unknown tool", place, trace.calls[place].text)
            return


_MACHINERY = any_of(
    r"\bHTTP (?:status )?[45][0-9][0-9]\b|\bservice unavailable|\bbad gateway",
    r"\brate.?limit|\btoo many requests",
    r"\btimed? ?out\b|\btimeout\b",
    r"\bconnection (?:refused|reset|error|aborted)|\bnetwork\b|\bunreachable\b",
    r"\bcontext (?:length|window|limit)|\bout of memory\b",
)


def find_machinery(trace: Trace) -> Iterator[Signal]:
    """Find failures of the machinery: invalid episodes, and errors of network, time limits and context."""
    row = trace.row
    if row.get("reward_valid") is False:
        yield Signal("machinery", max(0, len(trace.calls) - 1), str(row.get("error") or "invalid episode"))
        return
    texts = [(len(trace.calls) - 1, row.get("error"))]
    texts += [(place, turn.get("action_error")) for place, turn in enumerate(row.get("turns") or ())]
    texts += [(place, call.after) for place, call in enumerate(trace.calls) if call.failed]
    for place, text in texts:
        if isinstance(text, str) and (match := _MACHINERY.search(text)):
            yield Signal("machinery", max(0, place), match[0])
            return


_GIVING_UP = any_of(
    r"\bI(?: am|'m)? (?:give up|giving up|quit|surrender|stuck|unable|not able|not sure how|have no idea)\b",
    r"\bI (?:do not|don't) know\b|\bI(?:'ll| will| would rather)? (?:stop|skip|pass)\b|^\W*no answer\W*$",
    r"\b(?:can(?:not|'t| not)|unable to|could not|couldn't) (?:be )?(?:solve|do|answer|find|figure|determine|complete|"
    r"continue|help|tell)d?\b",
    r"\b(?:is|are|seems) too hard\b|\b(?:no|not enough) (?:time|information) to (?:solve|answer|finish)\b",
)


def find_giving_up(trace: Trace) -> Iterator[Signal]:
    """Find a last action that gives up, or is empty, in an episode without success."""
    if trace.succeeded or not trace.calls or not isinstance(trace.row["turns"][-1].get("action"), str):
        return
    text = trace.calls[-1].text
    if not text.strip():
        yield Signal("giving up", len(trace.calls) - 1, "empty action")
    elif match := _GIVING_UP.search(text):
        yield Signal("giving up", len(trace.calls) - 1, match[0])


def find_dragging(trace: Trace) -> Iterator[Signal]:
    """Find episodes with an efficiency below one half; see `efficiency`."""
    if trace.usual_turns is not None and (share := efficiency(len(trace.calls), trace.usual_turns)) < 0.5:
        yield Signal("dragging", 0, f"{len(trace.calls)} turns, usually {trace.usual_turns:g}: {share:.2f}")


def find_repetition(trace: Trace) -> Iterator[Signal]:
    """Find an action in which a sentence or a line of at least three words stands five times in a row or more."""
    for place, call in enumerate(trace.calls):
        parts = [" ".join(part.split()).casefold() for part in re.split(r"[\n.!?;]+", call.text) if part.strip()]
        for part, several in itertools.groupby(parts):
            count = len(list(several))
            if count >= REPEATS and len(re.findall(r"[^\W\d_]{2,}", part)) >= 3:
                yield Signal("repetition", place, f"{count} times {part}")
                return
