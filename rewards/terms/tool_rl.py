"""ToolRL: format and graded correctness of tool calls, with the scales that the paper compares."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...checks import check_choice, check_number
from ...schedules import Constant, Schedule, schedule
from ..episode import Episode
from ..reward import register
from ..timed import Timed
from ..verdict import Verdict
from ..verifiers.tool_calls import CallError, check_calls, parse_tool_calls, tool_call_correctness
from .format import pairs_once, tags_in_order

# The paper's other scales, as data for `correctness` and `format`: at most 1 like the format; 1 for 30 updates and 3
# from then on; and a slow change over 150 updates from 2 and 2 to 3 and 1.
EQUAL_MAX = 1.0
TWO_STAGE = {"kind": "piecewise", "points": [[29, 1.0], [30, 3.0]]}
DYNAMIC_CORRECTNESS = {"kind": "linear", "start": 2.0, "end": 3.0, "over": 150}
DYNAMIC_FORMAT = {"kind": "linear", "start": 2.0, "end": 1.0, "over": 150}

# Words of thought that earn the whole length reward: fixed, or rising over training.
LENGTHS: Mapping[str, Schedule] = {
    "fixed": Constant(512),
    "rising": schedule({"kind": "linear", "start": 384, "end": 640}),
}


def tool_format(text: str, calls: bool) -> bool:
    """``<think>`` and then ``<tool_call>`` (where a call is due) or ``<response>``, or both, and nothing else."""
    if calls:
        return tags_in_order(text, ("think", "tool_call")) or tags_in_order(text, ("think", "tool_call", "response"))
    return tags_in_order(text, ("think", "response"))


def correctness_of(text: str, gold: Sequence[Mapping[str, Any]], coarse: bool = False) -> float:
    """In [-3, 3]: see `tool_call_correctness`; -3 for calls that cannot be read; with ``coarse``, 3 or -3."""
    if not gold:
        return 0.0
    if "<tool_call>" not in text:
        return -3.0
    try:
        score = tool_call_correctness(parse_tool_calls(text), gold)
    except CallError:
        return -3.0
    return (3.0 if score == 3.0 else -3.0) if coarse else score


def thought_length(text: str) -> int:
    """Words inside ``<think>...</think>``; 0 without exactly one such pair."""
    if not pairs_once(text, "think"):
        return 0
    return len(text[text.find("<think>") + 7 : text.find("</think>")].split())


@register("toolrl")
class ToolRL(Timed):
    """The whole worth of a response that should call tools: terms "format" and "correctness", and "length" on demand.

    The extra "tool_calls" holds the calls that should be made, ``[{"name": ..., "parameters": {...}}]``; empty where
    none should, and then only the format counts. `ranks_success` is not claimed: the calls, and not the environment,
    say what is right here.

    Args:
        correctness: highest pay for the calls, and minus the lowest; a number, a schedule or its data. The module's
            EQUAL_MAX, TWO_STAGE and DYNAMIC_CORRECTNESS are the paper's variants.
        format: pay for the format; likewise (DYNAMIC_FORMAT).
        granularity: "fine" pays for each name, parameter and value; "coarse" only for calls that are all right.
        length: "none"; "fixed": up to 1 more for thoughts of up to 512 words; "rising": of 384 words at first and 640
            at the end of training.

    Raises:
        InputError: unknown choice, or a scale that can become negative; when called, calls that are not of this form.
    """

    paper = "ToolRL, arXiv 2504.13958 (reward design)"
    complete = True
    needs = frozenset({"tool_calls"})

    def __init__(
        self,
        correctness: Schedule | Mapping[str, Any] | float = 3.0,
        format: Schedule | Mapping[str, Any] | float = 1.0,
        granularity: str = "fine",
        length: str = "none",
    ):
        self.correctness, self.format = schedule(correctness), schedule(format)
        check_number("the lowest scale of correctness", self.correctness.bounds[0], low=0.0)
        check_number("the lowest scale of format", self.format.bounds[0], low=0.0)
        self.granularity = check_choice("granularity", granularity, ("fine", "coarse"))
        self.length = check_choice("length", length, ("none", *LENGTHS))

    @property
    def bounds(self) -> tuple[float, float]:
        most = self.correctness.bounds[1]
        return -most, most + self.format.bounds[1] + (self.length != "none")

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        gold = check_calls(episode.extra("tool_calls"))
        text = episode.response
        terms = {
            "format": self.now(self.format) * tool_format(text, bool(gold)),
            "correctness": self.now(self.correctness) * correctness_of(text, gold, self.granularity == "coarse") / 3.0,
        }
        if self.length != "none":
            terms["length"] = min(thought_length(text) / self.now(LENGTHS[self.length]), 1.0)
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms)
