"""Questions to an agent outside any environment: a single one, or one that is repeated until the answer is accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...errors import InputError
from ..agent import Agent, EndEpisode


@dataclass(frozen=True)
class Attempt:
    """Attempt at a program: prompt, reply, and the critique of the reply (`Critique` or `FactorCritique`)."""

    prompt: str
    reply: str
    critique: Any


def ask(agent: Agent, prompt: str) -> str:
    """Return the agent's reply to a prompt, in a separate conversation.

    Raises:
        InputError: the agent gave no reply: its endpoint failed, or the prompt exceeds the model's context.
    """
    agent.reset([0])
    reply = agent.act([prompt], [{}])[0]
    agent.reset([0])
    if isinstance(reply, EndEpisode) or reply is None:
        raise InputError(
            f"the agent {agent.name!r} gave no reply to a prompt of {len(prompt)} characters; see the log for a failed "
            "request, or give a model a longer --context."
        )
    return str(reply)


def ask_until_accepted(author: Agent, opening: str, attempts: int, judge: Callable[[str], Any]) -> list[Attempt]:
    """Let an author write programs until one is accepted, and return all attempts.

    Args:
        opening: the first prompt; later prompts add the last reply and the reason for its rejection.
        attempts: most attempts.
        judge: returns the critique of a reply; it has a ``program`` (None for a rejected reply) and a ``text``.

    Returns:
        The attempts; only the last one can be accepted (``critique.program`` is not None).
    """
    made: list[Attempt] = []
    prompt = opening
    while len(made) < attempts:
        reply = ask(author, prompt)
        critique = judge(reply)
        made.append(Attempt(prompt, reply, critique))
        if critique.program is not None:
            break
        prompt = (
            f"{opening}\n\nYour last reply was:\n{shorten(reply, 8000)}\n\n"
            f"It was rejected: {critique.text}\nWrite the whole program again."
        )
    return made


def shorten(text: object, most: int) -> str:
    """Shorten a text to at most ``most`` characters by leaving out the middle."""
    whole = str(text)
    half = (most - 5) // 2
    return whole if len(whole) <= most else f"{whole[:half]} ... {whole[-half:]}"
