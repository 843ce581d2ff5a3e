"""Selection of data-set rows for an evaluation, which are played once each instead of randomly drawn tasks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from ...errors import InputError, shorten, unknown_name
from .environment_spec import make_envs, name_of


def digest_rows(rows: Sequence[str]) -> str:
    """Return a short text that identifies a list of rows, for the settings in an `EpisodeLog`."""
    return f"{len(rows)} rows, {hashlib.blake2b(repr(rows).encode(), digest_size=8).hexdigest()}"


def parse_rows(text: str) -> Literal["all"] | int | list[str]:
    """Read a text that names rows: "all", a number of rows from the beginning, or a file with one id per line.

    Raises:
        InputError: the text has none of these forms.
    """
    if text == "all":
        return "all"
    if re.fullmatch("[0-9]+", text):
        return int(text)
    if not Path(text).is_file():
        raise InputError(f"--rows must be all, a number or a file with an id a line, not {text!r}.")
    return [line.strip() for line in Path(text).read_text(encoding="utf-8").splitlines() if line.strip()]


def find_rows(
    rows: Literal["all"] | int | Sequence[str], env: Any, kwargs: dict[str, Any], prompt_form: str | None
) -> tuple[str, ...]:
    """Return the ids of the requested rows of a data set.

    Raises:
        InputError: the environment is no data set, or has no such rows.
    """
    (made,), _ = make_envs(env, 1, "all", dict(kwargs), prompt_form=prompt_form)
    there: tuple[str, ...] | None = getattr(made.unwrapped, "rows", None)
    made.close()
    name = env if isinstance(env, str) else name_of(made)
    if there is None:
        raise InputError(
            f"{name} makes its tasks, so that it has no rows; rows are for data sets, such as palaestra/Dataset-v0 "
            "with source=questions.jsonl."
        )
    if isinstance(rows, str) and rows == "all":
        return there
    if isinstance(rows, int) and not isinstance(rows, bool):
        if not 1 <= rows <= len(there):
            raise InputError(f"{name} has {len(there)} rows, not {rows}; give a number from 1 to that, or all.")
        return there[:rows]
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise InputError(f"rows must be 'all', a number or a list of ids, not {shorten(repr(rows))}.")
    for row in rows:
        if row not in there:
            raise unknown_name("row", str(row), list(there))
    if not rows:
        raise InputError("rows is an empty list; give at least one id, or 'all'.")
    return tuple(rows)
