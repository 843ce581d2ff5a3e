"""Answers of several lines: the program in a reply, the last fenced block, and the rows of tables and lists."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Set

from .formats import enclosed_contents

_MARK = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*([A-Za-z0-9_+#.-]*)[^`]*")
_ON_ONE_LINE = re.compile(r"`{1,3}(?:python3?[ \t]|py[ \t])?([^`\n]+)`{1,3}")
_DEFINITION = re.compile(r"(?:async def|def|class|import|from)[ \t]|@\w")
_SENTENCE = re.compile(r"[A-Z][\w'\u2019-]*,?(?: [^\n]*)?[.:!]")
# Fences on the line of a tag.
_BEHIND_TAG = re.compile(r"(<answer>)[ \t]*(?=(?:```|~~~)[^`\n]*\n)")
_BEFORE_TAG = re.compile(r"((?:^|\n)[ \t]*(?:```|~~~)+)[ \t]*(?=</answer>)")
# Longest program that is read, in characters.
MAX_PROGRAM = 65_536

_RULER = re.compile(r"[|:\s-]+")
_NUMBERED = re.compile(r"([0-9]{1,3})[.)] ")
_PYTHON = frozenset({"python", "python3", "py", "python3.11", "py3"})
_SQL = frozenset({"sql", "sqlite", "sqlite3"})


def fenced(program: str, language: str = "python") -> str:
    """Put a program into a fenced Markdown block."""
    return f"```{language}\n{program}\n```"


def query_in(answer: str) -> str:
    """Extract the SQL query from ``answer``, as `program_in` does with blocks marked as SQL."""
    return program_in(answer, languages=_SQL)


def program_in(answer: str, function: str = "", languages: Set[str] = _PYTHON) -> str:
    """Extract the program from ``answer``, without white space at its end.

    The program is the first of these that exists: the last fenced block that defines ``function`` (an example call may
    follow), the last block marked with one of ``languages``, the last block without a language, the last block of any
    language, the content of ``<answer></answer>``, the whole text (for Python, without the sentences around the
    program). An unclosed last block extends to the end of the text.
    """
    answer = _BEHIND_TAG.sub(r"\1\n", _BEFORE_TAG.sub(r"\1\n", answer.replace("\r\n", "\n")))
    blocks = _blocks(answer.split("\n"))
    if function and len(blocks) > 1:
        name = re.escape(function)
        defines = re.compile(rf"\b(?:def|class|as)\s+{name}\b|^{name}\s*=(?!=)", re.MULTILINE)
        for _, lines in reversed(blocks):
            if defines.search("\n".join(lines)):
                return _tidy(lines)
    for wanted in (languages, frozenset({""})):
        for language, lines in reversed(blocks):
            if language in wanted:
                return _tidy(lines)
    if blocks:
        return _tidy(blocks[-1][1])
    tagged = enclosed_contents(answer, "tag") if "</answer>" in answer else None
    text = tagged[0][-1] if tagged and tagged[0][-1] else answer
    alone = _ON_ONE_LINE.fullmatch(text.strip())
    if alone:
        return alone.group(1).strip()
    lines = text.split("\n")
    return _tidy(_without_prose(lines) if languages is _PYTHON else lines)


def _without_prose(lines: list[str]) -> list[str]:
    """Remove sentences before and behind the definitions of a bare Python program."""
    first = next((line for line in lines if line.strip()), "")
    starts = [place for place, line in enumerate(lines) if _DEFINITION.match(line)]
    if not starts or not _SENTENCE.fullmatch(first.rstrip()):
        return lines
    end = len(lines)
    while end > starts[0] and (not lines[end - 1].strip() or _SENTENCE.fullmatch(lines[end - 1].rstrip())):
        end -= 1
    return lines[starts[0] : end]


def last_block(text: str) -> str | None:
    """Return the content of the last closed fenced block, stripped; None without one."""
    blocks = _blocks(text.split("\n"), closed=True) if "```" in text or "~~~" in text else []
    return "\n".join(blocks[-1][1]).strip() if blocks else None


def rows(block: str) -> list[str]:
    """List the lines of a block that are not blank, without the marks of a table or a list.

    ``| 1 | 2 |`` becomes ``1 2`` (rules between rows are dropped). If every line has such a mark, ``- A C``, ``3. A C``
    and ``> A C`` become ``A C``. A first line that ends in a colon is dropped.
    """
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    if len(lines) > 1 and lines[0].endswith((":", ":**")):
        lines = lines[1:]
    if all([line.startswith(">") for line in lines]):
        lines = [line[1:].strip() for line in lines]
    if _is_table(lines):
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not _RULER.fullmatch(line)]
        return [" ".join(row) for row in cells]
    if is_enumerated(lines) or all([line.startswith(("- ", "* ", "+ ", "\u2022 ")) for line in lines]):
        return [line.partition(" ")[2].strip() for line in lines]
    return lines


def rows_below_head(block: str) -> list[str]:
    """List the `rows` of a table below its rule; empty if ``block`` is not a table with a head."""
    lines = [line.strip() for line in block.split("\n") if line.strip()]
    ruled = [bool(_RULER.fullmatch(line)) for line in lines]
    return rows("\n".join(lines[ruled.index(True) + 1 :])) if _is_table(lines) and True in ruled[1:-1] else []


def strip_block_marks(text: str) -> str:
    """Return the content of ``text`` if it is exactly one fenced block; else ``text``."""
    lines = text.split("\n")
    mark = _MARK.fullmatch(lines[0])
    if len(lines) > 2 and mark is not None and lines[-1].strip() == mark[1]:
        return "\n".join(lines[1:-1]).strip()
    return text


def _is_table(lines: list[str]) -> bool:
    return bool(lines) and all([line.startswith("|") for line in lines])


def is_enumerated(lines: list[str]) -> bool:
    """Return True if there are two or more lines and they begin with 1., 2., 3. ... or 1), 2), 3) ..."""
    numbers = [_NUMBERED.match(line) for line in lines]
    return len(lines) > 1 and [int(found[1]) for found in numbers if found] == list(range(1, len(lines) + 1))


def _tidy(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(lines)).strip("\n").rstrip()


def _blocks(lines: list[str], closed: bool = False) -> list[tuple[str, list[str]]]:
    """List (language, lines) of each fenced block; ``closed`` leaves out a last block without a closing fence."""
    blocks: list[tuple[str, list[str]]] = []
    mark, margin = "", 0
    for line in lines:
        if mark:
            bare = line.strip()
            # A fence indented further, as in a docstring, belongs to the block.
            if bare.startswith(mark) and not bare.strip(mark[0]) and _indent(line) < margin + 4:
                mark = ""
            else:
                blocks[-1][1].append(line)
        elif (found := _MARK.fullmatch(line)) is not None:
            mark, margin = found.group(1), _indent(line)
            blocks.append((found.group(2).lower(), []))
    return blocks[:-1] if closed and mark else blocks


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
