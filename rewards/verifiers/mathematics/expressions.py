r"""The grammar of scalars: sums, products, powers, functions, and what may stand for a single number.

What people read in two ways is refused instead of guessed at: ``1/2x``, ``sin a/b``, ``2^3!``, a number after a
variable (``x2``), unknown words. Depth is bounded, and so is everything else by the length of the text.
"""

from __future__ import annotations

from fractions import Fraction

from . import units
from .lexer import SHORT_WORDS, Token
from .tree import (
    MINUS_ONE,
    ZERO,
    Apply,
    Group,
    Malformed,
    Num,
    Quantity,
    Scalar,
    Sym,
    Unit,
    Value,
    add,
    invert,
    is_scalar,
    multiply,
    negate,
    number,
)

MAX_DEPTH = 75  # three for each pair of brackets
END = Token("end")
_INVERSES = {name: "arc" + name for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"]}
_CLOSERS = frozenset(("end", ",", ";", ")", "]", "}", "\\}", "⟩", "|", "=", "≠", "<", "≤", ">", "≥", "or", "and", "&"))
_BEGINS_FACTOR = frozenset(("sym", "const", "func", "letters", "word", "(", "{", "[", "√", "∛", "∜", "⌊", "⌈", "cmd"))
# Functions that need brackets: without them it is unclear where the argument ends.
_BRACKETED = frozenset(("abs", "floor", "ceil", "factorial", "binomial", "cbrt"))
_SIMPLE = {"√": 2, "∛": 3, "∜": 4}


class Expressions:
    """Recursive descent over tokens; `grammar.Grammar` adds what is made of scalars."""

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

    # Sums and products.

    def _item(self) -> Value:
        raise NotImplementedError

    def _bracket(self) -> Value:
        raise NotImplementedError

    def _environment(self) -> Value:
        raise NotImplementedError

    def _additive(self) -> Value:
        self._deeper()
        sign = self._token.kind if self._token.kind in ("+", "-", "±", "∓") else ""
        self._at += bool(sign)
        value = self._product()
        if sign:
            value = scalar(value)
            value = negate(value) if sign == "-" else self._choice(sign, ZERO, value) if sign in "±∓" else value
        terms: list[Scalar] = []
        while self._token.kind in ("+", "-", "±", "∓"):
            operator = self._token.kind
            self._at += 1
            left = scalar(value) if not terms else terms.pop()
            right = scalar(self._signed_product())
            if operator in "±∓":
                terms = [self._choice(operator, add(*terms, left), right)]
            else:
                terms += (left, right if operator == "+" else negate(right))
        self._depth -= 1
        return add(*terms) if terms else value

    def _choice(self, operator: str, left: Scalar, right: Scalar) -> Scalar:
        self.choices += 1
        return Apply("pm", (left, right if operator == "±" else negate(right)))

    def _signed_product(self) -> Value:
        if self._take("-"):
            return negate(scalar(self._product()))
        self._take("+")
        return self._product()

    def _product(self) -> Value:
        value = self._power()
        factors: list[Scalar] = []
        divided = False
        while True:
            kind = self._token.kind
            if kind in ("*", "/"):
                start = self._at
                self._at += 1
                if not factors:
                    factors.append(scalar(value))
                factor = scalar(self._signed_power())
                factors.append(factor if kind == "*" else inverse(factor))
                divided = kind == "/" and not self._tight_fraction(start)
            elif (kind in _BEGINS_FACTOR or (kind == "|" and not self._bars)) and not self._at_unit(factors or [value]):
                if not factors and not operand(value):
                    break
                if self._token.text == "in" and self._peek().kind in ("(", "[", "{", "\\{", "∅"):
                    break
                if divided:
                    raise Malformed("It is unclear what is divided by what; write 1/(2x) or (1/2)x.")
                if not factors:
                    factors.append(scalar(value))
                factors.append(scalar(self._power()))
            else:
                break
        return product(factors) if factors else value

    def _tight_fraction(self, slash: int) -> bool:
        """Whether a fraction of plain numbers ends here and a space follows, as in ``1/2 x``."""
        before, after = self._tokens[slash - 1], self._peek(0)
        return (
            self._at == slash + 2
            and before.kind == "num" == self._tokens[slash + 1].kind
            and not self._tokens[slash].space
            and not self._tokens[slash + 1].space
            and (slash < 2 or self._tokens[slash - 2].kind not in ("*", "/", "^"))
            and after.space
        )

    def _signed_power(self) -> Value:
        if self._take("-"):
            return negate(scalar(self._power()))
        self._take("+")
        return self._power()

    def _power(self) -> Value:
        value = self._primary()
        while True:
            if self._token.kind == "!" and self._peek().kind != "!":
                self._at += 1
                value = Apply("factorial", (scalar(value),))
            elif self._take("^"):
                value = power(scalar(value), self._exponent())
                if self._token.kind in ("!", "^"):
                    raise Malformed("It is unclear what belongs to an exponent; write brackets.")
            elif self._token.kind == "%" or self._token.text == "percent":
                self._at += 1
                value = product([scalar(value), Num(Fraction(1, 100))])
            elif self._in_function and self._take("°"):
                value = product([scalar(value), Num(Fraction(1, 180)), Apply("pi")])
            else:
                return value

    def _exponent(self) -> Scalar:
        self._deeper()
        sign = self._take("-")
        if self._token.kind == "{":
            value = self._braces()
        else:
            value = scalar(self._primary())
            if self._take("^"):
                value = power(value, self._exponent())
        self._depth -= 1
        return negate(value) if sign else value

    def _braces(self) -> Scalar:
        """The scalar in a pair of braces that only groups."""
        self._expect("{")
        value = scalar(self._additive())
        self._expect("}")
        return value

    def _argument(self) -> Scalar:
        r"""What a LaTeX command takes: braces, or one digit or letter as in ``\frac12``."""
        token = self._token
        if token.kind == "{":
            return self._braces()
        if token.kind == "num" and token.text.isdigit():
            head, rest = token.text[0], token.text[1:]
            self._at += 1
            if rest:
                self._at -= 1
                self._tokens[self._at] = Token("num", rest, False, Fraction(int(rest)))
            return number(int(head))
        if token.kind == "letters" and len(token.text) > 1:
            self._split_letters()
        if self._token.kind in ("letters", "sym", "const", "cmd"):
            return scalar(self._primary())
        raise Malformed("A command lacks its argument in braces.")

    # Single factors.

    def _primary(self) -> Value:
        self._deeper()
        token = self._token
        kind = token.kind
        if kind == "num":
            value = self._number()
        elif kind == "vulgar":
            self._at += 1
            value = Num(token.value or Fraction(0))
        elif kind in ("letters", "word", "sym"):
            value = self._name()
        elif kind == "const":
            self._at += 1
            value = Apply(token.text)
        elif kind in ("(", "[", "{", "\\{", "⟨", "]", "∅"):
            value = self._bracket()
        elif kind == "|" and not self._bars:
            value = self._between("|", "|", "abs")
        elif kind == "⌊":
            value = self._between("⌊", "⌋", "floor")
        elif kind == "⌈":
            value = self._between("⌈", "⌉", "ceil")
        elif kind in _SIMPLE:
            self._at += 1
            value = Apply("root", (scalar(self._primary()), number(_SIMPLE[kind])))
        elif kind == "cmd":
            value = self._command()
        elif kind == "func":
            value = self._function()
        elif kind == "begin":
            value = self._environment()
        elif kind == "end":
            raise Malformed("The expression is incomplete." if self._at else "There is no value.")
        else:
            raise Malformed(f"There is an unexpected {token.text[:30]!r}.")
        self._depth -= 1
        return value

    def _between(self, opening: str, closing: str, op: str) -> Scalar:
        self._expect(opening)
        self._bars += opening == "|"
        outer, self._bars = self._bars, self._bars if opening == "|" else 0
        value = scalar(self._additive())
        self._bars = outer - (opening == "|")
        self._expect(closing)
        return Apply(op, (value,))

    def _number(self) -> Scalar:
        token = self._token
        self._at += 1
        value = Num(token.value or Fraction(0))
        following = self._token
        whole = token.text.isdigit()
        if whole and following.kind == "vulgar":
            self._at += 1
            return Num(value.value + (following.value or 0))
        if whole and following.kind == "num" and following.space and self._peek().kind == "/":
            numerator, denominator = following, self._peek(2)
            if denominator.kind == "num" and numerator.text.isdigit() and denominator.text.isdigit():
                self._at += 3
                return mixed(value, Num(numerator.value or Fraction(0)), Num(denominator.value or Fraction(0)))
        if whole and following == ("cmd", "frac", following.space, None):
            start, kept = self._at, list(self._tokens)
            self._at += 1
            numerator, denominator = self._argument(), self._argument()
            if isinstance(numerator, Num) and isinstance(denominator, Num) and denominator.value:
                return mixed(value, numerator, denominator)
            # A product after all; the digits that the arguments took are put back.
            self._at, self._tokens = start, kept
        if following.kind == "num":
            raise Malformed("Two numbers stand side by side.")
        return value

    def _split_letters(self) -> None:
        """Replace a run of letters by its letters."""
        token = self._token
        letters = [Token("letters", character) for character in token.text]
        letters[0] = letters[0]._replace(space=token.space)
        self._tokens[self._at : self._at + 1] = letters

    def _name(self) -> Scalar:
        token = self._token
        if token.kind == "letters" and len(token.text) > 1:
            if len(token.text) > 3 or token.text.lower() in SHORT_WORDS:
                raise Malformed(f"The word {token.text[:30]!r} does not belong to a mathematical value.")
            self._split_letters()
            token = self._token
        if token.kind == "word" and len(token.text) > 1:
            raise Malformed(f"The word {token.text[:30]!r} does not belong to a mathematical value.")
        self._at += 1
        if self._take("_"):
            return Sym(f"{token.text}_{self._subscript()}")
        if token.text in ("e", "i") and token.kind != "sym":
            return Apply(token.text)
        return Sym(token.text)

    def _subscript(self) -> str:
        braces = self._take("{")
        parts = []
        while self._token.kind in ("num", "letters", "word", "sym") and (braces or not parts):
            parts.append(self._token.text)
            self._at += 1
        if braces:
            self._expect("}")
        if not parts:
            raise Malformed("A subscript must be letters and digits.")
        return "".join(parts)

    def _command(self) -> Scalar:
        name = self._token.text
        self._at += 1
        if name == "frac":
            numerator = self._argument()
            return product([numerator, inverse(self._argument())])
        if name == "binom":
            return Apply("binomial", (self._argument(), self._argument()))
        if name == "mathbb" and [self._token.kind, self._peek(2).kind] == ["{", "}"] and self._peek().text in "RQZNC":
            self._at += 3
            return Sym("\\mathbb{" + self._tokens[self._at - 2].text + "}")
        raise Malformed(f"The command \\{name} is used in a way that is not known here.")

    def _function(self) -> Scalar:
        token = self._token
        name = token.text
        self._at += 1
        degree: Scalar | None = None
        if name == "sqrt" and self._take("["):
            degree = scalar(self._additive())
            self._expect("]")
        base = self._log_base(token) if name == "log" and self._take("_") else None
        exponent = self._exponent() if self._token.kind == "^" and name != "sqrt" and self._take("^") else None
        if exponent == MINUS_ONE and name in _INVERSES:
            name, exponent = _INVERSES[name], None
        elif isinstance(exponent, Num) and exponent.value < 0:
            raise Malformed("A negative exponent of a function's name is read in two ways; write brackets.")
        self._in_function += 1
        arguments = self._function_arguments(name, token.value is not None)
        self._in_function -= 1
        value = applied(name, arguments, base, degree)
        return value if exponent is None else power(value, exponent)

    def _log_base(self, token: Token) -> Scalar:
        if self._token.kind == "num" and token.value is not None and len(self._token.text) > 1:
            base = self._argument()
            if self._token.kind == "num" and not self._token.space and self._peek().kind in ("(", "{"):
                raise Malformed("It is unclear where the base of a logarithm ends; write braces.")
            return base
        return self._argument() if self._token.kind in ("num", "{") else scalar(self._primary())

    def _function_arguments(self, name: str, tex: bool) -> list[Scalar]:
        if self._token.kind == "{":
            return [self._braces()]
        if self._token.kind == "(":
            inside = self._bracket()
            items = inside.items if isinstance(inside, Group) and inside.kind == "()" else (inside,)
            return [radians(item) for item in items]
        if name in _BRACKETED:
            raise Malformed(f"The argument of {name} must stand in brackets.")
        if name == "sqrt":
            argument = self._argument() if tex else scalar(self._primary())
            if tex and self._token.kind == "num":
                raise Malformed("It is unclear what a root covers; write braces.")
            return [argument]
        sign = self._take("-")
        factors = [scalar(self._power())]
        while self._token.kind in ("letters", "sym", "const", "√") or self._token[:2] == ("cmd", "frac"):
            if self._at_unit(list(factors)):
                break
            factors.append(scalar(self._power()))
        if self._token.kind == "/" and not self._token.space:
            raise Malformed(f"It is unclear where the argument of {name} ends; write brackets.")
        value = product(factors)
        return [negate(value) if sign else value]

    # Units.

    def _at_unit(self, left: list[Value] | list[Scalar]) -> bool:
        """Whether what follows is a unit and not a factor."""
        token = self._token
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec"):
            return False
        if self._in_function and token.kind != "°":
            return False
        start = self._at
        found = self._unit(left)
        self._at = start
        return found is not None

    def _unit(self, left: list[Value] | list[Scalar]) -> tuple[Unit, Scalar | None] | None:
        """The unit that begins here and ends the value, with its reading as a product of variables; or None."""
        parts: list[tuple[Unit, int]] = []
        plain: list[Scalar] | None = []
        sign = 1
        numeric = not any(_has_symbol(value) for value in left)
        while True:
            found = self._unit_factor(numeric, alone=not parts)
            if found is None:
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

    def _unit_factor(self, numeric: bool, alone: bool) -> tuple[Unit, int, list[Scalar] | None] | None:
        prefix = units.PREFIX_POWERS.get(self._token.text)
        if prefix:
            self._at += 1
        token = self._token
        name, in_text = token.text, token.kind == "word"
        if token.kind not in ("letters", "word", "°") and token[:2] != ("func", "sec"):
            return None
        self._at += 1
        if token.kind == "°" and self._token.text in ("C", "F"):
            name += self._token.text
            self._at += 1
        unit = units.unit_named(name, in_text)
        if unit is None:
            noun = numeric and alone and name.isalpha() and (len(name) > 3 or (in_text and len(name) > 1))
            if not noun or name.lower() in SHORT_WORDS:
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


def _has_symbol(value: Value) -> bool:
    if isinstance(value, Sym):
        return True
    return isinstance(value, Apply) and any(map(_has_symbol, value.args))


def operand(value: Value) -> bool:
    """Whether `scalar` accepts the value."""
    if isinstance(value, Group) and value.kind == "[]" and len(value.items) == 1:
        return operand(value.items[0])
    return is_scalar(value)


def scalar(value: Value) -> Scalar:
    """``value``, which must be a single number or expression; square brackets around one only group it."""
    if isinstance(value, Group) and value.kind == "[]" and len(value.items) == 1:
        return scalar(value.items[0])
    if isinstance(value, (Num, Sym, Apply)):
        return value
    raise Malformed("Only single numbers and expressions can be combined by arithmetic.")


def radians(value: Value) -> Scalar:
    """The argument of a function: an angle with its unit becomes a plain number."""
    if isinstance(value, Quantity) and value.unit.dimensions == (("angle", 1),):
        return product([value.value, Num(value.unit.factor), *[Apply("pi")] * value.unit.pi])
    if isinstance(value, Quantity) and value.plain is not None:
        return product([value.value, value.plain])
    return scalar(value)


def product(factors: list[Scalar]) -> Scalar:
    """The product, with plain numbers at its beginning multiplied out."""
    if len(factors) == 2 and isinstance(factors[0], Num) and isinstance(factors[1], Num):
        return Num(factors[0].value * factors[1].value)
    flat: list[Scalar] = []
    for factor in factors:
        flat.extend(factor.args if isinstance(factor, Apply) and factor.op == "*" else (factor,))
    return multiply(*flat)


def inverse(value: Scalar) -> Scalar:
    """One over ``value``."""
    if isinstance(value, Num):
        if not value.value:
            raise Malformed("The expression divides by zero.")
        return Num(1 / value.value)
    return invert(value)


def power(base: Scalar, exponent: Scalar) -> Scalar:
    """``base`` to the ``exponent``, whole exponents of products of powers kept as they are."""
    return base if exponent == number(1) else Apply("^", (base, exponent))


def mixed(whole: Num, numerator: Num, denominator: Num) -> Num:
    """A mixed number such as 3 1/2."""
    fraction = numerator.value / denominator.value if denominator.value else Fraction(0)
    if not 0 < fraction < 1 or numerator.value.denominator != 1 or denominator.value.denominator != 1:
        raise Malformed("A mixed number needs a fraction between 0 and 1 of whole numbers; write a sign otherwise.")
    return Num(whole.value + fraction)


def applied(name: str, arguments: list[Scalar], base: Scalar | None, degree: Scalar | None) -> Scalar:
    """A function of its arguments, in the few forms that the rest of the verifier knows."""
    if len(arguments) != (2 if name == "binomial" else 1):
        raise Malformed(f"The function {name} does not take {len(arguments)} arguments.")
    argument = arguments[0]
    if name == "exp":
        return Apply("^", (Apply("e"), argument))
    if name == "sqrt":
        return Apply("root", (argument, degree or number(2)))
    if name == "cbrt":
        return Apply("root", (argument, number(3)))
    if name == "lg":
        return Apply("log", (argument, number(10)))
    if name == "log" and base is not None:
        return Apply("ln", (argument,)) if base == Apply("e") else Apply("log", (argument, base))
    return Apply(name, tuple(arguments))
