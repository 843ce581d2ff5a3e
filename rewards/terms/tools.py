"""Rewards for tool calls: the right calls, use of all tools, few errors, and any call at all early in training.

Inputs are the texts of an episode, and for `ToolRL` and `ARPO` the expected calls or the expected answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ...checks import option
from ...errors import InputError
from ...schedules import Constant, Cosine, Schedule, ScheduleLike, check_schedule, schedule
from ..episode import Episode
from ..reward import Reward, register
from ..update_counter import UpdateCounter
from ..verdict import Verdict
from ..verifiers.tool_calls import CallError, check_calls, parse_tool_calls, tool_call_correctness
from .format import FormatCheck, check_tag, has_balanced_pairs, has_one_pair, tags_in_order
from .outcome import best_f1
from .scores import Scorer, ScoreSource

# The paper's other scales, as data for `correctness` and `format` of `ToolRL`: 1 for both; 1 for 30 updates and then 3;
# and a linear change over 150 updates from 2 to 3 (correctness) and from 2 to 1 (format).
EQUAL_MAX = 1.0
TWO_STAGE = {"kind": "piecewise", "points": [[29, 1.0], [30, 3.0]]}
DYNAMIC_CORRECTNESS = {"kind": "linear", "start": 2.0, "end": 3.0, "over": 150}
DYNAMIC_FORMAT = {"kind": "linear", "start": 2.0, "end": 1.0, "over": 150}

# Number of words of thought from which the length reward is 1: fixed, or rising over training.
LENGTHS: Mapping[str, Schedule] = {
    "fixed": Constant(512),
    "rising": schedule({"kind": "linear", "start": 384, "end": 640}),
}


def tool_format(text: str, calls: bool) -> bool:
    """Return True if ``text`` is ``<think>``, then ``<tool_call>`` and an optional ``<response>``, and nothing else.

    If no ``calls`` are expected, it must be ``<think>`` and then ``<response>``.
    """
    if calls:
        return tags_in_order(text, ("think", "tool_call")) or tags_in_order(text, ("think", "tool_call", "response"))
    return tags_in_order(text, ("think", "response"))


def correctness_of(text: str, gold: Sequence[Mapping[str, Any]], coarse: bool = False) -> float:
    """Return the correctness of the calls in ``text``, in [-3, 3] (`tool_call_correctness`); -3 if they cannot be
    parsed. With ``coarse`` it is 3 for calls that are all right and -3 otherwise. Without expected calls it is 0."""
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
    """Count the words inside ``<think>...</think>``; 0 without exactly one such pair."""
    if not has_one_pair(text, "think"):
        return 0
    return len(text[text.find("<think>") + 7 : text.find("</think>")].split())


@register("toolrl")
class ToolRL(UpdateCounter):
    """Reward of a whole response that should call tools: terms "format" and "correctness", and optionally "length".

    ``episode.extra("expected_calls")`` is ``[{"name": ..., "parameters": {...}}]``; if it is empty only the format
    counts. `ranks_success` is not claimed, as the expected calls decide and not the environment. EQUAL_MAX, TWO_STAGE
    and DYNAMIC_CORRECTNESS (with DYNAMIC_FORMAT) of this module are the paper's variants of the two scales. The "fixed"
    length is 512 words; the "rising" one goes from 384 to 640 by the end of training.

    Raises:
        InputError: when called, expected calls of another form.
    """

    paper = "ToolRL, arXiv 2504.13958 (reward design)"
    complete = True
    needs = frozenset({"expected_calls"})
    correctness: ScheduleLike = option(
        default=3.0, check=partial(check_schedule, low=0), says="highest reward of the calls, and minus the lowest."
    )
    format: ScheduleLike = option(default=1.0, check=partial(check_schedule, low=0), says="reward of the format.")
    granularity: Literal["fine", "coarse"] = option(
        default="fine", says='"fine" rewards each name, parameter and value, "coarse" only calls that are all right.'
    )
    length: str = option(default="none", choices=("none", *LENGTHS), says='length of thought for the term "length".')

    @property
    def bounds(self) -> tuple[float, float]:
        most = schedule(self.correctness).bounds[1]
        return -most, most + schedule(self.format).bounds[1] + (self.length != "none")

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid:
            return self.verdict(episode, None)
        gold = check_calls(episode.extra("expected_calls"))
        text = episode.response
        terms = {
            "format": self.now(self.format) * tool_format(text, bool(gold)),
            "correctness": self.now(self.correctness) * correctness_of(text, gold, self.granularity == "coarse") / 3.0,
        }
        if self.length != "none":
            terms["length"] = min(thought_length(text) / self.now(LENGTHS[self.length]), 1.0)
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms)


BONUS_FACTOR = Cosine(start=1.0, end=0.0, over=200)


def tool_bonus(calls: int, weight: float, each: float = 0.1) -> float:
    """Return weight * min(1, each * calls) (SPEAR, arXiv 2509.22601)."""
    return weight * min(1.0, each * calls)


def _check_marker(name: str, marker: Any) -> str:
    if isinstance(marker, str) and marker:
        return marker
    raise InputError(f"{name} must be the text that opens a tool call, not {marker!r}.")


@register("tool-bonus")
class ToolBonus(UpdateCounter):
    """Term for tool calls, right or wrong, that fades to 0 in training. Weigh it below the reward of a success."""

    paper = "SPEAR, arXiv 2509.22601 (intrinsic reward for tool calls)"
    weight: ScheduleLike = option(default=BONUS_FACTOR, check=check_schedule, says="factor of the bonus.")
    each: float = option(default=0.1, low=0, says="reward of one call before the weight; at most 1 in all.")
    marker: str = option(default="<tool_call>", check=_check_marker, says="opening of a call, counted in the actions.")
    count: Callable[[Episode], int] | None = option(default=None, says="callable that counts the calls instead.")

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = schedule(self.weight).bounds
        return min(low, 0.0), max(high, 0.0)

    def value(self, episode: Episode) -> float:
        if self.count is not None:
            calls = self.count(episode)
        else:
            calls = sum(step.action.count(self.marker) for step in episode.steps)
        return tool_bonus(calls, self.now(self.weight), self.each)


def has_thought_and_answer(episode: Episode) -> bool:
    """Return True if the actions together hold at least one ``<think>``, all closed, and exactly one ``<answer>``."""
    text = "\n".join(step.action for step in episode.steps)
    return "<think>" in text and has_balanced_pairs(text, "think") and has_one_pair(text, "answer")


def arpo(well_formed: bool, f1: float, all_tools: bool, bonus: float = 0.1) -> float:
    """Return -1 for a wrong format, else F1, plus ``bonus`` if F1 > 0 and all tools were used (arXiv 2507.19849)."""
    if not well_formed:
        return -1.0
    return f1 + bonus * all_tools if f1 > 0 else 0.0


def _check_openings(name: str, tools: Any) -> tuple[str, ...]:
    if isinstance(tools, (list, tuple)) and tools and all(isinstance(tool, str) and tool for tool in tools):
        return tuple(tools)
    raise InputError(f"{name} must be a list of openings such as '<search>', not {tools!r}.")


@register("arpo")
class ARPO(Reward):
    """Reward of a whole episode by format, answer and tools used.

    `ranks_success` is not claimed: a success in the wrong format gets -1, and F1 need not agree with success.
    """

    paper = "ARPO, arXiv 2507.19849 (hierarchical reward)"
    needs = frozenset({"reference"})
    complete = True
    scorer: Scorer | None = option(
        default=None, says='outcome in [0, 1]; None: F1 with ``episode.extra("reference")``.'
    )
    tools: Sequence[str] = option(
        default=("<search>", "<python>"), check=_check_openings, says="openings of calls; the bonus needs all of them."
    )
    bonus: float = option(default=0.1, low=0, says="added for the use of all tools.")
    check: FormatCheck = option(default=None, says="the format; None takes `has_thought_and_answer`.")

    def setup(self) -> None:
        self.check = self.check or has_thought_and_answer
        self.outcome = ScoreSource(self.scorer, "outcome", 0.0, 1.0) if self.scorer is not None else None
        self.needs = frozenset() if self.scorer is not None else frozenset({"reference"})

    @property
    def bounds(self) -> tuple[float, float]:
        return -1.0, 1.0 + self.bonus

    def value(self, episode: Episode) -> float | None:
        f1 = self.outcome(episode) if self.outcome else best_f1(episode.answer, episode.extra("reference"))
        if f1 is None:
            return None
        used = all(any(tool in step.action for step in episode.steps) for tool in self.tools)
        return arpo(self.check(episode), f1, used, self.bonus)


def tool_error_share(tool_responses: Sequence[str]) -> float:
    """Return the share of ``tool_responses`` that contain "error" in upper or lower case; 0.5 if no tool was used."""
    if not tool_responses:
        return 0.5
    return sum("error" in response.lower() for response in tool_responses) / len(tool_responses)


def answer_tag_penalty(text: str, turns: int, tag: str = "answer") -> float:
    """Return 1 if the answer tag is missing or unbalanced, else (answers - 1) / turns, at most 1."""
    answers = text.count(f"<{tag}>")
    if not answers or not has_balanced_pairs(text, tag):
        return 1.0
    return min((answers - 1) / max(turns, 1), 1.0)


@register("trajectory-quality")
class TrajectoryQuality(Reward):
    """Term in [-2, 0]: minus the share of failed tool calls, minus the penalty of missing or repeated answer tags.

    Every observation but the first counts as a tool response. The paper uses the penalty to choose which successes to
    keep, with an outcome reward of 0 or 1; as a term, weigh it below half of a success.
    """

    paper = "rStar2-Agent (GRPO-RoC), arXiv 2508.20722 (resampling on correct)"
    bounds = (-2.0, 0.0)
    tag: str = option(default="answer", check=check_tag, says="name of the answer tag.")

    def value(self, episode: Episode) -> float:
        text = "\n".join(step.action for step in episode.steps)
        errors = tool_error_share([str(step.observation) for step in episode.steps[1:]])
        return -(errors + answer_tag_penalty(text, len(episode.steps), self.tag))
