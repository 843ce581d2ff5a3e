"""Logical forms of questions: their denotation in a world, and the wording of a form as a noun phrase.

A form is a tuple, so that tasks can be pickled and compared. It denotes a set of things or values:

    ("thing", n)                    thing n
    ("of", relation, form)          the values of the relation of the things that ``form`` denotes
    ("having", relation, form)      the things whose value of the relation is in the set of ``form``
    ("both", form, form)            the things in both sets
    ("count", form)                 the number of things in the set
    ("more", relation, form, form)  of two things, the one with the larger value; for times, the earlier one
    ("between", relation, form, relation, form)     the number of years between two times
"""

from __future__ import annotations

from typing import Any

from .listings import LISTINGS
from .wiki_relations import RELATIONS
from .world import WikiWorld

Form = tuple[Any, ...]


def denote(world: WikiWorld, form: Form) -> frozenset[Any]:
    """Return the set of things or values that a form denotes in the world.

    The set of "more" and "between" is empty unless each part denotes one thing with a value, and the values differ.
    """
    head = form[0]
    if head == "thing":
        return frozenset([form[1]])
    if head == "of":
        values = (world.things[number].facts.get(form[1]) for number in denote(world, form[2]))
        return frozenset(value for value in values if value is not None)
    if head == "having":
        values = denote(world, form[2])
        return frozenset(number for value in values for number in world.having.get((form[1], value), ()))
    if head == "both":
        return denote(world, form[1]) & denote(world, form[2])
    if head == "count":
        return frozenset([len(denote(world, form[1]))])
    if head == "more":
        values = [(world.things[n].facts.get(form[1]), n) for part in form[2:] for n in denote(world, part)]
        if len(values) != 2 or None in (values[0][0], values[1][0]) or values[0][0] == values[1][0]:
            return frozenset()
        return frozenset([(min if RELATIONS[form[1]].event else max)(values)[1]])
    if head == "between":
        years = [
            value[0] if isinstance(value, tuple) else value
            for relation, part in (form[1:3], form[3:5])
            for value in denote(world, ("of", relation, part))
        ]
        return frozenset([abs(years[0] - years[1])] if len(years) == 2 and years[0] != years[1] else [])
    raise AssertionError(f"unknown form {head!r}")


def write_noun(form: Form, names: dict[int, str]) -> str:
    """Return a noun phrase for a form that denotes one thing: "the birthplace of the author of X".

    Args:
        form: a form built from "thing", "of" and "having" only.
        names: number of a thing -> name to use.
    """
    if form[0] == "thing":
        return names[form[1]]
    noun = RELATIONS[form[1]].noun if form[0] == "of" else LISTINGS[form[1]].only
    return noun.format(write_noun(form[2], names))
