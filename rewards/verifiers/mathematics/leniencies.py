r"""Policies of the verifier "math": named sets of leniencies. Each leniency is also an option.

A policy adds readings of a text and ways to compare two values; an answer that is right under "strict" is right under
every policy. The docstring of `verifier.verify_math` lists the forms that each leniency accepts and refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ....errors import InputError, unknown_name
from ...answers.phrases import is_denied
from .approximate import near, roughly
from .canonical import has_variables
from .grammar import read
from .lexer import unwrap
from .normal import Budget, Ring, TooBig
from .tree import (
    Malformed,
    Quantity,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    Words,
    as_num,
    is_scalar,
    make_product,
    symbols,
)
from .unit_readings import as_variables
from .units import UNITS
from .vocabulary import ARITHMETIC, DOUBTS, MAGNITUDES, PORTIONS

# Largest relative difference between two sides of = in a chain.
EQUAL = 1e-9
CHAIN_BUDGET = 5_000
MAX_PROSE = 4_000  # characters
MAX_PROSE_WORDS = 400
_MARKS = re.compile(r"(?<!\\)\$\$?|\\[()\[\]]")
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCES = re.compile(r"(?<=[.!?])\s")
_BETWEEN = re.compile(r"[,;]? ?(?:and|or)?|[,;]")
# Prose that quantifies, or answers yes or no, states no value.
_NO_VALUE = DOUBTS | frozenset(
    ("all", "any", "every", "each", "some", "no", "yes", "true", "such", "both", "undefined")
)
# Adjectives after a measure: "12 (years old)".
_ADJECTIVES = frozenset(("old", "long", "tall", "wide", "deep", "high", "each", "left", "total", "away", "heavy"))
_YES_OR_NO = re.compile(r"\s{0,9}(?:yes|no)(?:[.,;:!]|\s{0,9}$)", re.IGNORECASE)
# Range of a parameter after a family of values: "for any integer $k$".
_RANGE = re.compile(
    r",? ?(?:for )?(?:any|all|every|each|some) (?:real |whole |positive |natural )?(?:number|integer|value)s?"
    r" ?(?:\$\\?[A-Za-z]{1,8}\$)?(?=\.?\s{0,9}$)"
)
_INTRODUCED = re.compile(r"(?:[a-z]{3} ?: ?| is:? | are:? | equals )")


@dataclass(frozen=True, slots=True)
class Leniencies:
    """Leniencies of a policy, True if granted; `verifier.verify_math` explains each."""

    functions: bool = False
    chains: bool = False
    containers: bool = False
    percent: bool = False
    words: bool = False
    prose: bool = False
    spellings: bool = False


STRICT = Leniencies()
POLICIES: Mapping[str, Leniencies] = {"strict": STRICT, "dataset": Leniencies(True, True, True, True, True, True, True)}


def make_leniencies(name: str, settings: Mapping[str, Any]) -> Leniencies:
    """Return the leniencies of a policy, by its name, overridden by the settings that are not None.

    Raises:
        InputError: an unknown name, or a setting that is neither a bool nor None.
    """
    if not isinstance(name, str) or name not in POLICIES:
        raise unknown_name("policy", str(name), POLICIES)
    own = {}
    for setting, value in settings.items():
        if value is not None and not isinstance(value, bool):
            raise InputError(f"{setting} must be True or False, or None for what the policy says, not {value!r}.")
        if value is not None:
            own[setting] = value
    return replace(POLICIES[name], **own) if own else POLICIES[name]


def read_under(text: str, leniencies: Leniencies, *, is_reference: bool = False) -> Value:
    """Read a text by `grammar.read`, or else by the further readings of the leniencies.

    Raises:
        Malformed: no reading succeeds.
    """
    try:
        return read(text)
    except Malformed:
        other = _with_words(text) if leniencies.words else None
        if other is None and leniencies.prose:
            other = _in_prose(text, is_reference)
        if other is None:
            raise
        return other


def further_pairs(
    answer: tuple[str, Value, Value], reference: tuple[Any, Value, Value], leniencies: Leniencies
) -> Iterator[tuple[Value, Value]]:
    """Yield further pairs of an answer's and a reference's value; the answer is right if one of them is equal.

    Args:
        answer: (text, parsed value, value in the strict comparison) of the answer.
        reference: the same of the reference.
        leniencies: those granted.
    """
    left, right = _readings(*answer[1:], leniencies), _readings(*reference[1:], leniencies)
    for a in left:
        for b in right:
            if a is not answer[2] or b is not reference[2]:
                yield a, b
            if leniencies.functions and isinstance(a, Relation) != isinstance(b, Relation):
                content = _content(a if isinstance(a, Relation) else b)
                if content is not None:
                    yield (content, b) if isinstance(a, Relation) else (a, content)
    if leniencies.percent and isinstance(reference[0], str):
        given, expected = _without_percent(answer[0]), _without_percent(reference[0])
        # Not for 1 percent or less: half a percent is not a half.
        if given is not None and expected is None and is_scalar(reference[2]) and abs(roughly(given) or 0) > 1:
            yield given, reference[2]
        elif expected is not None and given is None and is_scalar(answer[2]):
            yield answer[2], expected


# Chains and functions.


def _readings(written: Value, value: Value, leniencies: Leniencies) -> list[Value]:
    last = _last_link(written) if leniencies.chains and isinstance(written, Relation) else None
    return [value] if last is None else [value, last]


def _last_link(value: Relation) -> Value | None:
    """Return the last link of a chain: ``11`` for ``5+6=11``, ``x = 11`` for ``x = 5+6 = 11``. Return None for an
    equation to be solved, or if two sides differ."""
    if any(operator not in "=≈" for operator in value.operators):
        return None
    first, *others = value.sides
    named = isinstance(first, Sym) and not any(_has(side, first.name) for side in others)
    sides = others if named else list(value.sides)
    if len(sides) < 2 or not (named or all(is_scalar(side) or isinstance(side, Quantity) for side in sides)):
        return None
    # "5 = 5" and "0x = 0" are not chains.
    if not named and (sides[-1] == sides[-2] or (has_variables(sides[0]) and not has_variables(sides[-1]))):
        return None
    operators = value.operators[1:] if named else value.operators
    if not all(_may_link(*link) for link in zip(operators, sides, sides[1:])):
        return None
    return Relation(("=",), (first, sides[-1])) if named else sides[-1]


def _has(value: Value, name: str) -> bool:
    return name in symbols(value) if is_scalar(value) else has_variables(value) and not isinstance(value, ValueGroup)  # type: ignore[arg-type]


def _may_link(operator: str, a: Value, b: Value) -> bool:
    """Return True if two sides may be equal: numbers and measures that are near, expressions proved to be equal."""
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        same = (a.unit.dimensions, a.unit.pi) == (b.unit.dimensions, b.unit.pi)
        if same and _may_link(operator, _in_base_units(a), _in_base_units(b)):
            return True
    a, b = as_variables(a), as_variables(b)
    if not (is_scalar(a) and is_scalar(b)):
        return isinstance(a, ValueGroup) and isinstance(b, ValueGroup)
    if operator == "≈":
        return near(a, b)
    if not has_variables(a) and not has_variables(b):
        return near(a, b, EQUAL)
    ring = Ring(Budget(CHAIN_BUDGET))
    try:
        return ring.equal(ring.form(a), ring.form(b))  # type: ignore[arg-type]
    except (TooBig, Malformed):
        return False


def _in_base_units(measure: Quantity) -> Scalar:
    return make_product(measure.value, as_num(measure.unit.factor))


def _content(value: Value) -> Value | None:
    """Return ``E`` of ``f(x) = E`` if the name does not occur in E; else None."""
    if not isinstance(value, Relation) or value.operators != ("=",):
        return None
    for name, content in (value.sides, value.sides[::-1]):
        content = as_variables(content)
        if isinstance(name, Sym) and has_variables(name) and is_scalar(content) and not _has(content, name.name):
            return content
    return None


# Percent and words.


def _without_percent(text: str) -> Value | None:
    """Read the number before a percent sign at the end of a text; None without such a number."""
    try:
        core, _ = unwrap(text)
    except Malformed:
        return None
    for sign in ("\\%", "%", "percent"):
        if core.endswith(sign):
            try:
                value = read(core[: -len(sign)])
            except Malformed:
                return None
            return value if is_scalar(value) and not has_variables(value) else None
    return None


def _with_words(text: str) -> Value | None:
    """Read a number with words in brackets: ``9 (apples)``, ``12 (years old)``; None for any other text."""
    text = text.strip().removesuffix(".")
    head, bracket, tail = text.removesuffix(")").rpartition("(")
    # In "pieces of candy" only the first noun counts.
    words = tail.replace("-", " ").partition(" of ")[0].split()
    if not bracket or not text.endswith(")") or not words or not all(word.isalpha() for word in words):
        return None
    while len(words) > 1 and words[-1].lower() in _ADJECTIVES:
        words.pop()
    try:
        value = read(f"{head}\\text{{ {' '.join(words)}}}")
    except Malformed:
        return None
    return value if isinstance(value, Quantity) else None


# Prose.


def _in_prose(text: str, is_reference: bool) -> Value | None:
    """Read the value of prose: the last formula, or several with only separators between them. Without a formula, read
    the value that ends "... is 5", or a yes or no at the beginning. Return None if the prose states no value."""
    if len(text) > MAX_PROSE:
        return None
    whole, text = text, _RANGE.sub("", text)
    parts = _MARKS.split(text)
    if len(parts) % 2 == 0:
        return None
    words = [word.lower() for part in parts[::2] for word in _LETTERS.findall(part)]
    if words[:1] in (["yes"], ["no"]) and _YES_OR_NO.match(text) and len({"yes", "no"} & set(words)) == 1:
        # A reference with a formula after its yes is not reduced to the yes.
        return None if is_reference and len(parts) > 1 else Words(words[0])
    if not words and text != whole:
        return _sensible(text.strip(" .,"), "")
    if not words or len(words) > MAX_PROSE_WORDS or not _NO_VALUE.isdisjoint(words):
        return None
    if len(parts) == 1:
        text = " ".join(text.strip().removesuffix(".").split())
        ends = [found.end() for found in _INTRODUCED.finditer(text)]
        return _sensible(text[ends[-1] :], "") if ends and not is_denied(text[: ends[-1]]) else None
    last = first = len(parts) - 2
    while first > 1 and _BETWEEN.fullmatch(" ".join(parts[first - 1].split())):
        first -= 2
    if is_denied(" ".join(_SENTENCES.split("".join(parts[:first]))[-1].split())):
        return None
    # A reference with several formulas is not reduced to the last.
    if (is_reference and first > 1) or any(character.isdigit() for character in parts[-1]):
        return None
    return _sensible(" ".join(part.strip() for part in parts[first : last + 1]), parts[-1])


def _sensible(formula: str, behind: str) -> Value | None:
    """Read a formula with the unit after it; None for a lone name or plain words."""
    words = _LETTERS.findall(behind)
    # A full stop ends the sentence that the formula stands in.
    following = words[0].lower() if words and not behind.lstrip().startswith((".", ",", ";", ":")) else ""
    if following in ARITHMETIC - MAGNITUDES.keys() or following.removesuffix("s") in PORTIONS or "%" in behind:
        return None
    try:
        if following in UNITS or following in MAGNITUDES or following in ("percent", "square", "cubic", "per"):
            value = read(f"{formula}\\text{{ {behind.strip(' .')}}}")
        else:
            value = read(formula)
    except Malformed:
        return None
    return None if isinstance(value, (Words, Sym)) else value
