r"""Grammar of values: lists, tuples, sets, intervals, matrices, relations, quantities, words.

    value    = relation (("," | ";" | "or" | "and") relation)*
    relation = ["≈"] union (("=" | "≈" | "≠" | "<" | "≤" | ">" | "≥" | "∈") union)*
    union    = quantity (("∪" | "∩" | "∖") quantity)*
    quantity = sum [unit] | currency product

The tree preserves brackets, order and open ends.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from . import units
from .amounts import END, Measure
from .build import is_arithmetic, is_operand, radians, scalar
from .lexer import Token, tokenise, unwrap
from .matrices import MatrixExpressions
from .notation import in_other_notation
from .scalar_grammar import ScalarGrammar
from .solutions import region, solutions
from .tree import (
    ZERO,
    Apply,
    Choice,
    Malformed,
    Matrix,
    Num,
    Quantity,
    Relation,
    Scalar,
    Sym,
    Value,
    ValueGroup,
    Words,
    count_operation,
    negate,
    symbols,
)
from .unit_readings import consistent
from .vocabulary import CONNECTIVES, CONSTANTS, FUNCTIONS, GLUED, SHORT_WORDS, SPELLED_GREEK, is_product

MAX_ITEMS = 200
MAX_MISREAD = 4
MAX_REMEMBERED = 300  # characters
_RELATIONS = frozenset("=≈≠<≤>≥∈")
_REALS = Sym("\\mathbb{R}")
_SET_OPERATIONS = frozenset("∪∩∖")
_CLOSING = {"(": (")", "]"), "[": ("]", ")"), "\\{": ("\\}",), "⟨": ("⟩",), "{": ("}",), "]": ("[",)}
_MATRICES = frozenset(("matrix", "pmatrix", "bmatrix", "smallmatrix", "array"))
# A text that matches this is TeX, in which braces group.
_TEX = re.compile(r"\\|[\^_] ?\{")
# Letters of any script in words joined by spaces, hyphens and apostrophes.
_WORDS = re.compile(r"[^\W\d_]+(?:[ '’-]{1,3}[^\W\d_]+)*")


def read(text: str) -> Value:
    """Parse a text and return its value.

    Raises:
        Malformed: the text is outside the grammar.
    """
    return _read_remembered(text) if len(text) <= MAX_REMEMBERED else _read(text)


def _read(text: str) -> Value:
    core, in_text = unwrap(text)
    if words := _words(core, in_text):
        return words
    try:
        return _parse(core)
    except Malformed:
        if (value := in_other_notation(core, _parse)) is None:
            raise
        return value


# Reading is a pure function of the text; the cache avoids parsing a reference again for each answer.
_read_remembered = lru_cache(maxsize=4096)(_read)


def _parse(core: str) -> Value:
    kind = MatrixGrammar if "\\begin" in core else Grammar
    value = kind(tokenise(core), braces_group=bool(_TEX.search(core))).value()
    if core[0] == "{" and isinstance(value, ValueGroup) and value.kind == "{}" and len(value.items) == 1:
        # Either a set or TeX braces; the comparison decides by the other side (`canonical.resolve_braces`).
        return ValueGroup("{", value.items)
    return value


def _words(text: str, in_text: bool) -> Words | None:
    """Read plain words; None for names of variables, functions and constants."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if not _WORDS.fullmatch(text):
        return None
    parts = [part for part in re.split(r"[ '’-]+", text) if part not in CONNECTIVES]
    if any(map(_is_plain_word, parts)) or (in_text and any(len(part) > 1 for part in parts)) or not parts:
        return Words(text.casefold())
    return None


def _is_plain_word(part: str) -> bool:
    if not part.isascii():
        return len(part) > 1 and part.isalpha() and not all("\u0391" <= character <= "\u03ff" for character in part)
    if GLUED.fullmatch(part) or part in CONSTANTS or part in FUNCTIONS or part in SPELLED_GREEK or is_product(part):
        return False
    return len(part) > 3 or part.lower() in SHORT_WORDS


