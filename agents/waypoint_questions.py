"""Waypoints by an agent: the question that asks for them, and the parsing of places from the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .lookup import as_agent, find_agent

QUESTION = (
    "Name, in order, at most {most} places through which the agent has to go to solve this task, the last one being "
    "where it ends. A place is (column, row), counted from (0, 0) in the upper left corner. Write nothing else.\n{task}"
)
"""Question to an author of waypoints (after KAGI, arXiv 2407.10341, in our own words)."""

_PLACE = re.compile(r"\(\s*(\d{1,4})\s*,\s*(\d{1,4})\s*\)")


def read_waypoints(text: str, most: int) -> list[list[int]]:
    """Return the first ``most`` places in an answer as [column, row]; immediate repetitions count once, and text that
    is no "(column, row)" is ignored."""
    found: list[list[int]] = []
    for column, row in _PLACE.findall(text):
        place = [int(column), int(row)]
        if not found or found[-1] != place:
            found.append(place)
    return found[:most]


def ask_for_waypoints(author: Any, tasks: Sequence[str], most: int) -> list[list[list[int]] | None]:
    """Ask an agent for the waypoints of each task.

    Args:
        author: an agent, a function of the question, or text for `lookup.find_agent`.
        tasks: descriptions of the tasks.
        most: largest number of waypoints per task; further ones are dropped.

    Returns:
        For each task a list of [column, row]; None if the agent's answer was no text.

    Raises:
        AgentError: the agent failed.
    """
    agent = find_agent(author) if isinstance(author, str) else as_agent(author)
    agent.reset(range(len(tasks)))
    replies = agent.act([QUESTION.format(most=most, task=task) for task in tasks], [{}] * len(tasks))
    return [read_waypoints(reply, most) if isinstance(reply, str) else None for reply in replies]
