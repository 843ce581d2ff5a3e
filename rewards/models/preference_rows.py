"""Rows of preference data in the layouts of TRL, of the Hugging Face hub and of ShareGPT.

A row has a prompt with a chosen and a rejected reply, or with one reply that is labelled good or bad. Each of them is a
text or a list of messages, {"role", "content"} or {"from", "value"}. Replies may repeat the prompt before them, and a
prompt that the row does not have is what its two replies have in common.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InputError, shorten

Message = tuple[str, str]
"""Role ("system", "user" or "assistant") and text."""
Messages = tuple[Message, ...]

_PROMPTS = ("prompt", "question", "instruction", "query", "input", "conversations", "messages")
_REPLIES = ("completion", "response", "reply")
_ROLES = {"human": "user", "gpt": "assistant", "model": "assistant"}


@dataclass(frozen=True, slots=True)
class PreferenceRow:
    """Replies to one prompt: a chosen and a rejected one, or one that is labelled.

    Attributes:
        prompt: messages before the reply, the last one of the user.
        chosen, rejected: messages of a reply, the first and the last of the assistant; () for the one that the row of
            a labelled reply does not have.
        strength: how much better the chosen reply is, from the column "margin" or "strength"; None without one.
    """

    prompt: Messages
    chosen: Messages
    rejected: Messages
    strength: float | None = None

    @property
    def texts(self) -> tuple[str, str, str]:
        """Texts of the prompt, without the system's, and of both replies, the messages joined by line breaks."""
        asked = [message for message in self.prompt if message[0] != "system"]
        prompt, chosen, rejected = ("\n".join(text for _, text in part) for part in (asked, self.chosen, self.rejected))
        return prompt, chosen, rejected


def has_preference(row: Mapping[str, Any]) -> bool:
    """Return True if a row has the columns of a preference."""
    return {"chosen", "rejected"} <= row.keys() or ("label" in row and any(name in row for name in _REPLIES))


def read_preference(row: Mapping[str, Any]) -> PreferenceRow:
    """Read a row of preference data. Other columns are ignored.

    Raises:
        InputError: columns are missing, are neither text nor messages, or are no conversation.
    """
    if not has_preference(row):
        raise InputError(
            "a preference needs the columns 'prompt', 'chosen' and 'rejected', or 'prompt', 'completion' and 'label', "
            f"not {', '.join(map(str, row)) or 'none'}."
        )
    paired = "chosen" in row
    names = ("chosen", "rejected") if paired else (next(name for name in _REPLIES if name in row),)
    replies = [_read_messages(row[name], name, "assistant") for name in names]
    asked = next((name for name in _PROMPTS if row.get(name)), None)
    if asked is not None:
        prompt = _read_messages(row[asked], asked, "user")
        replies = [reply[len(prompt) :] if reply[: len(prompt)] == prompt else reply for reply in replies]
    else:
        prompt, replies = _split_prompt(replies)
    for name, reply in zip(names, replies):
        _check_turns([*prompt, *reply], len(prompt), name)
    strength = row.get("margin", row.get("strength"))
    if strength is not None and not (isinstance(strength, int | float) and math.isfinite(strength)):
        raise InputError(f"the margin of a preference must be a finite number, not {strength!r}.")
    if paired:
        return PreferenceRow(prompt, replies[0], replies[1], strength)
    if not isinstance(row["label"], bool) and row["label"] not in (0, 1):
        raise InputError(f"the label of a reply must be true or false, not {row['label']!r}.")
    return PreferenceRow(prompt, *((replies[0], ()) if row["label"] else ((), replies[0])), strength)


def _read_messages(value: Any, name: str, role: str) -> Messages:
    """Read a column: text of ``role``, a message, or a list of messages."""
    if isinstance(value, str):
        return ((role, value),)
    found = list[Message]()
    for message in value if isinstance(value, list | tuple) else [value]:
        said: Mapping[str, Any] = message if isinstance(message, Mapping) else {}
        speaker, text = said.get("role", said.get("from")), said.get("content", said.get("value"))
        speaker = _ROLES.get(str(speaker), speaker)
        if speaker not in ("system", "user", "assistant") or not isinstance(text, str):
            raise InputError(
                f"{name!r} must be text, or messages of system, user and assistant with text, not "
                f"{shorten(repr(message), 80)}."
            )
        found.append((speaker, text))
    return tuple(found)


def _split_prompt(replies: Sequence[Messages]) -> tuple[Messages, list[Messages]]:
    """Take the prompt out of the replies: what two have in common (of texts, up to the last blank, as TRL does), or
    what precedes the last message of one."""
    texts = [text for reply in replies for _, text in reply]
    if len(replies) == 2 and len(texts) == 2:
        one, same = texts[0], _common(*texts)
        size = max((place + 1 for place, mark in enumerate(one[:same]) if mark.isspace()), default=0)
        prompt: Messages = (("user", one[:size].strip()),) if one[:size].strip() else ()
        return prompt, [((role, text[size:]),) for ((role, text),) in replies]
    size = _common(*replies) if len(replies) == 2 else len(replies[0]) - 1
    return tuple(replies[0][:size]), [reply[size:] for reply in replies]


def _common(one: Sequence[Any], two: Sequence[Any]) -> int:
    """Return the number of first items that two sequences have in common."""
    return next((n for n, (mine, theirs) in enumerate(zip(one, two)) if mine != theirs), min(len(one), len(two)))


def _check_turns(messages: Sequence[Message], prompt: int, name: str) -> None:
    """Raise InputError unless, after a system text, user and assistant take turns, and the reply, which begins at
    message ``prompt``, is the assistant's."""
    roles = [role for role, _ in messages]
    begin = int(roles[:1] == ["system"])
    if len(roles) == prompt or not messages[-1][1].strip():
        raise InputError(f"the reply {name!r} is empty; remove the row.")
    expected = ["system"] * begin + [("user", "assistant")[n % 2] for n in range(len(roles) - begin)]
    if roles != expected or prompt == begin or (prompt - begin) % 2 == 0 or roles[-1] != "assistant":
        raise InputError(
            f"the prompt and {name!r} must be turns of user and assistant, with the user's before the reply, not "
            f"{', '.join(roles)} (the prompt is the first {prompt})."
        )