class Grammar(ScalarGrammar):
    """Parser of one text; `value` parses the whole text."""

    def __init__(self, tokens: list[Token], braces_group: bool):
        super().__init__(tokens)
        self._braces_group = braces_group
        self._either = False  # some letters may be a unit or variables
        self._misread = 0  # attempts of `_builder` that found no set builder

    def value(self) -> Value:
        value = self._list()
        if self._token is not END:
            raise Malformed(f"There is an unexpected {self._token.text[:30]!r}.")
        value = _resolve_choices(value) if self.choices else value
        return consistent(value) if self._either else value

    def _list(self) -> Value:
        items, separators = [self._item()], set()
        while True:
            found = set()
            for kinds in ((",", ";"), CONNECTIVES):
                if self._token.kind in kinds:
                    found.add(self._token.kind)
                    self._at += 1
            if not found:
                break
            separators |= found
            items.append(self._item())
            if len(items) > MAX_ITEMS:
                raise Malformed(f"There are more than {MAX_ITEMS} values.")
        if len(items) == 1:
            return items[0]
        connectives = separators & CONNECTIVES
        if len(connectives) > 1 or len(separators - CONNECTIVES) > 1:
            raise Malformed("The values are separated in different ways.")
        return ValueGroup(next(iter(connectives)) if connectives else ",", tuple(items))

    def _item(self) -> Value:
        self._deeper()
        # "≈ 5" is a relation of the empty name.
        sides, operators = [Sym("") if self._token.kind == "≈" else self._union()], []
        while True:
            kind = "∈" if self._token.text == "in" else self._token.kind
            if kind not in _RELATIONS:
                break
            self._at += 1
            operators.append(kind)
            sides.append(self._union())
        self._depth -= 1
        if self._token.kind == ":":
            if operators:
                raise Malformed("A ratio cannot stand in a relation.")
            return self._ratio(sides[0])
        return Relation(tuple(operators), tuple(sides)) if operators else sides[0]

    def _ratio(self, first: Value) -> Value:
        """Read a ratio, which may be scaled, or a time of day such as 6:30, which may not."""
        items, clock = [first], isinstance(first, Num) and first.value.denominator == 1 and 0 <= first.value <= 24
        while self._take(":"):
            minutes = self._token.text
            clock = clock and len(minutes) == 2 and minutes.isdigit() and minutes < "60"
            items.append(self._union())
        return ValueGroup("clock" if clock else ":", tuple(items))

    def _union(self) -> Value:
        items, operator = [self._quantity()], ""
        while True:
            kind = (
                "∪" if self._token[:2] == ("letters", "U") and isinstance(items[-1], ValueGroup) else self._token.kind
            )
            if kind not in _SET_OPERATIONS:
                break
            if operator not in ("", kind) or operator == "∖":
                raise Malformed("Different operations on sets need brackets.")
            operator = kind
            self._at += 1
            items.append(self._quantity())
        return ValueGroup(operator, tuple(items)) if operator else items[0]

    def _quantity(self) -> Value:
        start = self._at
        negative = self._take("-")
        if self._token.kind in units.CURRENCY_SIGNS:
            sign = self._token.kind
            self._at += 1
            amount = scalar(self._signed_product())
            amount = negate(amount) if negative else amount
            return Quantity(amount, units.UNITS[sign])
        self._at = start
        value = self._additive(measured=True)
        measure, self._measure = self._measure, None
        is_sum = self._is_sum
        if measure is not None:
            return self._unit_or_variables(scalar(value), measure, is_sum)
        if not is_operand(value):
            return value
        if self._token.kind in units.CURRENCY_SIGNS or self._token.kind == "¢":
            unit = units.UNITS[self._token.kind]
            self._at += 1
        elif self._token.kind in ("letters", "word", "°", "func", "cmd"):
            found = self._unit([value])
            if found is None:
                raise Malformed(f"There is an unexpected {self._token.text[:30]!r}.")
            unit = found[0]
        else:
            return value
        amount = scalar(value)
        if is_sum and is_arithmetic(amount):
            raise Malformed("A unit belongs to one number; write brackets around the sum.")
        return Quantity(amount, unit)

    def _unit_or_variables(self, value: Scalar, measure: Measure, is_sum: bool) -> Value:
        """Return a value that ends in letters of a unit: as an amount, with the letters as variables, or as both.

        A sum counts as one number only if it cannot be computed (``2 + sqrt(3) cm``), so ``1 + 2m`` has no unit.
        """
        split = bool(count_operation(value, "pm"))
        if measure.refused is not None:
            if is_sum or split:
                raise measure.refused
            return Quantity(measure.number, measure.unit, doubtful=measure.doubtful)
        names = symbols(measure.number)
        if split or (is_sum and (names or is_arithmetic(measure.number))) or measure.letters & names:
            return value
        self._either = True
        return Quantity(measure.number, measure.unit, value, loose=is_sum, doubtful=measure.doubtful)

    # Brackets.

    def _bracket(self) -> Value:
        token = self._token
        opening = token.kind
        self._at += 1
        if opening == "∅":
            return ValueGroup("{}", ())
        if opening in ("{", "\\{") and (builder := self._builder(opening)) is not None:
            return builder
        environment = self._token.kind == "begin"
        bars, self._bars = self._bars, 0
        items, closing = self._inside(opening)
        self._bars = bars
        braces = opening in ("{", "\\{")
        if braces:
            if opening == "{" and self._braces_group and len(items) == 1:
                return items[0]
            return ValueGroup("{}", items)
        if opening == "⟨":
            return ValueGroup("<>", items)
        if opening == "]":
            opening, closing = "(", ")"
        if len(items) == 1 and (opening, closing) == ("(", ")"):
            item = items[0]
            return radians(item) if self._in_function else item
        kind = opening + closing
        if kind == "[]" and environment and len(items) == 1 and isinstance(items[0], Matrix):
            return items[0]
        if kind in ("(]", "[)") and len(items) != 2:
            raise Malformed("An interval has two ends.")
        if kind == "()" and not items:
            raise Malformed("There is nothing in the brackets.")
        rows = [item.items for item in items if isinstance(item, ValueGroup) and item.kind == "[]"]
        # A list of lists of equal length is a matrix.
        if kind == "[]" and len(rows) == len(items) and len({len(row) for row in rows}) == 1 and rows[0]:
            return Matrix(tuple(rows))
        return ValueGroup(kind, items)

    def _builder(self, opening: str) -> Value | None:
        r"""Read the inside of a set builder such as ``\{x \mid x > 0\}``. Return the interval, union or list of values
        that the conditions give, or else the name, its domain and the conditions. For any other set return None and
        read nothing."""
        name = self._token
        if name.kind not in ("letters", "sym") or self._peek().kind not in ("|", "mid", ":", "∈"):
            return None
        if self._misread >= MAX_MISREAD:
            return None
        start, depth, bars = self._at, self._depth, self._bars
        self._at, self._bars = start + 1, 1
        try:
            domain = self._union() if self._take("∈") else _REALS
            if not (len(name.text) > 1 and name.kind == "letters") and any(map(self._take, ("|", "mid", ":"))):
                self._bars = 0
                conditions = self._list()
                if self._token.kind in _CLOSING[opening] and _holds_relation(conditions):
                    self._at += 1
                    return _set_of(Sym(name.text), domain, conditions)
        except Malformed:
            pass
        finally:
            self._bars = bars
        # Each failed attempt reads the text twice, so the time doubles at each level of nesting; this bounds it.
        self._misread += 1
        self._at, self._depth = start, depth
        return None

    def _inside(self, opening: str) -> tuple[tuple[Value, ...], str]:
        closers = _CLOSING[opening]
        if self._token.kind in closers:
            self._at += 1
            return (), self._tokens[self._at - 1].kind
        in_function, self._in_function = self._in_function, self._in_function if opening == "(" else 0
        value = self._list()
        self._in_function = in_function
        if self._token.kind not in closers:
            raise Malformed("A bracket is not closed.")
        closing = self._token.kind
        self._at += 1
        items = value.items if isinstance(value, ValueGroup) and value.kind == "," else (value,)
        return items, closing

    def _environment(self) -> Value:
        name = self._token.text
        self._at += 1
        if name not in _MATRICES:
            raise Malformed(f"The environment {name[:30]!r} does not belong to a value.")
        rows: list[tuple[Value, ...]] = []
        row: list[Value] = []
        while True:
            row.append(self._union())
            if self._take("&"):
                continue
            rows.append(tuple(row))
            row = []
            if self._take("\\\\") and self._token.kind != "end":
                continue
            break
        if self._token[:2] != ("end", name):
            raise Malformed(f"The environment {name!r} is not closed.")
        self._at += 1
        if len({len(row) for row in rows}) != 1 or len(rows) * len(rows[0]) > MAX_ITEMS:
            raise Malformed("The rows of a matrix must have the same length.")
        return Matrix(tuple(rows))


