"""Environments and their tags as rows, and the search in rows by words, for ``palaestra list``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from ..envs.registration import ids
from ..envs.tags import ABSENT, FACETS, group_of, join_phrases, load_family, matches, tags_of
from ..errors import InputError, MachineryError, MissingExtra, find_near, shorten
from .axes import format_axis
from .docstrings import summary
from .list_stages import Row

_SINGULAR = {"envs": "environment", "histories": "history", "bonuses": "bonus"}


def envs() -> list[Row]:
    """List every environment registered through `palaestra.envs.register`: id, part of the package, summary, axes with
    ranges, tags."""
    rows = []
    for env_id in ids():
        env: Any
        family = env = load_family(env_id)
        try:
            env = gym.make(env_id, disable_env_checker=True).unwrapped
            env.close()
            family = type(env)
        except (MissingExtra, MachineryError):  # it has a summary, though it cannot be made here
            pass
        space = getattr(env, "param_space", None)
        axes = ", ".join(format_axis(axis) for axis in space.axes) if space is not None else ""
        row = {"id": env_id, "group": group_of(family), "summary": summary(family), "axes": axes}
        rows.append(row | {"tags": ", ".join(tags_of(env_id))})
    return rows


def tags() -> list[Row]:
    """List every tag: its facet, name, number of environments, meaning."""
    used = [tag for env_id in ids() for tag in tags_of(env_id)]
    return [
        {"facet": facet, "name": tag, "environments": str(used.count(tag)), "summary": meaning}
        for facet, meanings in FACETS.items()
        for tag, meaning in meanings.items()
    ]


def select_rows(tables: dict[str, list[Row]], words: Sequence[str]) -> dict[str, list[Row]]:
    """Return the rows that fit every word, for the tables with such rows. A word is in the name or the summary; of an
    environment, it may also be in the group, or stand for a tag.

    Raises:
        InputError: no row is left; the message suggests names similar to the first word without a match.
    """
    words = join_phrases(words) if "envs" in tables else words
    found = {kind: [row for row in rows if _holds(row, words)] for kind, rows in tables.items()}
    if not words or any(found.values()):
        return {kind: rows for kind, rows in found.items() if rows or not words}
    every = [row for rows in tables.values() for row in rows]
    kind = " or ".join(_SINGULAR.get(kind, kind.removesuffix("s")) for kind in tables)
    for word in words:
        if any(_holds(row, [word]) for row in every):
            continue
        if "envs" in tables and (instead := ABSENT.get(word.lower())):
            raise InputError(f"no environment is for {word!r}; {instead}.")
        names = [str(row[column]) for row in every for column in ("id", "name", "stage") if column in row]
        parts = {part for row in every for part in re.findall(r"[\w-]{4,}", row["summary"])}
        parts.update(tag for row in every for tag in row.get("tags", "").split(", "))
        near = find_near(word, names) or find_near(word, parts, like=0.75)
        listed = f"palaestra list {' '.join(tables)} shows all {len(every)}"
        rest = f"near are {', '.join(map(repr, near))}" if near else listed
        places = "name, summary or tags" if "envs" in tables else "name or summary"
        raise InputError(f"no {kind} has {shorten(word)!r} in its {places}; {rest}.")
    raise InputError(f"no {kind} has all of {', '.join(map(repr, words))} in its name and summary; leave a word out.")


def _holds(row: Row, words: Sequence[str]) -> bool:
    text = " ".join(str(row.get(column, "")) for column in ("id", "stage", "name", "group", "summary"))
    return all(matches(word, text, row["tags"].split(", ") if "tags" in row else ()) for word in words)
