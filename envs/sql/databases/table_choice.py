"""Choice of a database's domain and tables: from one domain, or from several under one roof if it has too few.

Many tables come from several domains, some of them whole, and from distractors: `archived_sale` beside `sale`, with the
same columns and references. Names differ, and no table is called like a column or a value of the domain in question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from ....errors import InputError
from ...code.programs.dice import Dice
from .contents import list_values, read_pool
from .domains import read_domains
from .relations import Schema, TableSchema

_ADJECTIVES = ("archived", "imported", "planned", "deleted")
# One in so many tables that the domain does not have is a distractor.
_DISTRACTORS = 3


def choose_domain(dice: Dice, joins: int, size: int, among: Sequence[str]) -> Schema:
    """Draw a domain with ``size`` tables or, if there is none, one in which a table joins ``joins`` others.

    Args:
        dice: the random generator.
        joins: number of tables joined to the first one.
        size: number of tables of the database.
        among: names of domains to choose from; empty for all.

    Raises:
        InputError: no domain of ``among`` joins so many tables.
    """
    domains = [one for one in read_domains() if not among or one.domain in among]
    large = [one for one in domains if len(one.names) >= size]
    deep = [one for one in domains if any(len(one.ancestors(name)) >= joins for name in one.names)]
    if not deep:
        raise InputError(f"joins={joins} needs {joins + 1} tables that refer to one another, and {among} has fewer.")
    return dice.one(large or deep)


def choose_tables(dice: Dice, domain: Schema, used: Collection[str], size: int) -> tuple[Schema, set[str]]:
    """Draw the tables of a database, near those of the query if possible. Return them, and the schema that has them:
    the domain, or a wider one if it has too few.

    Args:
        dice: the random generator.
        domain: the domain of the query.
        used: the tables of the query.
        size: number of tables.
    """
    if size > len(domain.names):
        wide = _widen(dice, domain, sorted(used), size)
        return wide, {*wide.names}
    names = set(used)
    while len(names) < size:
        near = [one for one in domain.names if one not in names and _touches(domain, one, names)]
        names.add(dice.one(near or [one for one in domain.names if one not in names]))
    return domain, names


def _touches(domain: Schema, name: str, names: set[str]) -> bool:
    own = {field.values[0] for field in domain[name].parents}
    return bool(own & names) or any(name in field.values for one in names for field in domain[one].parents)


def _widen(dice: Dice, domain: Schema, used: Sequence[str], size: int) -> Schema:
    """Add tables of other domains, and distractors of all tables, those of ``used`` first."""
    missing = size - len(domain.names)
    taken = _list_words(domain)
    parts = {domain.domain: domain}
    left = missing - missing // _DISTRACTORS
    others = [one for one in read_domains() if one.domain != domain.domain]
    while left and others:
        other = dice.one(others)
        others.remove(other)
        names = [name for name in other.names if name not in taken][:left]
        parts[other.domain] = other.select(names)
        left -= len(names)
    schemas = [parts[one.domain] for one in read_domains() if one.domain in parts]
    originals = [relation for one in schemas for relation in one.relations]
    number = size - len(originals)
    first = [relation for relation in originals if relation.name in used]
    rest = [relation for relation in originals if relation.name not in used]
    adjectives: dict[str, list[str]] = {}
    for place in range(number):
        if place < len(first):
            original = first[place]
        else:
            original = dice.one([one for one in rest if len(adjectives.get(one.name, ())) < len(_ADJECTIVES)])
        known = adjectives.setdefault(original.name, [])
        known.append(dice.one([one for one in _ADJECTIVES if one not in known]))
    relations = [
        relation
        for one in originals
        for relation in (one, *(_distract(one, adjective) for adjective in adjectives.get(one.name, ())))
    ]
    return Schema(domain.domain, tuple(relations), commented=True)


def _distract(original: TableSchema, adjective: str) -> TableSchema:
    key = replace(original.fields[0], name=f"{adjective}_{original.key}")
    return TableSchema(
        f"{adjective}_{original.name}",
        f"{adjective} {original.singular}",
        f"{adjective} {original.plural}",
        (key, *(replace(field, spare=False) for field in original.fields[1:])),
    )


def _list_words(domain: Schema) -> set[str]:
    """List the words of all columns and values of a domain in lower case."""
    words: set[str] = set()
    for field in (field for relation in domain.relations for field in relation.fields):
        words.add(field.name)
        if field.kind in ("name", "pick"):
            values = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
            words.update(re.findall(r"\w+", " ".join(values).lower()))
    return words
