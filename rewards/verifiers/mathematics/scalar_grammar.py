r"""Grammar of scalars: sums, products, powers, functions and single factors.

Text with two common readings is refused: ``1/2x``, ``sin a/b``, ``2^3!``, a number after a variable (``x2``); so are
unknown words. Depth is bounded, and time and memory are bounded by the length of the text.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import takewhile

from .amounts import Measure
from .build import inverse, is_operand, make_function, make_power, mixed_number, product, radians, scalar
from .lexer import Token
from .names import Names
from .tree import (
    MINUS_ONE,
    ZERO,
    Apply,
    Malformed,
    Num,
    Scalar,
    Sym,
    Unit,
    Value,
    ValueGroup,
    as_num,
    make_sum,
    negate,
)
from .vocabulary import HYPERBOLIC_AND_CIRCULAR

_INVERSES = {name: "arc" + name for name in HYPERBOLIC_AND_CIRCULAR}
BEGINS_FACTOR = frozenset(
    ("sym", "const", "func", "letters", "word", "(", "{", "[", "√", "∛", "∜", "⌊", "⌈", "cmd", "accent")
)
_ENDS_PRODUCT = frozenset(("end", "+", "-", ")", "}", ",", "=", "]"))
# Functions that need brackets: without them it is unclear where the argument ends.
_BRACKETED = frozenset(("abs", "floor", "ceil", "factorial", "binomial", "cbrt"))
_SIMPLE = {"√": 2, "∛": 3, "∜": 4}


class ScalarGrammar(Names):
    """Recursive-descent parser of scalars over tokens; `grammar.Grammar` adds the values that are built of scalars."""

    # Sums and products.

    def _item(self) -> Value:
        raise NotImplementedError

    def _bracket(self) -> Value:
        raise NotImplementedError

    def _environment(self) -> Value:
        raise NotImplementedError

    def _additive(self, measured: bool = False) -> Value:
        """Read a sum. With ``measured`` a unit may end the sum; `_measure` and `_is_sum` then record the unit."""
        self._deeper()
        sign = self._token.kind if self._token.kind in ("+", "-", "±", "∓") else ""
        self._at += bool(sign)
        value = self._product(measured)
        if sign:
            value = scalar(value)
            value = negate(value) if sign == "-" else self._choice(sign, ZERO, value) if sign in "±∓" else value
            if sign == "-" and self._measure is not None:
                self._measure = self._measure._replace(number=negate(self._measure.number))
        terms: list[Scalar] = []
        operator = ""
        while self._token.kind in ("+", "-", "±", "∓"):
            operator = self._token.kind
            self._at += 1
            left = scalar(value) if not terms else terms.pop()
            right = scalar(self._signed_product(measured))
            if operator in "±∓":
                terms = [self._choice(operator, make_sum(*terms, left), right)]
            else:
                terms += (left, right if operator == "+" else negate(right))
        if terms and self._measure is not None:
            last = self._measure.number
            last = negate(last) if operator == "-" else last
            self._measure = self._measure._replace(number=make_sum(*terms[:-1], last))
        self._is_sum = bool(terms)
        self._depth -= 1
        return make_sum(*terms) if terms else value

    def _choice(self, operator: str, left: Scalar, right: Scalar) -> Scalar:
        self.choices += 1
        return Apply("pm", (left, right if operator == "±" else negate(right)))

    def _signed_product(self, measured: bool = False) -> Value:
        if self._take("-"):
            value = negate(scalar(self._product(measured)))
            if self._measure is not None:
                self._measure = self._measure._replace(number=negate(self._measure.number))
            return value
        self._take("+")
        return self._product(measured)

    def _product(self, measured: bool = False) -> Value:
        value = self._power()
        # Most products are a single number or name.
        return value if self._token.kind in _ENDS_PRODUCT else self._factors([value], False, measured)

    def _factors(self, factors: list[Value], divided: bool, measured: bool) -> Value:
        """Read the factors that follow and return their product with ``factors``, those already read."""
        while True:
            kind = self._token.kind
            if kind in ("*", "/"):
                start = self._at
                self._at += 1
                factors[-1] = scalar(factors[-1])
                factor = scalar(self._signed_power())
                factors.append(factor if kind == "*" else inverse(factor))
                divided = kind == "/" and not self._tight_fraction(start)
            elif self._begins_factor(factors[-1]):
                if len(factors) == 1 and not is_operand(factors[0]):
                    break
                if measured and (found := self._unit_ahead(factors)):
                    unit, lettered, end = found
                    return self._split_measure(factors, divided, unit, end) if lettered else _times(factors)
                if self._token.text == "in" and self._peek().kind in ("(", "[", "{", "\\{", "∅"):
                    break
                if divided:
                    raise Malformed("It is unclear what is divided by what; write 1/(2x) or (1/2)x.")
                factors[-1] = scalar(factors[-1])
                factors.append(scalar(self._power()))
            else:
                break
        return _times(factors)

    def _split_measure(self, factors: list[Value], divided: bool, unit: Unit, end: int) -> Value:
        """Return the product with the letters of a unit as variables, or without the letters if they cannot be
        variables. `_measure` records the unit reading."""
        start, behind = self._at, len(self._tokens) - end
        letters, state = self._tokens[start:end], (self._depth, self._in_function)
        number = scalar(_times(factors))
        refused = None
        try:
            value = self._factors([*factors], divided, False)
            if len(self._tokens) - self._at != behind:
                raise Malformed(f"There is an unexpected {self._token.text[:30]!r}.")
        except Malformed as error:
            # The attempt may have split runs of letters; restore them.
            self._tokens[start : len(self._tokens) - behind] = letters
            self._at, (self._depth, self._in_function) = end, state
            value, refused = number, error
        self._measure = Measure(number, unit, letters, refused)
        return value

    def _begins_factor(self, last: Value) -> bool:
        kind = self._token.kind
        # As in n2^n, where 2 cannot be a subscript, and in (n-2)2^n and \frac{1}{3} 2^n.
        closed = self._tokens[self._at - 1].kind in (")", "}")
        if kind == "num" and (closed or isinstance(last, Sym)) and self._peek().kind == "^":
            braced = self._peek(2).kind == "{"
            exponent = self._tokens[self._at + (3 if braced else 2) :]
            inside = list(takewhile(lambda token: token.kind != "}", exponent)) if braced else exponent[:1]
            return any(token.kind in ("letters", "sym") for token in inside)
        # After a factorial even a number can only be a factor: 3!7!.
        after_factorial = kind == "num" and self._tokens[self._at - 1].kind == "!"
        return kind in BEGINS_FACTOR or (kind == "|" and not self._bars) or after_factorial

    def _tight_fraction(self, slash: int) -> bool:
        """Return True if a fraction of plain numbers ends here and a space follows, as in ``1/2 x``."""
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
        while self._token.kind not in _ENDS_PRODUCT:
            if self._token.kind == "!" and self._peek().kind != "!":
                self._at += 1
                value = Apply("factorial", (scalar(value),))
            elif self._take("^"):
                value = make_power(scalar(value), self._exponent())
                if self._token.kind in ("!", "^"):
                    raise Malformed("It is unclear what belongs to an exponent; write brackets.")
            elif self._token.kind == "%" or self._token.text == "percent":
                self._at += 1
                value = product([scalar(value), Num(Fraction(1, 100))])
            elif self._in_function and self._take("°"):
                value = product([scalar(value), Num(Fraction(1, 180)), Apply("pi")])
            else:
                break
        return value

    def _exponent(self) -> Scalar:
        self._deeper()
        sign = self._take("-")
        if self._token.kind == "{":
            value = self._braces()
        else:
            value = scalar(self._primary())
            if self._take("^"):
                value = make_power(value, self._exponent())
        self._depth -= 1
        return negate(value) if sign else value

    def _braces(self) -> Scalar:
        """Read the scalar in a pair of braces that only group."""
        self._expect("{")
        value = scalar(self._additive())
        self._expect("}")
        return value

    def _argument(self) -> Scalar:
        r"""Read the argument of a LaTeX command: braces, or one digit or letter as in ``\frac12``."""
        token = self._token
        if token.kind == "{":
            return self._braces()
        if token.kind == "num" and token.text.isdigit():
            head, rest = token.text[0], token.text[1:]
            self._at += 1
            if rest:
                self._at -= 1
                self._tokens[self._at] = Token("num", rest, False, Fraction(int(rest)))
            return as_num(int(head))
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
        elif kind == "accent":
            value = self._accented_name()
        elif kind == "const":
            self._at += 1
            value = Apply(token.text)
        elif kind in ("(", "[", "{", "\\{", "⟨", "]", "∅"):
            value = self._bracket()
        elif kind == "|":
            value = self._between("|", "|", "abs")
        elif kind == "⌊":
            value = self._between("⌊", "⌋", "floor")
        elif kind == "⌈":
            value = self._between("⌈", "⌉", "ceil")
        elif kind in _SIMPLE:
            self._at += 1
            value = Apply("root", (scalar(self._primary()), as_num(_SIMPLE[kind])))
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
        if self._token.kind == "_" and token.text.replace(".", "").isdigit() and self._take("_"):
            # Digits with a base form a name, which equals only the same digits in the same base.
            digits = token.text.rstrip("0").rstrip(".") if "." in token.text else token.text
            return Sym(f"\\base {digits.lstrip('0')}_{self._subscript()}")
        if whole and following.kind == "vulgar":
            self._at += 1
            return Num(value.value + (following.value or 0))
        if whole and following.kind == "num" and following.space and self._peek().kind == "/":
            numerator, denominator = following, self._peek(2)
            if denominator.kind == "num" and numerator.text.isdigit() and denominator.text.isdigit():
                self._at += 3
                return mixed_number(value, Num(numerator.value or Fraction(0)), Num(denominator.value or Fraction(0)))
        if whole and following[:2] == ("cmd", "frac") and self._peek(2).kind != "word":
            self._at += 1
            numerator, denominator = self._argument(), self._argument()
            if isinstance(numerator, Num) and isinstance(denominator, Num) and denominator.value:
                return mixed_number(value, numerator, denominator)
            # Not a mixed number but a product.
            if self._token.kind in ("!", "^", "%"):
                raise Malformed("It is unclear what belongs to a fraction after a number; write brackets.")
            return product([value, numerator, inverse(denominator)])
        if following.kind == "num":
            raise Malformed("Two numbers stand side by side.")
        return value

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
        exponent = self._function_exponent(token) if name != "sqrt" and self._take("^") else None
        if exponent == MINUS_ONE and name in _INVERSES:
            name, exponent = _INVERSES[name], None
        elif isinstance(exponent, Num) and exponent.value < 0:
            raise Malformed("A negative exponent of a function's name is read in two ways; write brackets.")
        self._in_function += 1
        arguments = self._function_arguments(name, token.value is not None)
        self._in_function -= 1
        value = make_function(name, arguments, base, degree)
        return value if exponent is None else make_power(value, exponent)

    def _function_exponent(self, function: Token) -> Scalar:
        token = self._token
        if token.kind != "num" or not token.text.isdigit():
            return self._exponent()
        if function.value is not None and len(token.text) > 1:
            # In TeX the exponent is one digit: sin^22x is sin^2 2x.
            following = self._peek()
            if following.space or following.kind in ("(", "{") or token.text[0] == "1" or token.text[1] == "0":
                raise Malformed("It is unclear what belongs to an exponent; write braces.")
            return self._argument()
        self._at += 1
        return as_num(int(token.text))

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
            items = inside.items if isinstance(inside, ValueGroup) and inside.kind == "()" else (inside,)
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
            factors.append(scalar(self._power()))
        if self._token.kind == "/" and not self._token.space:
            raise Malformed(f"It is unclear where the argument of {name} ends; write brackets.")
        value = product(factors)
        return [negate(value) if sign else value]


def _times(factors: list[Value]) -> Value:
    return product([scalar(factor) for factor in factors]) if len(factors) > 1 else factors[0]
