"""Clues of zebra puzzles: the effect of a clue on the possible solutions, and sets of clues with exactly one solution.

The domain of an attribute is the set of permutations (house of each value) that are still possible, an int with a bit
for each permutation. A clue is applied to two attributes by a few operations on whole sets, and "all different" is
built in.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

# Clue kinds: the phrase between two people, and the allowed values of (second person's house - first person's house).
RELATIONS = {
    "same": ("is", (0,)),
    "left": ("lives directly left of", (1,)),
    "beside": ("lives next to", (-1, 1)),
    "gap": ("lives two houses away from", (-2, 2)),
    "before": ("lives somewhere left of", range(1, 9)),
    "other": ("is not", frozenset(range(-8, 9)) - {0}),
}
KINDS = {
    "direct": ("at", "same", "left"),
    "varied": ("at", "same", "left", "beside", "gap", "before", "other", "not at"),
}


@dataclass(frozen=True, slots=True)
class Clue:
    """A relation between value ``v`` of attribute ``a`` and value ``w`` of attribute ``b``. If ``b`` is -1, the clue
    says that the house of value ``v`` is (kind "at") or is not (kind "not at") house ``w``, counted from 0."""

    kind: str
    a: int
    v: int
    b: int
    w: int


@functools.cache
def permutation_sets(houses: int) -> list[list[int]]:
    """Return at [v][i] the set of permutations with value v in house i. A permutation gives the house of each value;
    the identity is bit 0."""
    permutations = list(itertools.permutations(range(houses)))
    return [
        [sum(1 << p for p, permutation in enumerate(permutations) if permutation[v] == i) for i in range(houses)]
        for v in range(houses)
    ]


@functools.cache
def _sets_within(houses: int, v: int) -> list[int]:
    """Return a list that has, at the index of a bit set of houses, the permutations with value v in one of them."""
    return [sum(permutation_sets(houses)[v][i] for i in range(houses) if some >> i & 1) for some in range(1 << houses)]


@functools.cache
def _compatible_houses(houses: int, kind: str) -> tuple[list[int], list[int]]:
    """Return two lists: possible houses of the first person, indexed by the bit set of possible houses of the second
    person; and the reverse."""
    pairs = [(i, j) for i in range(houses) for j in range(houses) if j - i in RELATIONS[kind][1]]
    sets = range(1 << houses)
    return (
        [sum({1 << i for i, j in pairs if some >> j & 1}) for some in sets],
        [sum({1 << j for i, j in pairs if some >> i & 1}) for some in sets],
    )


# A clue prepared for `apply_clue`. First the attributes that it is about, as bits. Then, if it is about one attribute:
# the attribute and the set of permutations that stay possible. If it is about two: for each one the attribute and its
# rows of `permutation_sets` and `_sets_within`, and at last the two lists of `_compatible_houses`.
CompiledClue = tuple[Any, ...]


@functools.lru_cache(maxsize=20_000)
def compile_clue(houses: int, clue: Clue) -> CompiledClue:
    """Return a clue in the form that `apply_clue` needs."""
    a, v, b, w = clue.a, clue.v, clue.b, clue.w
    table = permutation_sets(houses)
    if b < 0:
        return 1 << a, a, table[v][w] if clue.kind == "at" else sum(table[v]) & ~table[v][w]
    if a == b:
        distances = RELATIONS[clue.kind][1]
        pairs = [(i, j) for i in range(houses) for j in range(houses) if i != j and j - i in distances]
        return 1 << a, a, sum(table[v][i] & table[w][j] for i, j in pairs)
    first, second = (a, table[v], _sets_within(houses, v)), (b, table[w], _sets_within(houses, w))
    return 1 << a | 1 << b, *first, *second, *_compatible_houses(houses, clue.kind)


def apply_clue(rule: CompiledClue, domains: list[int]) -> int:
    """Remove from ``domains``, in place, the permutations that one clue excludes. Return the attributes whose domain
    changed, as bits. A domain becomes empty if clue and domains contradict each other."""
    if len(rule) == 3:
        attributes, a, stay = rule
        old = domains[a]
        domains[a] = old & stay
        return attributes if domains[a] != old else 0
    _, a, rows_a, within_a, b, rows_b, within_b, seen_from_b, seen_from_a = rule
    old_a, old_b = domains[a], domains[b]
    houses_a = houses_b = 0
    bit = 1
    for row_a, row_b in zip(rows_a, rows_b):
        if old_a & row_a:
            houses_a |= bit
        if old_b & row_b:
            houses_b |= bit
        bit += bit
    domains[a] = old_a & within_a[seen_from_b[houses_b]]
    domains[b] = old_b & within_b[seen_from_a[houses_a]]
    return (1 << a if domains[a] != old_a else 0) | (1 << b if domains[b] != old_b else 0)


def apply_clues(rules: list[CompiledClue], domains: list[int], changed: int = -1) -> int:
    """Apply clues to ``domains``, in place, until none excludes anything more. Return the number of applications.

    ``changed`` are the attributes, as bits, whose clues are applied first; -1 for all.
    """
    applied = 0
    # Bit 0 is the solution, which satisfies all clues: once nothing else is left, nothing more can be excluded.
    while changed and max(domains) > 1:
        latest, changed = changed, 0
        for rule in rules:
            if rule[0] & latest:
                applied += 1
                changed |= apply_clue(rule, domains)
    return applied


def _has_other_solution(rules: list[CompiledClue], domains: list[int], changed: int = -1) -> bool:
    """Return True if the clues allow, within the domains, a solution other than the one with value v in house v."""
    apply_clues(rules, domains, changed)
    if not all(domains):
        return False
    widths = [domain.bit_count() for domain in domains]
    if max(widths) == 1:
        return any(domain > 1 for domain in domains)
    # Branch on the smallest open domain, one permutation after the other, the known solution last.
    _, a = min((width, a) for a, width in enumerate(widths) if width > 1)
    rest = domains[a]
    while rest:
        bit = 1 << rest.bit_length() - 1
        rest ^= bit
        if _has_other_solution(rules, [*domains[:a], bit, *domains[a + 1 :]], 1 << a):
            return True
    return False


def draw_clues(
    houses: int, attributes: int, kinds: tuple[str, ...], spare: int, rng: np.random.Generator
) -> list[Clue]:
    """Draw clues, in random order, whose only solution puts value v of each attribute into house v.

    All but ``spare`` of the clues are needed: leaving out one of them would allow another solution.
    """
    full = [sum(permutation_sets(houses)[0])] * attributes
    clues: dict[Clue, CompiledClue] = {}
    unused: dict[Clue, CompiledClue] = {}
    domains = list(full)
    while max(domains) > 1 or len(unused) < spare:
        for draws in rng.random((64, 4)).tolist():
            clue = _draw_clue(houses, attributes, kinds, *draws)
            if clue is None or clue in clues or clue in unused:
                continue
            rule = compile_clue(houses, clue)
            # Keep only clues that exclude something, so that few have to be removed later.
            changed = apply_clue(rule, domains)
            if changed:
                clues[clue] = rule
                apply_clues(list(clues.values()), domains, changed)
            else:
                unused[clue] = rule
    # `full` holds the domains under the clues found necessary, from which each later test starts.
    needed: dict[Clue, CompiledClue] = {}
    while clues:
        clue, rule = clues.popitem()
        if _has_other_solution([*needed.values(), *clues.values()], list(full)):
            needed[clue] = rule
            apply_clues(list(needed.values()), full, apply_clue(rule, full))
        else:
            unused[clue] = rule
    chosen = [*needed, *list(unused)[:spare]]
    order = rng.random(len(chosen)).tolist()
    return [chosen[place] for place in sorted(range(len(chosen)), key=order.__getitem__)]


def _draw_clue(
    houses: int, attributes: int, kinds: tuple[str, ...], t: float, u: float, v: float, w: float
) -> Clue | None:
    """Return the true clue that four draws in [0, 1) determine; None if they determine none."""
    kind = kinds[int(t * len(kinds))]
    a, i = divmod(int(u * attributes * houses), houses)
    if kind == "at":
        # Direct places make puzzles easy, so use only a few of them.
        return Clue(kind, a, i, -1, i) if v < 0.5 else None
    b, j = divmod(int(v * attributes * houses), houses)
    if kind == "not at":
        return Clue(kind, a, i, -1, j) if i != j else None
    if j - i not in RELATIONS[kind][1] or (a == b and kind in ("same", "other")):
        return None
    if kind in ("same", "other", "beside", "gap") and (a, i) > (b, j):
        # Order the two people of symmetric clues, so that no clue is given twice.
        a, i, b, j = b, j, a, i
    return Clue(kind, a, i, b, j)
