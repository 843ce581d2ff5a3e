"""Reading of names: variables with subscripts, runs of letters as products, and functions at an argument.

``f(2)`` is one symbol and never the product 2f; its argument is compared as text.
"""

from __future__ import annotations

from itertools import takewhile

from .amounts import Measures
from .lexer import Token
from .tree import Apply, Malformed, Scalar, Sym
from .vocabulary import SHORT_WORDS, is_product

# Names of functions, which with an argument form one symbol and never a product: f(2) is not 2f.
_APPLIED = frozenset("fghFGH")
_APPLIED_TO_ONE = frozenset("PQpqT")
_NUMERIC = frozenset(("num", "const", "vulgar", "/", "cmd", "{", "}"))
_MAX_APPLIED = 40  # tokens
_MAX_ITERATED = 6  # tokens
_MAX_PRIMES = 4
_MAX_ACRONYM = 8


class Names(Measures):
    """Part of the grammar that reads names."""

    def _split_letters(self) -> None:
        """Replace a run of letters by its letters."""
        token = self._token
        letters = [Token("letters", character) for character in token.text]
        letters[0] = letters[0]._replace(space=token.space)
        self._tokens[self._at : self._at + 1] = letters

    def _name(self) -> Scalar:
        token = self._token
        if token.kind == "letters" and len(token.text) > 1:
            if 3 < len(token.text) <= _MAX_ACRONYM and token.text.isupper():
                # One name, as in MR = SRMC.
                self._at += 1
                return Sym(token.text)
            if not is_product(token.text) and (len(token.text) > 3 or token.text.lower() in SHORT_WORDS):
                raise Malformed(f"The word {token.text[:30]!r} does not belong to a mathematical value.")
            self._split_letters()
            token = self._token
        if token.kind == "word" and len(token.text) > 1:
            raise Malformed(f"The word {token.text[:30]!r} does not belong to a mathematical value.")
        self._at += 1
        name = token.text + self._primes()
        name = f"{name}_{self._subscript()}{self._primes()}" if self._take("_") else name
        if place := self._place(token):
            return Sym(name + place)
        if name != token.text:
            return Sym(name)
        if token.text in ("e", "i") and token.kind != "sym":
            return Apply(token.text)
        return Sym(token.text)

    def _primes(self) -> str:
        r"""Return the primes after a name, as in ``y''``, ``y^\prime`` or ``y^{\prime}``; "" without primes."""
        start = self._at
        if self._take("^"):
            braces = self._take("{")
            count = self._prime_marks()
            if not count or (braces and not self._take("}")):
                self._at = start
                return ""
        else:
            count = self._prime_marks()
        return "'" * count

    def _prime_marks(self) -> int:
        start = self._at
        while self._at - start < _MAX_PRIMES and self._take("'"):
            pass
        return self._at - start

    def _accented_name(self) -> Scalar:
        r"""Read a name with an accent, as ``\vec{a}`` or ``\overline{AB}``; it differs from the name without it."""
        mark = self._token.text
        self._at += 1
        braces = self._take("{")
        if self._token.kind == "letters" and not braces:
            self._split_letters()
        parts = []
        while self._token.kind in ("letters", "sym") and (braces or not parts):
            parts.append(self._token.text)
            self._at += 1
            if braces and self._take("_"):
                parts.append(f"_{self._subscript()}")
        if braces:
            self._expect("}")
        if not parts:
            raise Malformed(f"The command \\{mark} needs a name in braces.")
        name = f"{mark} {''.join(parts)}" + self._primes()
        return Sym(f"{name}_{self._subscript()}" if self._take("_") else name)

    def _place(self, name: Token) -> str:
        """Return the brackets after the name of a function verbatim; "" if the name is a variable.

        A variable before a bracket that holds only a number is also a function, as x(2) is not a usual form of 2x.
        """
        start, exponent = self._at, ""
        known = name.text in _APPLIED and name.kind in ("letters", "word")
        if self._token.kind == "^":
            braced = self._peek().kind == "{"
            inside = self._tokens[start + 2 : start + 2 + _MAX_ITERATED] if braced else [self._peek()]
            inside = list(takewhile(lambda token: token.kind != "}", inside))
            exponent = "^" + "".join(token.text or token.kind for token in inside)
            if not (known or exponent == "^-1"):
                return ""
            start += len(inside) + (3 if braced else 1)
        closing = {"(": ")", "[": "]"}.get(self._peek(start - self._at).kind)
        if closing is None:
            return ""
        depth, written = 0, []
        for token in self._tokens[start : start + _MAX_APPLIED]:
            depth += (token.kind in "([") - (token.kind in ")]")
            written.append(token)
            if not depth:
                break
        else:
            if known:
                raise Malformed("The brackets after the name of a function do not close.")
            return ""
        inside = written[1:-1]
        one = len(inside) == 1 and inside[0].kind in ("num", "letters", "sym")
        amount = any(token.kind in ("num", "const", "vulgar") for token in inside) and all(
            token.kind in _NUMERIC or (token.kind == "-" and not position) for position, token in enumerate(inside)
        )
        to_one = one and name.kind == "letters" and name.text in _APPLIED_TO_ONE and closing == ")"
        # A variable cannot be multiplied by a tuple, so this is a function of several arguments.
        several = len(inside) % 2 == 1 < len(inside) and all(
            token.kind == "," if position % 2 else token.kind in ("letters", "sym") and len(token.text) == 1
            for position, token in enumerate(inside)
        )
        constant = name.kind == "letters" and name.text in ("e", "i")
        plain = amount and name.kind != "word"
        if not (known or to_one or ((several or plain) and not exponent and not constant)):
            return ""
        self._at = start + len(written)
        return exponent + "(" + " ".join(token.text or token.kind for token in inside) + ")"

    def _subscript(self) -> str:
        braces = self._take("{")
        parts = []
        kinds = ("num", "letters", "word", "sym", *("+-" if braces else ""))
        while self._token.kind in kinds and (braces or not parts):
            parts.append(self._token.text)
            self._at += 1
        if braces:
            self._expect("}")
        if not parts or parts[-1] in "+-":
            raise Malformed("A subscript must be letters and digits.")
        return "".join(parts)
