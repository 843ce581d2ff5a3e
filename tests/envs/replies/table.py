"""The table of replies: texts in the manner of chat and reasoning models, with places for an answer and for a decoy.

A file has the replies of one kind of answer. Each begins with a line ``=== KIND TAGS``. What stands before the first
such line is a comment. Kinds:

* right: it states the answer, and nothing else is the answer, least of all a decoy that stands in it.
* none: there is no answer, or only one in a thought that has no end; to be refused with an error.
* unanswered: it never says what the answer is; to be anything but right.

Tags: ``crlf`` (Windows' line ends), ``blanks`` (blank lines behind), ``function`` (only where a function is asked for),
and the names of what the id must know (``noun``, ``table``, ``equations``, ``boxes``). The places are ``@answer`` and
the like, see `Reply.fill`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KINDS = ("right", "none", "unanswered")
TYPES = ("number", "expression", "list", "grid", "text", "program", "move")
_PLACE = re.compile(r"@(\w+)")


@dataclass(frozen=True)
class Reply:
    """One row.

    Args:
        where: its file and line.
        kind: one of `KINDS`.
        tags: see above.
        text: with places in it.
    """

    where: str
    kind: str
    tags: frozenset[str]
    text: str

    @property
    def places(self) -> list[str]:
        """The names of its places, in order."""
        return _PLACE.findall(self.text)

    @property
    def before(self) -> str:
        """What stands before the first place for the answer: all of it where there is none."""
        for place in _PLACE.finditer(self.text):
            if not place[1].startswith("decoy") and place[1].lower() not in ("verb", "noun"):
                return self.text[: place.start()]
        return self.text

    def fill(self, words: Mapping[str, str], text: str | None = None) -> str:
        """The reply (or a part of its text) with each ``@name`` replaced by ``words[name]``."""
        text = self.text if text is None else text
        if not words.get("verb"):  # "I'll check 1": the move has its verb in it
            text = text.replace("@verb ", "").replace("@Verb ", "")
        text = _PLACE.sub(lambda place: words[place[1]], text)
        return text.replace("\n", "\r\n") if "crlf" in self.tags else text


def read(kind_of_answer: str) -> list[Reply]:
    """The replies of a file."""
    path = Path(__file__).with_name(f"{kind_of_answer}.txt")
    replies: list[Reply] = []
    head, lines = None, []

    def close() -> None:
        if head is not None:
            number, kind, *tags = head
            ending = "\n\n   \n" if "blanks" in tags else ""
            replies.append(Reply(f"{path.name}:{number}", kind, frozenset(tags), "\n".join(lines) + ending))

    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if line.startswith("=== "):
            close()
            head, lines = [number, *line.split()[1:]], []
        else:
            lines.append(line)
    lines.pop()
    close()
    return replies
