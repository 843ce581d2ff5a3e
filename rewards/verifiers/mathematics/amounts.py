"""Reading of units at the end of a value: ``cm^2``, ``km/h``, ``square metres``, ``apples``.

Letters that name a unit may also be variables; the parser keeps both readings.
"""

from __future__ import annotations

from typing import NamedTuple

from . import units
from .build import has_symbol
from .lexer import Token
from .tree import Malformed, Scalar, Unit, Value
from .vocabulary import ARITHMETIC, SHORT_WORDS, is_product

MAX_DEPTH = 75  # three for each pair of brackets
MAX_UNITS = 6
END = Token("end")
_SCALES = {"C": "°C", "Celsius": "°C", "celsius": "°C", "F": "°F", "Fahrenheit": "°F", "fahrenheit": "°F"}
_CLOSERS = frozenset(
    ("end", ",", ";", ")", "]", "}", "\\}", "⟩", "|", "=", "≈", "≠", "<", "≤", ">", "≥", "or", "and", "&")
)


class Measure(NamedTuple):
    """A number followed by letters that name a unit.

    Attributes:
        number: the number.
        unit: the unit.
        tokens: the tokens of the letters.
        refused: the error of reading the letters as variables; None if that is possible.
    """

    number: Scalar
    unit: Unit
    tokens: list[Token]
    refused: Malformed | None

    @property
    def letters(self) -> frozenset[str]:
        return frozenset("".join(token.text for token in self.tokens))

    @property
    def doubtful(self) -> bool:
        """True if the unit is a single letter that is not set as text."""
        names = [token for token in self.tokens if token.kind in ("letters", "word")]
        return [(token.kind, len(token.text)) for token in names] == [("letters", 1)]


class Measures:
    """Position in a list of tokens, with methods that read a unit there."""

    def __init__(self, tokens: list[Token]):
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._bars = 0
        self._in_function = 0
        # The unit at the end of the present value, if any, and True if that value is a sum.
        self._measure: Measure | None = None
        self._is_sum = False
        self.choices = 0

    # Tokens.

    @property
    def _token(self) -> Token:
        try:
            return self._tokens[self._at]
        except IndexError:
            return END

    def _peek(self, ahead: int = 1) -> Token:
        return self._tokens[self._at + ahead] if self._at + ahead < len(self._tokens) else END

    def _take(self, kind: str) -> bool:
        if self._token.kind == kind:
            self._at += 1
            return True
        return False

    def _expect(self, kind: str) -> None:
        if not self._take(kind):
            found = self._token.text or "the end"
            raise Malformed(f"There should be {kind.lstrip(chr(92))!r} instead of {found[:30]!r}.")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Malformed("The expression is nested too deeply.")

    # Units.

    def _unit_ahead(self, left: list[Value]) -> tuple[Unit, bool, int] | None:
        """Return the unit that follows and ends the value, True if its letters may be variables, and the position after
        it. The position does not move. None if no unit follows."""
        token = self._token
        written = token[:2] == ("cmd", "frac") and self._peek(2).kind == "word"
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec") and not written:
            return None
        if self._in_function and token.kind != "°":
            return None
        start = self._at
        found = self._unit(left)
        end, self._at = self._at, start
        return None if found is None else (*found, end)

    def _unit(self, left: list[Value]) -> tuple[Unit, bool] | None:
        """Read the unit that begins here and ends the value; return it, and True if its letters may be variables."""
        if self._token[:2] == ("cmd", "frac"):
            return self._unit_fraction()
        parts: list[tuple[Unit, int]] = []
        lettered = True
        sign = 1
        numeric = not any(has_symbol(value) for value in left)
        while True:
            found = self._unit_factor(numeric, alone=not parts)
            if found is None or len(parts) >= MAX_UNITS:
                return None
            unit, exponent, letters = found
            parts.append((unit, sign * exponent))
            lettered &= letters
            if self._token.kind in _CLOSERS:
                break
            if self._token.kind == "/" or self._token.text == "per":
                lettered &= self._token.kind == "/"
                self._at += 1
                sign = -1
            else:
                self._take("*")
        return units.combine(parts), lettered

    def _unit_fraction(self) -> tuple[Unit, bool] | None:
        r"""Read a unit such as ``\frac{\text{km}}{\text{h}}``."""
        self._at += 1
        parts: list[tuple[Unit, int]] = []
        for sign in (1, -1):
            if not self._take("{"):
                return None
            while not self._take("}"):
                found = self._unit_factor(numeric=True, alone=False)
                if found is None or len(parts) >= MAX_UNITS:
                    return None
                parts.append((found[0], sign * found[1]))
                self._take("*")
        return (units.combine(parts), False) if self._token.kind in _CLOSERS else None

    def _unit_factor(self, numeric: bool, alone: bool) -> tuple[Unit, int, bool] | None:
        """Read one unit, or None; return it, its exponent, and True if its letters may be variables."""
        prefix = units.PREFIX_POWERS.get(self._token.text)
        if prefix:
            self._at += 1
        token = self._token
        name, in_text = token.text, token.kind == "word"
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec"):
            return None
        self._at += 1
        lettered = not prefix and (len(name) == 1 and name.isalpha() if in_text else _may_be_product(token))
        if name in ("°", "degree", "degrees", "deg") and self._token.text in _SCALES:
            name = _SCALES[self._token.text]
            lettered = False
            self._at += 1
        unit = units.unit_named(name, in_text)
        if unit is None:
            noun = numeric and alone and name.isalpha() and (len(name) > 3 or (in_text and len(name) > 1))
            if not noun or is_product(name) or name.lower() in SHORT_WORDS | ARITHMETIC:
                return None
            unit = units.unit_of_noun(name)
        elif not in_text and not numeric and lettered and (len(name) == 1 or (alone and not token.space)):
            # After a variable, one letter is another variable, and so are several letters without a space.
            return None
        exponent = prefix or 1
        if self._token.kind == "^":
            self._at += 1
            exponent = self._unit_exponent()
            if exponent is None:
                return None
        elif self._token.text in units.SUFFIX_POWERS:
            exponent = units.SUFFIX_POWERS[self._token.text]
            lettered = False
            self._at += 1
        return unit, exponent, lettered

    def _unit_exponent(self) -> int | None:
        braces = self._take("{")
        sign = -1 if self._take("-") else 1
        token = self._token
        if token.kind != "num" or not token.text.isdigit() or not 1 <= int(token.text[:3]) <= units.MAX_EXPONENT:
            return None
        self._at += 1
        if braces and not self._take("}"):
            return None
        return sign * int(token.text[:3])


def _may_be_product(token: Token) -> bool:
    """Return True if a run of letters may be a product of variables."""
    return token.kind == "letters" and len(token.text) <= 3 and token.text.lower() not in SHORT_WORDS
