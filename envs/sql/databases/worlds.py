"""Many contents of a schema at once, as arrays, with the special cases of a query among their values."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .contents import Rows, list_values, read_pool, table_size
from .relations import Field, Schema
from .stored_forms import find_form

# Row counts of a table without parents, with parents and children, and with parents only.
_SIZES = (9, 18, 36)
_NULLS = 0.27
# The share of rows that repeat the preceding row, and of values repeated in them; the share of rows that take wanted
# values together, and of such values in them.
_REPEATS, _REPEATED, _TOGETHER, _WANTED = 0.3, 0.7, 0.7, 0.9
# Multiples of it, without their whole part, are spread evenly; they choose the forms in which values are stored.
_GOLDEN = 0.618034

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Focus:
    """Special cases that the contents of a database should cover.

    Args:
        tables: the tables of a query; the others keep their rows.
        values: (table, column) -> values that should occur often, and in the same rows as those of other columns.
        only: (table, column) -> the only values of the column, besides NULL.
        names: names of the columns that matter; others keep their values.
    """

    tables: Set[str]
    values: Mapping[tuple[str, str], Sequence[Any]]
    only: Mapping[tuple[str, str], Sequence[Any]] = dataclasses.field(default_factory=dict)
    names: Set[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """A column of a table in many worlds.

    Args:
        field: the column in the schema.
        values: the values that it may have, tidy if it stores them untidily, then NULL.
        numbers: the numbers of ``values`` (`number_of`), NaN for NULL. float64 [values + 1].
        codes: the place of each row's value in ``values``, -1 for NULL; then -1, for rows of a join without partner.
            int64 [worlds, rows + 1].
    """

    field: Field
    values: tuple[Any, ...]
    numbers: NDArray[np.float64]
    codes: Codes

    def number_of(self, value: Any) -> float:
        """Return a number for a value of the column: a date's year, month and day, and the place of a text in
        ``values`` (-1 if the column never has it). Numbers and dates are ordered as in SQL."""
        return _number_of(self.field, self.values, value)


@dataclass(frozen=True, eq=False)
class Worlds:
    """Contents of some tables, in many worlds that have as many rows in a table.

    Args:
        schema: the tables.
        count: number of worlds.
        sizes: the tables with their number of rows; keys are 1, 2, 3 ...
        columns: (table, column) -> the column, for columns that matter.
        others: contents from which the values of other columns are taken, repeated if there are more rows.
    """

    schema: Schema
    count: int
    sizes: dict[str, int]
    columns: dict[tuple[str, str], Column]
    others: Rows

    def rows(self, world: int) -> Rows:
        """Return the rows of the tables in one world."""
        found: Rows = {}
        for name, size in self.sizes.items():
            columns: list[Sequence[Any]] = [range(1, size + 1)]
            for place, field in enumerate(self.schema[name].fields[1:], start=1):
                if column := self.columns.get((name, field.name)):
                    values: Sequence[Any] = [column.values[code] for code in column.codes[world, :-1].tolist()]
                    if field.stored:
                        soil = find_form(field.stored).soil
                        values = [soil(value, _GOLDEN * (row + world) % 1) for row, value in enumerate(values)]
                    columns.append(values)
                else:
                    held = [row[place] for row in self.others[name]]
                    columns.append((held * (size // len(held) + 1))[:size])
            found[name] = list(zip(*columns))
        return found


def draw_worlds(schema: Schema, rng: np.random.Generator, focuses: Sequence[Focus], others: Rows, count: int) -> Worlds:
    """Draw contents of the tables of some focuses, in turn one world for each focus.

    They have more NULLs than those of `draw_rows`, and rows that repeat most of the preceding row.

    Args:
        schema: the tables, parents first.
        rng: determines all values.
        focuses: special cases to cover, with the same tables and names.
        others: contents from which the values of columns that do not matter are taken. Tables get at least as many
            rows, so that references to them stay valid.
        count: number of worlds.
    """
    sizes: dict[str, int] = {}
    columns: dict[tuple[str, str], Column] = {}
    tables, names = focuses[0].tables, focuses[0].names
    for relation in schema.relations:
        if relation.name not in tables:
            continue
        size = table_size(schema, relation, _SIZES)
        size -= int(rng.random() * 0.25 * size)
        sizes[relation.name] = size
        fields = [one for one in relation.fields[1:] if not names or one.name in names]
        # Three numbers for a row; then four for each value: itself, and whether it is wanted, NULL, and repeated.
        draws = rng.random((4 * len(fields) + 3, count, size), dtype=np.float32)
        share = np.where(draws[0] < _TOGETHER, np.float32(_WANTED), np.float32(1 - _WANTED))
        own, often, null, repeated = draws[3:].reshape(4, len(fields), count, size)
        mixed = 0.5 * (draws[1] + own)
        codes = np.empty((len(fields), count, size), dtype=np.int64)
        listed = []
        for place, field in enumerate(fields):
            cases = [
                (focus.only.get((relation.name, field.name)), focus.values.get((relation.name, field.name)))
                for focus in focuses
            ]
            parents = size if field.kind == "self" else 0
            if field.kind == "parent":
                parents = sizes.get(field.values[0]) or len(others[field.values[0]])
            wanted = tuple([value for few, some in cases for value in few or some or ()])
            usual, values, numbers, chosen = _list_values(field, wanted, parents)
            listed.append((values, numbers))
            draw, found = own[place], codes[place]
            if field.kind == "parent":
                # Squaring a uniform number makes small values more frequent.
                found[:] = draw * draw * usual
                found[:] = (found + rng.integers(usual, size=(count, 1))) % usual
            elif field.kind == "self":
                # Every row but the first refers to an earlier one, so that there is no circle.
                found[:] = draw * np.arange(size)
                found[:, 0] = -1
            elif field.kind == "name":
                found[:] = draw * usual
            elif field.kind == "pick":
                found[:] = (0.3 * draws[1] + 0.7 * draw * draw) * usual
            else:
                found[:] = mixed[place] * np.sqrt(mixed[place]) * usual
            if not wanted:
                continue
            first = 0
            step = 1 if all(case == cases[0] for case in cases) else len(cases)
            for start, (few, some) in enumerate(cases[:step]):
                held = chosen[first : first + len(few or some or ())]
                first += len(held)
                if few:
                    found[start::step] = held[(draw[start::step] * len(few)).astype(np.int64)]
                elif some:
                    chance, most = often[place, start::step], share[start::step]
                    places = np.minimum((chance / most * len(some)).astype(np.int64), len(some) - 1)
                    np.copyto(found[start::step], held[places], where=chance < most)
        nulls = np.array([_NULLS * field.nullable for field in fields])
        codes[null < nulls[:, None, None]] = -1
        fresh = (repeated > _REPEATED) | (draws[2] > _REPEATS)
        fresh[:, :, 0] = True
        source = np.maximum.accumulate(np.where(fresh, np.arange(size), 0), axis=2)
        source += size * np.arange(len(fields) * count).reshape(len(fields), count, 1)
        padded = np.full((len(fields), count, size + 1), -1, dtype=np.int64)
        padded[:, :, :-1] = codes.ravel()[source]
        for field, (values, numbers), column in zip(fields, listed, padded):
            columns[relation.name, field.name] = Column(field, values, numbers, column)
    return Worlds(schema, count, sizes, columns, others)


@functools.lru_cache(1024)
def _list_values(
    field: Field, wanted: tuple[Any, ...], parents: int
) -> tuple[int, tuple[Any, ...], NDArray[np.float64], Codes]:
    """List the usual and the wanted values of a column, then NULL; ``parents``: number of rows that it refers to.

    Returns:
        The number of usual values, the list, the numbers of its values, and the places of the wanted values in it.
    """
    if field.kind in ("parent", "self"):
        usual: tuple[Any, ...] = tuple(range(1, parents + 1))
    else:
        usual = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
    values = (*usual, *dict.fromkeys(one for one in wanted if one is not None and one not in usual))
    numbers = np.array([*(_number_of(field, values, one) for one in values), np.nan])
    places = [-1 if one is None else values.index(one) for one in wanted]
    return len(usual), (*values, None), numbers, np.array(places, dtype=np.int64)


def _number_of(field: Field, values: tuple[Any, ...], value: Any) -> float:
    if not isinstance(value, str):
        return float(value)
    if field.kind == "date":
        return float(value.replace("-", ""))
    return float(values.index(value)) if value in values else -1.0
