"""Removal of thoughts: the part of a reply after the last thought is meant for the reader.

Reasoning models write ``<think>...</think>`` before they answer; where the prompt opens the thought, only the closing
tag is in the reply.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import InputError

# Names of the tags around a thought. Qwen3 and DeepSeek-R1 write <think>, others <thinking>.
THOUGHTS = ("think", "thinking")


def check_thoughts(names: Sequence[str]) -> tuple[str, ...]:
    """Check the names of thought tags and return them as a tuple.

    Raises:
        InputError: not a list of tag names such as "think" or "[THINK]".
    """
    if isinstance(names, str) or not all(isinstance(name, str) and name.strip("<>/") == name != "" for name in names):
        raise InputError(f'thoughts must be a list of tag names such as ["think"] or ["[THINK]"], not {names!r}.')
    return tuple(names)


def without_thoughts(text: str, names: Sequence[str] = THOUGHTS) -> str | None:
    """Return the text after the last closing tag of a thought; None where a later thought is never closed.

    Args:
        text: a reply.
        names: of the tags: "think" for ``<think>`` and ``</think>``, "[THINK]" for ``[THINK]`` and ``[/THINK]``.
    """
    if "<" not in text and "[" not in text:
        return text
    tags = [(name, f"[/{name[1:]}") if name.startswith("[") else (f"<{name}>", f"</{name}>") for name in names]
    end = max((text.rfind(closing) + len(closing) for _, closing in tags if closing in text), default=0)
    if any(text.find(opening, end) >= 0 for opening, _ in tags):
        return None
    return text[end:] if end else text
