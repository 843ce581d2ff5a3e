"""Rewards for keeping a memory of texts: the questions it answers, its length, and the commands that wrote it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .length_limits import compression
from .scores import read_score


@register("mem-alpha")
class MemAlpha(Reward):
    """Whole reward of an agent that reads texts into a memory: terms "answers", "tools", "compression", "content".

    "answers" is the share of questions that the memory answers, which the environment reports as its progress at the
    end. "tools" is the share of a step's commands that worked, averaged over the steps with commands. "compression" is
    beta * max(1 - memory / source, -1). "content" is gamma times the share of a step's texts that were written to the
    right store for their facts, averaged over the steps with texts. `Verdict.steps` holds tools and content; answers
    and compression belong to the whole episode. The default weights are the paper's.

    Raises:
        InputError: when called, an extra of another form.
    """

    paper = "Mem-α, arXiv 2509.25911 (section 3.2)"
    complete = True
    needs = frozenset({"memory_length", "source_length", "memory_calls", "memory_stores"})
    tools: float = option(default=1.0, low=0, says="weight of the commands that worked.")
    compression: float = option(default=0.05, low=0, says="weight beta of the memory's length.")
    content: float = option(default=0.1, low=0, says="weight gamma of the right stores.")

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.compression, 1.0 + self.tools + self.compression + self.content

    def __call__(self, episode: Episode) -> Verdict:
        if not episode.valid or not episode.steps:
            return self.verdict(episode, None)
        memory = read_score(episode.extra("memory_length"), "memory_length", low=0.0)
        source = read_score(episode.extra("source_length"), "source_length", low=0.0)
        worked, placed = (_mean_of_shares(episode, name) for name in ("memory_calls", "memory_stores"))
        if memory is None or source is None or worked is None or placed is None:
            return self.verdict(episode, None)
        steps = {
            "tools": tuple(self.tools * share for share in worked),
            "content": tuple(self.content * share for share in placed),
        }
        terms = {
            "answers": 0.0 if episode.truncated else float(episode.progress),
            "compression": self.compression * compression(memory, source),
            **{name: sum(values) for name, values in steps.items()},
        }
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms, steps=steps)


def _mean_of_shares(episode: Episode, name: str) -> list[float] | None:
    """Return for each step the share of True in its list, divided by the number of steps with a non-empty list. The sum
    is the mean share."""
    lists = episode.extra(name)
    if lists is None:
        return None
    if not isinstance(lists, Sequence) or len(lists) != len(episode.steps):
        raise InputError(f"{name!r} must be one list of bools for each of {len(episode.steps)} steps, not {lists!r}.")
    counted = sum(bool(values) for values in lists)
    return [sum(map(bool, values)) / len(values) / counted if values else 0.0 for values in lists]
