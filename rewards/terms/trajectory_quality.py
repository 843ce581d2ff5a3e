"""GRPO-RoC's penalty of a trajectory: tool calls that failed, and answers that are missing or repeated."""

from __future__ import annotations

from collections.abc import Sequence

from ..episode import Episode
from ..reward import Reward, register
from .format import checked_tags, pairs_balanced


def tool_error_share(tool_responses: Sequence[str]) -> float:
    """The share of ``tool_responses`` that contain "error" in any case; 0.5 where no tool was used."""
    if not tool_responses:
        return 0.5
    return sum("error" in response.lower() for response in tool_responses) / len(tool_responses)


def answer_tag_penalty(text: str, turns: int, tag: str = "answer") -> float:
    """1 where the answer tag is missing or unbalanced, else (answers - 1) / turns, at most 1."""
    answers = text.count(f"<{tag}>")
    if not answers or not pairs_balanced(text, tag):
        return 1.0
    return min((answers - 1) / max(turns, 1), 1.0)


@register("trajectory-quality")
class TrajectoryQuality(Reward):
    """A term in [-2, 0]: minus the share of failed tool calls, minus the penalty of the answer tags.

    A tool response is what the agent read before any action but the first. The paper uses the penalty to choose which
    successes to keep, with an outcome reward that stays 0 or 1; as a term, weigh it below half of a success.

    Args:
        tag: name of the answer tag.
    """

    paper = "rStar2-Agent (GRPO-RoC), arXiv 2508.20722 (resampling on correct)"

    def __init__(self, tag: str = "answer"):
        self.tag = checked_tags([tag])[0]

    @property
    def bounds(self) -> tuple[float, float]:
        return -2.0, 0.0

    def value(self, episode: Episode) -> float:
        text = "\n".join(step.action for step in episode.steps)
        errors = tool_error_share([str(step.observation) for step in episode.steps[1:]])
        return -(errors + answer_tag_penalty(text, len(episode.steps), self.tag))
