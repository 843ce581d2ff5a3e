"""Sentences that follow a question: notes on words that it uses, and on columns that keep their values untidily."""

from __future__ import annotations

import re
from typing import Any

from ..databases.stored_forms import find_form
from .query_tree import ColumnName, Query, walk


def write_notes(query: Query, writer: Any) -> list[str]:
    """Write a note for each node of a query that has one, and a sentence for each column that is kept untidily.

    Args:
        query: the query as it is meant (`stored_columns.as_meant`).
        writer: the `wording.QuestionWriter` of its question.
    """
    found: list[str] = []
    for node in walk(query):
        if isinstance(node, ColumnName) and (stored := writer.field(node).stored):
            owner = writer.schema[node.table].singular
            subject = node.sql() if writer.named else f"The {writer.field(node).phrase} of {with_article(owner)}"
            found.append(find_form(stored).note.replace("{}", subject))
        elif note := getattr(node, "note", None):
            found.append(f"Note: {note(writer)}")
    return list(dict.fromkeys(found))


def with_article(noun: str) -> str:
    """Put "a" or "an" before a noun."""
    return f"{'an' if re.match(r'[aeio]', noun) else 'a'} {noun}"
