"""Removal of hidden text from replies: thoughts, and the turn delimiters of chat templates.

Reasoning models write ``<think>...</think>`` before they answer. If the prompt already opens the thought, the reply
holds only the closing tag. gpt-oss writes several channels, of which the last one named "final" is for the reader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import InputError

# Names of the tags around a thought. Qwen3 and DeepSeek-R1 write <think>, others <thinking>.
THOUGHTS = ("think", "thinking")

# Tokens that open a model's turn, at the beginning of a reply.
_OPENS_TURN = re.compile(
    r"\s*(?:<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>|\[/INST\]"
    r"|(?:<\|im_start\|>|<start_of_turn>|<\|start\|>|<\|start_of_role\|>)\s*(?:assistant|model)"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>|<\|(?:assistant|CHATBOT_TOKEN|START_OF_TURN_TOKEN)\|>"
    r"|<\|end_of_role\|>|<\uff5c(?:begin\u2581of\u2581sentence|Assistant)\uff5c>)\s*"
)
# Tokens that end a model's turn; text after them belongs to the next turn.
_ENDS_TURN = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|eot|return|call|END_OF_TURN_TOKEN|end_of_turn)\|>"
    r"|<end_of_turn>|<eos>|<\uff5cend\u2581of\u2581sentence\uff5c>|</s>\s*\Z"
)
_LAST_CHANNEL = re.compile(r".*<\|channel\|>\s*final\b[^<]*<\|message\|>", re.DOTALL)
_CHANNEL = "<|channel|>"


def check_thoughts(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of thought tags as a tuple.

    Raises:
        InputError: not a list of tag names such as "think" or "[THINK]".
    """
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip("<>/") == name != "" for name in names):
        raise InputError(f'thoughts must be a list of tag names such as ["think"] or ["[THINK]"], not {names!r}.')
    return tuple(names)


def without_thoughts(text: str, names: Sequence[str] = THOUGHTS) -> str | None:
    """Return the text after the last closing tag of a thought, without the tokens around the turn.

    Return None if an opened thought is never closed. Of a reply in channels, the last channel named "final" is
    returned, or None without one.

    Args:
        text: a reply.
        names: tag names: "think" for ``<think>`` and ``</think>``, "[THINK]" for ``[THINK]`` and ``[/THINK]``, and
            likewise names that begin with a triangle (U+25C1).
    """
    if "<" in text or "[" in text:
        while opened := _OPENS_TURN.match(text):
            text = text[opened.end() :]
        if _CHANNEL not in text:
            text = _ENDS_TURN.split(text, maxsplit=1)[0]
    if _CHANNEL in text:
        final = _LAST_CHANNEL.match(text)
        return _ENDS_TURN.split(text[final.end() :], maxsplit=1)[0] if final else None
    if not any(mark in text for mark in "<[\u25c1"):
        return text
    tags = [(name, f"{name[0]}/{name[1:]}") if name[0] in "[\u25c1" else (f"<{name}>", f"</{name}>") for name in names]
    end = max((text.rfind(closing) + len(closing) for _, closing in tags if closing in text), default=0)
    for opening, _ in tags:
        place = text.find(opening, end)
        while place >= 0:
            if text[max(0, place - 1) : place] not in ("`", '"', "'"):  # where it is quoted, it opens no thought
                return None
            place = text.find(opening, place + 1)
    return text[end:] if end else text
