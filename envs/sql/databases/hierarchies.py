"""Tables whose rows may refer to others of the same table: a superior, a mentor, a predecessor.

They are no part of the domains; a query that needs a hierarchy adds the reference to its schema.
"""

from __future__ import annotations

from .relations import Field

# Domain and table -> the word for the row that a row refers to.
_SUPERIORS = {
    ("shop", "customer"): "recommender",
    ("shop", "store"): "head store",
    ("hospital", "doctor"): "superior",
    ("university", "teacher"): "mentor",
    ("university", "course"): "prerequisite",
    ("library", "member"): "sponsor",
    ("library", "book"): "predecessor",
    ("airline", "passenger"): "recommender",
    ("music", "artist"): "mentor",
    ("music", "album"): "predecessor",
    ("league", "player"): "mentor",
    ("league", "club"): "parent club",
    ("factory", "worker"): "superior",
    ("factory", "machine"): "main machine",
    ("restaurant", "dish"): "base dish",
}


def list_hierarchies(domain: str) -> dict[str, Field]:
    """Map each table of a domain that can be a hierarchy to the field that refers to a row's superior."""
    return {
        table: Field(f"{word.replace(' ', '_')}_id", "self", f"{word} id", nullable=True, values=(table,))
        for (name, table), word in _SUPERIORS.items()
        if name == domain
    }


def name_superior(field: Field) -> str:
    """Return the word for the row that a row refers to."""
    return field.phrase.removesuffix(" id")
