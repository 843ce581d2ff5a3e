"""One question to an agent, outside any environment."""

from __future__ import annotations

from ...errors import InputError
from ..agent import Agent, EndEpisode


def ask(agent: Agent, prompt: str) -> str:
    """Return the agent's reply to a prompt, in a separate conversation.

    Raises:
        InputError: the agent gave no reply: its endpoint failed, or the model's context has no room.
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


def shorten(text: object, most: int) -> str:
    """At most so many characters of a text, the middle left out."""
    whole = str(text)
    half = (most - 5) // 2
    return whole if len(whole) <= most else f"{whole[:half]} ... {whole[-half:]}"
