r"""Restated rows of `sheet.py`: other variable names and other typesetting, with the label unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from ..verifiers.mathematics.grammar import read
from ..verifiers.mathematics.tree import Malformed, Quantity, Value, Words, leaves
from .metamorphic import DELIMITERS, STYLES, one_letter_variables, reorder
from .sheet import Row
from .value_writer import MISREAD, Unwritable, write_value

# Letters that may be renamed: not x (a sign in 3 x 10^4), nor names of functions, constants or the union.
_RENAMED = frozenset("abcdjklmnorstuvwyzABCDJKLMNRSVWXYZ")
_NEW = tuple("msKJNWVALdkct")
_RUN = re.compile(r"\\[A-Za-z]+|[A-Za-z]+")
_STYLED = re.compile(r"\\(?:text|math|mbox|operatorname|begin)")
_MAX_LENGTH = 200
# Under these options the verdict depends on the wording of an answer.
_POLICIES = frozenset(("policy", "functions", "chains", "containers", "percent", "words", "prose"))


def restate_rows(rows: Iterable[Row], seed: int = 0) -> Iterator[Row]:
    """Yield restated rows of the kind "math" with unchanged labels: variables renamed on both sides, sums and products
    of the reference reordered, or other delimiters and another power sign in the answer.

    Changes that could alter the label are not made: rows with units keep their letters, and long answers and rows with
    options on the wording of an answer are left out.

    Args:
        rows: rows of any kind; other kinds than "math" are skipped.
        seed: seed of the random choices.
    """
    for number, row in enumerate(rows):
        if row.kind != "math" or not isinstance(row.given, str) or len(row.answer) > _MAX_LENGTH:
            continue
        if not _POLICIES.isdisjoint(row.options):
            continue
        rng = np.random.default_rng([seed, number])
        answer = row.answer
        if not re.search(r"[$#*`]|\\[()\[\]]", answer) and answer.strip():
            opening, closing = DELIMITERS[rng.integers(len(DELIMITERS))]
            yield replace(row, given=opening + answer + closing, family="delimiters")
        if re.fullmatch(r"[^^]*(?:\^ ?[0-9A-Za-z(][^^]*)+", answer) and "**" not in answer:
            yield replace(row, given=answer.replace("^", "**"), family="powers")
        if isinstance(row.reference, str):
            yield from _rename_row(row, rng)
            yield from _reorder_reference(row, rng)


def _rename_row(row: Row, rng: np.random.Generator) -> Iterator[Row]:
    texts = (row.answer, row.reference)
    values = [_read(text) for text in texts]
    if any(map(_STYLED.search, texts)) or row.options.get("units") == "optional":
        return
    if any(value is None or _has_unit_or_words(value) for value in values):
        return
    names = sorted(set().union(*(one_letter_variables(value) for value in values if value is not None)) & _RENAMED)
    free = [name for name in _NEW if not any(name in text for text in texts)]
    if not names or len(free) < len(names):
        return
    table = str.maketrans(dict(zip(names, rng.choice(free, size=len(names), replace=False).tolist())))
    runs = [run for text in texts for run in _RUN.findall(text) if not run.startswith("\\") and set(run) & set(names)]
    # A run is renamed as a whole and must not become a word; longer runs are products only in their present letters.
    if all(len(run) < 4 and set(run) <= set(names) and run.translate(table).lower() not in MISREAD for run in runs):

        def rename(run: re.Match[str]) -> str:
            return run[0] if run[0].startswith("\\") else run[0].translate(table)

        answer, reference = (_RUN.sub(rename, text) for text in texts)
        yield replace(row, given=answer, reference=reference, family="names")


def _reorder_reference(row: Row, rng: np.random.Generator) -> Iterator[Row]:
    value = _read(row.reference)
    if value is None or _has_unit_or_words(value):
        return
    try:
        text = write_value(reorder(value, rng), STYLES[rng.integers(len(STYLES))])
    except Unwritable:
        return
    yield replace(row, reference=text, family="order")


def _read(text: str) -> Value | None:
    try:
        return read(text)
    except (Malformed, RecursionError):
        return None


def _has_unit_or_words(value: Value) -> bool:
    return any(isinstance(leaf, (Quantity, Words)) for leaf in leaves(value))
