"""Logical forms of questions: the denotation of a phrase in a world, and its wording.

A form is a tuple, so that tasks can be pickled and compared:

    ("thing", n)                    thing n
    ("of", relation, form)          the value of the relation of what ``form`` denotes
    ("having", relation, form)      the things whose value it is
    ("both", form, form)            what both denote
    ("count", form)                 how many things it denotes
    ("more", relation, form, form)  of two things, the one with the larger value; of times, the earlier
    ("between", relation, form, relation, form)     years from one time to the other
"""

from __future__ import annotations

from typing import Any

from .listings import LISTINGS
from .wiki_relations import FORWARD
from .world import WikiWorld

Form = tuple[Any, ...]


def denote(world: WikiWorld, form: Form) -> frozenset[Any]:
    """Evaluate a form over the whole world: the set of things or values that it denotes.

    "more" and "between" denote nothing unless each part denotes one thing with a value, and the values differ.
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
        return frozenset([(min if FORWARD[form[1]].event else max)(values)[1]])
    if head == "between":
        years = [
            value[0] if isinstance(value, tuple) else value
            for relation, part in (form[1:3], form[3:5])
            for value in denote(world, ("of", relation, part))
        ]
        return frozenset([abs(years[0] - years[1])] if len(years) == 2 and years[0] != years[1] else [])
    raise AssertionError(f"unknown form {head!r}")


def write_noun(form: Form, names: dict[int, str]) -> str:
    """Word a form that denotes one thing: "the birthplace of the author of X".

    Args:
        form: built from "thing", "of" and "having" only.
        names: the names used for its things.
    """
    if form[0] == "thing":
        return names[form[1]]
    noun = FORWARD[form[1]].noun if form[0] == "of" else LISTINGS[form[1]].only
    return noun.format(write_noun(form[2], names))
