"""Checks and rewards of the format of a response: its tags, their number and their order.

All checks take linear time in the length of the text, whatever the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...checks import check_number, option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register

FormatCheck = Callable[[Episode], bool]

R1_TAGS = ("think", "answer")


def tags_in_order(text: str, tags: Sequence[str] = R1_TAGS, opened: bool = False) -> bool:
    """Return True if ``text`` is ``<tag>...</tag>`` for each tag, once and in order, with only white space between.

    Args:
        text: a response.
        tags: names, without brackets.
        opened: True if the prompt ended with the first opening tag, which ``text`` therefore lacks.
    """
    text = text.strip()
    if opened:
        text = f"<{tags[0]}>{text}"
    if any(text.count(f"<{tag}>") != 1 or text.count(f"</{tag}>") != 1 for tag in tags):
        return False
    position = 0
    for tag in tags:
        start = text.find(f"<{tag}>", position)
        if start < 0 or text[position:start].strip():
            return False
        position = text.find(f"</{tag}>", start)
        if position < 0:
            return False
        position += len(tag) + 3
    return position == len(text)


def has_one_pair(text: str, tag: str) -> bool:
    """Return True if ``text`` has exactly one ``<tag>`` and, after it, exactly one ``</tag>``."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    once = text.count(opening) == 1 and text.count(closing) == 1
    return once and text.find(opening) < text.find(closing)


def has_balanced_pairs(text: str, tag: str) -> bool:
    """Return True if every ``<tag>`` is closed before the next one opens, and none closes unopened (or no
    tag occurs)."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    position = 0
    while True:
        start, end = text.find(opening, position), text.find(closing, position)
        if start < 0 or end < 0:
            return start == end
        if end < start or text.find(opening, start + 1, end) >= 0:
            return False
        position = end + len(closing)


def tag_share(text: str, tags: Sequence[str] = R1_TAGS) -> float:
    """Return the share of ``tags`` with exactly one pair in ``text``, in [0, 1]."""
    return sum(has_one_pair(text, tag) for tag in tags) / len(tags)


def check_tags(name: str, tags: Sequence[str]) -> tuple[str, ...]:
    """Return ``tags`` if they are one or more different names without brackets. Raises InputError otherwise."""
    names = tuple(tags) if isinstance(tags, (list, tuple)) else ()
    if (
        not names
        or len(set(names)) < len(names)
        or not all(isinstance(name, str) and name and not set(name) & set("<>/ ") for name in names)
    ):
        raise InputError(f"{name} must be a list of different names such as ['think', 'answer'], not {tags!r}.")
    return names


def check_tag(name: str, tag: str) -> str:
    """Return ``tag`` if it is a name without brackets. Raises InputError otherwise."""
    return check_tags(name, [tag])[0]


def r1_format(episode: Episode) -> bool:
    """Return True if the last response is ``<think>...</think><answer>...</answer>`` and nothing else (DeepSeek-R1)."""
    return tags_in_order(episode.response)


@register("format")
class Format(Reward):
    """Term for the tags of the last response.

    Wrong answers get the term too: weigh it below the reward of a success.

    Raises:
        InputError: tags that are no names, ``penalty > reward``, or both ``partial`` and ``opened``.
    """

    paper = "DeepSeek-R1, arXiv 2501.12948, Section 2.2.2 (format rewards)"
    tags: Sequence[str] = option(default=R1_TAGS, check=check_tags, says="names of the tags, in order.")
    reward: float = option(default=1.0, says="value of a response in the right format.")
    penalty: float = option(default=0.0, says="value of any other response; not above ``reward``.")
    partial: bool = option(default=False, says="interpolate ``penalty`` and ``reward`` by the share of complete tags.")
    opened: bool = option(default=False, says="the prompt ends with the first opening tag (not with ``partial``).")

    def setup(self) -> None:
        check_number("penalty", self.penalty, high=self.reward)
        if self.partial and self.opened:
            raise InputError("partial=True counts pairs, which opened=True says are incomplete; choose one of them.")

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, self.reward

    def value(self, episode: Episode) -> float:
        return self.value_of(episode.response, self.tags)

    def value_of(self, text: str, tags: Sequence[str]) -> float:
        """Return the value of a response from which ``tags`` are required."""
        if tags_in_order(text, tags, self.opened):
            return self.reward
        share = tag_share(text, tags) if self.partial else 0.0
        # All pairs present but out of order, or with text between them, is still not the required format.
        share = min(share, 1.0 - 1.0 / (2 * len(tags)))
        return self.penalty + share * (self.reward - self.penalty)


_NAMED = re.compile(r"<([A-Za-z][A-Za-z0-9_-]{0,31})>")


@register("asked-format")
class AskedFormat(Format):
    """Term for the tags that the episode's system text names, once each, in the order in which it names them first.

    A system text "Write a plan in <plan> </plan>, then the answer in <answer> </answer>." asks for two. If it names
    none, the response must have ``tags``. With ``weight=0.5`` beside half of the outcome it is the reward of pPE.
    """

    paper = "Prior Prompt Engineering for Reinforcement Fine-Tuning, arXiv 2505.14157"
    needs = frozenset({"system_text"})

    def value(self, episode: Episode) -> float:
        asked = tuple(dict.fromkeys(_NAMED.findall(episode.extra("system_text") or "")))
        return self.value_of(episode.response, asked or self.tags)
