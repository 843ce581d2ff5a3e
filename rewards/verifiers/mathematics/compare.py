"""Structural comparison of two values, in three-valued logic (True, False, None for undecided).

Brackets, order, open ends, units and names of variables are compared and not stripped. Two scalars are compared exactly
in this process if possible. Undecided pairs are collected and sent to a worker process in one batch; the comparison is
then repeated with the worker's decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

from .canonical import canonical_value, resolve_braces, sign_of_infinity, value_family, without_name
from .containers import list_values, loose_listings
from .normal import Budget, Ring, TooBig
from .nouns import is_harmless, same_noun
from .solutions import (
    BinaryRelation,
    Solutions,
    binary_relations,
    expand_choices,
    is_region,
    may_be_a_point,
    region,
    solutions,
)
from .tree import (
    Apply,
    Matrix,
    Num,
    Quantity,
    Relation,
    Scalar,
    Unit,
    Value,
    ValueGroup,
    Words,
    as_num,
    count_operation,
    difference,
    is_scalar,
    make_product,
    symbols,
    to_json,
)
from .unit_readings import as_units, as_variables
from .units import is_ignorable

# True, False, or None for undecided (yet).
Truth: TypeAlias = "bool | None"
Region: TypeAlias = "tuple[str, Value] | None"

# A truth value, or questions for a worker.
_Decision: TypeAlias = "Truth | list[list[Any]]"
_Key: TypeAlias = "tuple[Any, ...]"

MAX_QUESTIONS = 400
NOTHING = Fraction(1, 10**30)  # a smaller imaginary part is treated as a rounding error of 0
UNORDERED = frozenset(("{}", "or", "and", "∪", "∩"))


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """Options of a comparison; see `verifier.verify_math`."""

    units: str = "required"
    assignment: bool = True
    ordered: bool = True
    tolerance: Fraction | None = None
    absolute_tolerance: Fraction | None = None
    decimals: int | None = None
    log_base: Fraction | str | None = None
    containers: bool = False
    words: bool = False

    @property
    def inexact(self) -> bool:
        return not (self.tolerance is None and self.absolute_tolerance is None and self.decimals is None)


@dataclass(slots=True)
class Comparison:
    """One comparison of an answer with a reference.

    Attributes:
        options: see `ComparisonOptions`.
        answers: question -> a worker's reply.
        budget: budget of the exact arithmetic in this process.
        questions: open questions for a worker.
        decided: results of exact comparisons in this process, each computed once.
        reason: "", or the kind of the first difference found at the top level: "form" or "unit".
    """

    options: ComparisonOptions
    answers: dict[str, Any] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    questions: dict[str, list[Any]] = field(default_factory=dict)
    decided: dict[_Key, _Decision] = field(default_factory=dict)
    reason: str = ""
    _relations: bool = False

    def same(self, answer: Value, reference: Value) -> Truth:
        """Decide whether an answer equals the reference, with letters that may be a unit read as variables on both
        sides, or as units on both sides.

        Raises:
            Malformed: answer or reference is undefined, such as 1/0.
        """
        if isinstance(answer, Quantity) and isinstance(reference, Quantity) and not (answer.loose or reference.loose):
            # The common case of two amounts, at once.
            if self._quantities(answer, reference):
                return True
            self.reason = ""
        variables = as_variables(answer), as_variables(reference)
        truth = self._same(*variables)
        if truth or (variables[0] is answer and variables[1] is reference):
            return truth
        self.reason = ""
        measured = self._same(as_units(answer, reference), as_units(reference, reference))
        return True if measured else None if None in (truth, measured) else False

    def _same(self, answer: Value, reference: Value) -> Truth:
        answer, reference = resolve_braces(canonical_value(answer), canonical_value(reference))
        if self.options.assignment:
            answer, reference = without_name(answer, reference)
        self._relations = isinstance(reference, Relation)
        if value_family(answer) != value_family(reference):
            self.reason = "form"
        return self.equal(answer, reference)

    def equal(self, a: Value, b: Value) -> Truth:
        """Decide whether two values are equal: True, False, or None if undecided."""
        if is_scalar(a) and is_scalar(b):
            return self._scalars(a, b)  # type: ignore[arg-type]
        truth = self._structures(a, b)
        if truth is not False or not self.options.containers:
            return truth
        # Values listed in different containers, in the reference's order where it has one.
        both = loose_listings(list_values(a), list_values(b), a, b)
        if both is None:
            return False
        mine, theirs = both[0].values, both[1].values
        if both[1].kind == "{}":
            return self._same_sets(mine, theirs)
        if both[1].unordered or (both[1].kind == "," and not self.options.ordered):
            return self._same_multisets(mine, theirs, self.equal)
        return self._all([*zip(mine, theirs)]) if len(mine) == len(theirs) else False

    def _structures(self, a: Value, b: Value) -> Truth:
        if isinstance(a, Quantity) or isinstance(b, Quantity):
            return self._quantities(a, b)
        if isinstance(a, Words) or isinstance(b, Words):
            return a == b
        listed, expected = solutions(a), solutions(b)
        if listed and expected and (expected.unordered or listed.kind == "±" or not self.options.ordered):
            return self._solutions(listed, expected)
        named = listed and expected and listed.name and not expected.name and self.options.assignment
        if listed and expected and named and expected.kind == "," and listed.kind in (",", "or"):
            # The names do not matter, the order does.
            same_length = len(listed.values) == len(expected.values)
            return self._all([*zip(listed.values, expected.values)]) if same_length else False
        given, required = binary_relations(a), binary_relations(b)
        if given is not None and required is not None and "∈" not in {link.operator for link in given + required}:
            return self._same_multisets(given, required, self._link)
        regions = region(a), region(b)
        if any(regions):
            return self._regions(a, b, *regions)
        if given is not None and required is not None:
            return self._same_multisets(given, required, self._link)
        if isinstance(a, ValueGroup) and isinstance(b, ValueGroup):
            return self._groups(a, b)
        if isinstance(a, Matrix) and isinstance(b, Matrix):
            if len(a.rows) != len(b.rows) or len(a.rows[0]) != len(b.rows[0]):
                return False
            return self._all([*zip(sum(a.rows, ()), sum(b.rows, ()))])
        return False

    # Groups.

    def _solutions(self, a: Solutions, b: Solutions) -> Truth:
        """Compare lists of values, ignoring their order."""
        if a.name != b.name and ((a.name and b.name) or not self.options.assignment):
            return False
        if not a.may_equal(b):
            # Two sets are compared as sets.
            return self._same_sets(a.values, b.values) if a.kind == b.kind == "{}" else False
        return (
            self._same_sets(a.values, b.values)
            if "±" in (a.kind, b.kind)
            else self._same_multisets(a.values, b.values, self.equal)
        )

    def _regions(self, a: Value, b: Value, given: Region, required: Region) -> Truth:
        """Compare an inequality or membership with an interval or with another inequality or membership."""
        if given and required:
            return given[0] == required[0] and self.equal(given[1], required[1])
        place, bare = (given, b) if given else (required, a)
        if place is None or not is_region(bare) or not self.options.assignment or (given and may_be_a_point(b)):
            return False
        return self.equal(given[1] if given else a, required[1] if required else b)

    def _groups(self, a: ValueGroup, b: ValueGroup) -> Truth:
        if {":"} <= {a.kind, b.kind} <= {":", "clock"}:
            return self._ratios(a.items, b.items)
        if {a.kind, b.kind} == {"time", "clock"}:
            return _minutes(a) == _minutes(b)
        if a.kind != b.kind:
            return False
        if a.kind == "{}":
            return self._same_sets(expand_choices(a.items), expand_choices(b.items))
        if a.kind in UNORDERED or (a.kind == "," and not self.options.ordered):
            return self._same_multisets(a.items, b.items, self.equal)
        return self._all([*zip(a.items, b.items)]) if len(a.items) == len(b.items) else False

    def _ratios(self, a: Sequence[Value], b: Sequence[Value]) -> Truth:
        """Compare ratios, which may differ by a factor: a1 b2 = a2 b1 for all pairs of neighbours."""
        if len(a) != len(b):
            return False
        if not all(map(_scalable, [*a, *b])):
            return self._all([*zip(a, b)])
        products = [(make_product(p, s), make_product(q, r)) for p, q, r, s in zip(a, a[1:], b, b[1:])]  # type: ignore[arg-type]
        return self._all(products)

    def _all(self, pairs: Iterable[tuple[Value, Value]]) -> Truth:
        result: Truth = True
        for a, b in pairs:
            truth = self.equal(a, b)
            if truth is False:
                return False
            result = truth if truth is None else result
        return result

    def _same_sets(self, a: Sequence[Value], b: Sequence[Value]) -> Truth:
        """Decide whether two sets are equal: each element of either set is in the other set."""
        table = [[self.equal(x, y) for y in b] for x in a]
        lines = [*table, *map(list, zip(*table))] if a and b else [[]] * (len(a) + len(b))
        if any(all(truth is False for truth in line) for line in lines):
            return False
        return True if all(True in line for line in lines) else None

    def _same_multisets(self, a: Sequence[Any], b: Sequence[Any], equal: Any) -> Truth:
        """Decide whether two lists are equal up to their order."""
        if len(a) != len(b):
            return False
        left, open_ = list(b), []
        for x in a:
            truths = [equal(x, y) for y in left]
            if True in truths:
                left.pop(truths.index(True))
            elif None in truths:
                open_.append(x)
            else:
                return False
        return None if open_ else True

    # Relations.

    def _link(self, a: BinaryRelation, b: BinaryRelation) -> Truth:
        if a.operator != b.operator:
            return False
        direct = self._all([(a.left, b.left), (a.right, b.right)])
        if direct or a.operator == "∈":
            return direct
        scalars = all(map(is_scalar, (a.left, a.right, b.left, b.right)))
        symmetric = a.operator in "=≠"
        if scalars and not any(count_operation(side, "oo") for side in (a.left, a.right, b.left, b.right)):  # type: ignore[arg-type]
            first, second = difference(a.left, a.right), difference(b.left, b.right)  # type: ignore[arg-type]
            if symbols(first) or symbols(second):
                return self._once(("ratio", first, second, not symmetric), self._proportional)
        swapped = self._all([(a.left, b.right), (a.right, b.left)]) if symmetric else False
        return True if swapped else None if None in (direct, swapped) else False

    def _proportional(self, a: Scalar, b: Scalar, positive: bool) -> _Decision:
        ring = Ring(self.budget)
        try:
            first, second = ring.form(a), ring.form(b)
            factor = ring.ratio(first, second)
            if isinstance(factor, Fraction):
                return factor > 0 or not positive
            if factor and not positive:
                return True
            if factor and not ring.imaginary:
                # The expressions are proportional; a worker finds the sign of the factor numerically.
                return [["sign", to_json(a), to_json(b)]]
            if ring.giant or (ring.certain and factor is None):
                return False
        except TooBig:
            if ring.giant:
                return False
        return [["ratio", to_json(a), to_json(b), positive]]

    # Quantities.

    def _quantities(self, a: Value, b: Value) -> Truth:
        if isinstance(a, Quantity) and isinstance(b, Quantity):
            if a.unit.dimensions != b.unit.dimensions:
                if self.options.words and same_noun(a.unit, b.unit):
                    return self._scalars(a.value, b.value)
                self.reason = self.reason or "unit"
                return False
            if (a.unit.factor, a.unit.pi) == (b.unit.factor, b.unit.pi):
                return self._scalars(a.value, b.value)
            return self._scalars(_in_base_units(a.value, a.unit), _in_base_units(b.value, b.unit))
        quantity, other = (a, b) if isinstance(a, Quantity) else (b, a)
        if not isinstance(quantity, Quantity) or not is_scalar(other):
            return False
        # In "y = 4m" and "3s^2" the letter is more likely a variable.
        variable = quantity.doubtful or (quantity.plain is not None and self._relations)
        forgiven = self.options.words and not variable and (quantity is b or is_harmless(quantity.unit))
        if quantity.unit.sign or ((forgiven or self.options.units == "optional") and is_ignorable(quantity.unit)):
            return self._scalars(quantity.value, other)  # type: ignore[arg-type]
        self.reason = self.reason if self.reason == "unit" else "unit"
        return False

    # Scalars.

    def _scalars(self, a: Scalar, b: Scalar) -> Truth:
        if isinstance(a, Num) and isinstance(b, Num):
            return self._near(a.value, b.value) if self.options.inexact else a.value == b.value
        return self._once(("equal", a, b), self._exactly)

    def _once(self, key: _Key, decide: Callable[..., _Decision]) -> Truth:
        """Return the truth of a comparison. ``decide`` runs once per key; its questions are looked up or collected."""
        if key not in self.decided:
            self.decided[key] = decide(*key[1:])
        decision = self.decided[key]
        if not isinstance(decision, list):
            return decision
        replies = [self._ask(question) for question in decision]
        if decision[0][0] != "value":
            return replies[0]
        # Two numbers within the tolerances; of complex numbers, both parts.
        parts = [tuple(map(Fraction, value[:2])) for value in replies if value is not None]
        if len(parts) < 2:
            return None
        return all(self._near(x, y) or abs(x - y) < NOTHING for x, y in zip(*parts))

    def _exactly(self, a: Scalar, b: Scalar) -> _Decision:
        infinite = sign_of_infinity(a), sign_of_infinity(b)
        if any(infinite):
            return infinite[0] == infinite[1]
        ring = Ring(self.budget)
        try:
            first, second = ring.form(a), ring.form(b)
            if ring.equal(first, second):
                return True
            if self.options.inexact and not symbols(a) and not symbols(b):
                if first.rational is not None and second.rational is not None:
                    return self._near(first.rational, second.rational)
                return [["value", to_json(a)], ["value", to_json(b)]]
            if ring.giant or ring.certain:
                return False
        except TooBig:
            if a == b:
                return True
            if ring.giant:
                return False
        return [["equal", to_json(a), to_json(b)]]

    def _ask(self, question: list[Any]) -> Any:
        key = repr(question)
        if key in self.answers:
            return self.answers[key]
        if len(self.questions) < MAX_QUESTIONS:
            self.questions[key] = question
        return None

    def _near(self, a: Fraction, b: Fraction) -> bool:
        options = self.options
        if a == b:
            return True
        if options.tolerance is not None and abs(a - b) <= options.tolerance * abs(b):
            return True
        if options.absolute_tolerance is not None and abs(a - b) <= options.absolute_tolerance:
            return True
        return options.decimals is not None and bool(
            nearest_integers(a, options.decimals) & nearest_integers(b, options.decimals)
        )


def nearest_integers(value: Fraction, places: int) -> set[int]:
    """Round ``value`` to ``places`` decimals, in units of the last place; return both neighbours if it lies halfway."""
    scaled = value * 10**places
    return {floor(scaled + Fraction(1, 2)), ceil(scaled - Fraction(1, 2))}


def _minutes(time: ValueGroup) -> Fraction | None:
    """Convert "3:30 pm" or "15:30" to minutes after midnight; None for a time with seconds or without numbers."""
    if time.kind == "clock" and len(time.items) != 2:
        return None
    values = [item.value for item in time.items if isinstance(item, Num)]
    if len(values) < len(time.items):
        return None
    return values[0] * 60 + values[1] if time.kind == "clock" else values[0]


def _scalable(term: Value) -> bool:
    """Return True if a term of a ratio can be scaled: it is not zero, negative or infinite."""
    if isinstance(term, Num):
        return term.value > 0
    return is_scalar(term) and not count_operation(term, "oo")  # type: ignore[arg-type]


def _in_base_units(value: Scalar, unit: Unit) -> Scalar:
    factors = [value, as_num(unit.factor)]
    if unit.pi:
        factors.append(Apply("^", (Apply("pi"), as_num(unit.pi))))
    if isinstance(value, Num) and not unit.pi:
        return Num(value.value * unit.factor)
    return make_product(*factors)
