"""Where a unit begins and what it is: ``cm^2``, ``km/h``, ``square metres``, ``apples``, or after all two variables."""

from __future__ import annotations

from . import units
from .build import has_symbol, power, product
from .lexer import Token
from .tree import Apply, Malformed, Scalar, Sym, Unit, Value, number
from .vocabulary import ARITHMETIC, SHORT_WORDS

MAX_DEPTH = 75  # three for each pair of brackets
MAX_UNITS = 6
END = Token("end")
_SCALES = {"C": "°C", "Celsius": "°C", "celsius": "°C", "F": "°F", "Fahrenheit": "°F", "fahrenheit": "°F"}
_CLOSERS = frozenset(("end", ",", ";", ")", "]", "}", "\\}", "⟩", "|", "=", "≠", "<", "≤", ">", "≥", "or", "and", "&"))


class Measures:
    """A place in a list of tokens, and the reading of units there."""

    def __init__(self, tokens: list[Token]):
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._bars = 0
        self._in_function = 0
        self.choices = 0

    # Tokens.

    @property
    def _token(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

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

    def _at_unit(self, left: list[Value] | list[Scalar]) -> bool:
        """Whether what follows is a unit and not a factor."""
        token = self._token
        written = token[:2] == ("cmd", "frac") and self._peek(2).kind == "word"
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec") and not written:
            return False
        if self._in_function and token.kind != "°":
            return False
        start = self._at
        found = self._unit(left)
        self._at = start
        return found is not None

    def _unit(self, left: list[Value] | list[Scalar]) -> tuple[Unit, Scalar | None] | None:
        """The unit that begins here and ends the value, with its reading as a product of variables; or None."""
        if self._token[:2] == ("cmd", "frac"):
            return self._unit_fraction()
        parts: list[tuple[Unit, int]] = []
        plain: list[Scalar] | None = []
        sign = 1
        numeric = not any(has_symbol(value) for value in left)
        while True:
            found = self._unit_factor(numeric, alone=not parts)
            if found is None or len(parts) >= MAX_UNITS:
                return None
            unit, exponent, letters = found
            parts.append((unit, sign * exponent))
            if letters is None:
                plain = None
            elif plain is not None:
                plain += [power(letter, number(sign * exponent)) for letter in letters]
            if self._token.kind in _CLOSERS:
                break
            if self._token.kind == "/" or self._token.text == "per":
                self._at += 1
                sign = -1
            else:
                self._take("*")
        return units.combine(parts), product(plain) if plain else None

    def _unit_fraction(self) -> tuple[Unit, None] | None:
        r"""``\frac{\text{km}}{\text{h}}``."""
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
        return (units.combine(parts), None) if self._token.kind in _CLOSERS else None

    def _unit_factor(self, numeric: bool, alone: bool) -> tuple[Unit, int, list[Scalar] | None] | None:
        prefix = units.PREFIX_POWERS.get(self._token.text)
        if prefix:
            self._at += 1
        token = self._token
        name, in_text = token.text, token.kind == "word"
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec"):
            return None
        self._at += 1
        if name in ("°", "degree", "degrees", "deg") and self._token.text in _SCALES:
            name = _SCALES[self._token.text]
            self._at += 1
        unit = units.unit_named(name, in_text)
        if unit is None:
            noun = numeric and alone and name.isalpha() and (len(name) > 3 or (in_text and len(name) > 1))
            if not noun or name.lower() in SHORT_WORDS | ARITHMETIC:
                return None
            unit = units.named_anew(name)
        elif len(name) == 1 and not in_text and name in units.SINGLE_LETTERS and not numeric:
            return None
        letters: list[Scalar] | None = None
        if not in_text and not prefix and name.isascii() and name.isalpha() and len(name) <= 3:
            letters = [Sym(character) if character not in "ei" else Apply(character) for character in name]
        exponent = prefix or 1
        if self._token.kind == "^":
            self._at += 1
            exponent = self._unit_exponent()
            if exponent is None:
                return None
        elif self._token.text in units.SUFFIX_POWERS:
            exponent = units.SUFFIX_POWERS[self._token.text]
            letters = None
            self._at += 1
        if letters and exponent != 1:
            # In "cm^2" the exponent stands at the last letter when it is read as a product.
            *others, last = letters
            letters = None if others else [last]
        return unit, exponent, letters

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
