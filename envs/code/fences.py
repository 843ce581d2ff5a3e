"""The program in what an agent wrote: the last fenced block of Python, or all of the text."""

from __future__ import annotations

import re
import textwrap

from ...rewards.answers import extract

_MARK = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+#.-]*)[^`]*")
_ON_ONE_LINE = re.compile(r"`{1,3}(?:python3?[ \t]|py[ \t])?([^`\n]+)`{1,3}")
_PYTHON = frozenset({"python", "python3", "py", "python3.11", "py3"})


def fenced(program: str) -> str:
    """The program as a block of Python, as agents are asked to write it."""
    return f"```python\n{program}\n```"


def program_in(answer: str) -> str:
    """The program in ``answer``, without white space at its end.

    That is the last fenced block that is marked as Python; or else the last one that is not marked; or else the last of
    any kind; or else what stands in ``<answer></answer>``; or else all of the text. A last block that is not closed
    ends with the text.
    """
    blocks = _blocks(answer.replace("\r\n", "\n").split("\n"))
    for wanted in (_PYTHON, frozenset({""})):
        for language, lines in reversed(blocks):
            if language in wanted:
                return _tidy(lines)
    if blocks:
        return _tidy(blocks[-1][1])
    text = extract(answer, "tag") or answer
    alone = _ON_ONE_LINE.fullmatch(text.strip())
    return alone.group(1).strip() if alone else _tidy(text.replace("\r\n", "\n").split("\n"))


def _tidy(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n").rstrip()


def _blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """(language, lines) of each fenced block."""
    blocks: list[tuple[str, list[str]]] = []
    mark = ""
    for line in lines:
        if mark:
            bare = line.strip()
            if bare.startswith(mark) and not bare.strip(mark[0]):
                mark = ""
            else:
                blocks[-1][1].append(line)
        elif (found := _MARK.fullmatch(line)) is not None:
            mark = found.group(1)
            blocks.append((found.group(2).lower(), []))
    return blocks