class MatrixGrammar(MatrixExpressions, Grammar):
    """Parser of a text with matrices, which can be added and multiplied."""


def _holds_relation(value: Value) -> bool:
    if isinstance(value, ValueGroup):
        return any(map(_holds_relation, value.items))
    return isinstance(value, Relation)


def _set_of(name: Sym, domain: Value, conditions: Value) -> ValueGroup:
    """Make the set of all values of a variable that satisfy conditions."""
    if domain == _REALS:
        place = region(conditions)
        if place is not None and place[0] == name.name and isinstance(place[1], ValueGroup):
            return place[1]
        equations = ValueGroup("or", (conditions,)) if isinstance(conditions, Relation) else conditions
        listed = solutions(equations) if isinstance(equations, ValueGroup) and equations.kind == "or" else None
        if listed is not None and listed.name == name.name and not any(map(_has_name, listed.values)):
            return ValueGroup("{}", listed.values)
    return ValueGroup("{|}", (name, domain, conditions))


def _has_name(value: Value) -> bool:
    return not is_operand(value) or bool(symbols(scalar(value)))


def _resolve_choices(value: Value) -> Value:
    """Replace every scalar that contains ± by the `Choice` of its two values."""
    if isinstance(value, Apply):
        count = count_operation(value, "pm")
        if count > 1:
            raise Malformed("It is unclear which signs belong together; write the values one by one.")
        if not count:
            return value
        plus, minus = _take_sign(value, True), _take_sign(value, False)
        return Choice(plus, minus)
    if isinstance(value, ValueGroup):
        return ValueGroup(value.kind, tuple(map(_resolve_choices, value.items)))
    if isinstance(value, Relation):
        return Relation(value.operators, tuple(map(_resolve_choices, value.sides)))
    if isinstance(value, Matrix):
        return Matrix(tuple(tuple(map(_resolve_choices, row)) for row in value.rows))
    if isinstance(value, Quantity) and count_operation(value.value, "pm"):
        raise Malformed("A value with ± cannot have a unit; write both values.")
    return value


def _take_sign(value: Scalar, plus: bool) -> Scalar:
    if not isinstance(value, Apply):
        return value
    args = tuple(_take_sign(arg, plus) for arg in value.args)
    if value.op == "pm":
        left, right = args
        right = right if plus else negate(right)
        return right if left == ZERO else Apply("+", (left, right))
    return Apply(value.op, args)
