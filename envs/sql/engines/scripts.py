"""Scripts: untrusted statements that change a database, split and checked before any engine sees them."""

from __future__ import annotations

import re

from ....rewards.verifiers.sql import QueryError
from .engine import check_text

MOST_STATEMENTS = 200

_PIECES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|[A-Za-z_]\w*|.", re.DOTALL)
_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE")
_DEFINITIONS = ("CREATE", "ALTER", "DROP")
_DEFINED = re.compile(
    r"CREATE (?:OR REPLACE )?(?:TABLE|VIEW|(?:UNIQUE )?INDEX)|ALTER (?:TABLE|VIEW|INDEX)|DROP (?:TABLE|VIEW|INDEX)"
)


def split_script(text: str, defines: bool = False) -> tuple[str, ...]:
    """Split a text into statements, without comments.

    Args:
        text: untrusted text.
        defines: True if CREATE, ALTER and DROP of tables, views and indexes are allowed.

    Raises:
        QueryError: there is no statement, or one of another kind; one sentence for the agent.
    """
    check_text(text)
    statements: list[list[str]] = [[]]
    for piece in _PIECES.findall(text):
        if piece == ";":
            statements.append([])
        elif piece == "$":
            raise QueryError("Texts between dollar signs are not allowed.")
        else:
            statements[-1].append(" " if piece.startswith(("--", "/*")) else piece)
    found = ["".join(pieces).strip() for pieces in statements]
    for statement, pieces in zip(found, statements):
        if statement:
            _check_kind(pieces, defines)
    found = [statement for statement in found if statement]
    if not found:
        raise QueryError("There is no statement.")
    if len(found) > MOST_STATEMENTS:
        raise QueryError(f"There are more than {MOST_STATEMENTS} statements.")
    return tuple(found)


def _check_kind(pieces: list[str], defines: bool) -> None:
    allowed = _CHANGES + _DEFINITIONS * defines
    depth, words = 0, []
    for piece in pieces:
        depth += (piece == "(") - (piece == ")")
        if depth == 0 and (piece[0].isalpha() or piece[0] == "_"):
            words.append(piece.upper())
    verb = words[0] if words else "".join(pieces).strip()[:20]
    if verb == "WITH":
        verb = next((word for word in words if word in (*_CHANGES, "SELECT", "VALUES")), verb)
    if verb not in allowed:
        raise QueryError(f"Only {', '.join(allowed[:-1])} and {allowed[-1]} are allowed, not {verb}.")
    if verb in _DEFINITIONS and not _DEFINED.match(" ".join(words[:4])):
        raise QueryError(f"{verb} is allowed for tables, views and indexes only.")
    if verb in _CHANGES and "RETURNING" in words:
        raise QueryError("RETURNING is not allowed: a statement returns no rows.")
