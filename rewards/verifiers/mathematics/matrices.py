r"""Sums and products that contain matrices: ``\frac{1}{2}\begin{pmatrix} 2 \\ 4 \end{pmatrix}``, ``c_1 v e^t + c_2 w``.

The entries of a computed matrix are scalars. Expressions without a matrix are read by `ScalarGrammar`.
"""

from __future__ import annotations

from .build import product, scalar
from .scalar_grammar import BEGINS_FACTOR, ScalarGrammar
from .tree import MINUS_ONE, Malformed, Matrix, Scalar, Value, is_scalar, make_sum

MAX_PRODUCTS = 1_000
MAX_ENTRIES = 200
_OPENING = frozenset(("(", "[", "{", "\\{", "⟨", "begin"))
_CLOSING = frozenset((")", "]", "}", "\\}", "⟩", "end"))
_SEPARATES = frozenset((",", ";", "=", "≈", "or", "and", "&", "\\\\"))


class MatrixExpressions(ScalarGrammar):
    """Grammar of scalars, with matrices among the terms and factors."""

    def _additive(self, measured: bool = False) -> Value:
        if not self._matrix_ahead():
            return super()._additive(measured)
        self._deeper()
        terms: list[Value] = []
        sign = self._token.kind if self._token.kind in ("+", "-") else "+"
        self._at += self._token.kind in ("+", "-")
        while True:
            term = self._product()
            terms.append(_multiply_factors([MINUS_ONE, term]) if sign == "-" else term)
            sign = self._token.kind
            if sign not in ("+", "-"):
                break
            self._at += 1
        self._depth -= 1
        return _add_terms(terms)

    def _product(self, measured: bool = False) -> Value:
        if not self._matrix_ahead():
            return super()._product(measured)
        factors = [self._power()]
        while True:
            if self._take("*"):
                negative = self._take("-")
                factors.append(self._power())
                factors += [MINUS_ONE] if negative else []
            elif self._token.kind in BEGINS_FACTOR or self._token.kind == "begin":
                factors.append(self._power())
            else:
                return _multiply_factors(factors)

    def _matrix_ahead(self) -> bool:
        """Return True if a matrix stands between here and the next separator at this depth."""
        depth = 0
        for token in self._tokens[self._at :]:
            if token.kind == "begin":
                return True
            depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
            if depth < 0 or (not depth and token.kind in _SEPARATES):
                return False
        return False


def _add_terms(terms: list[Value]) -> Value:
    if len(terms) == 1:
        return terms[0]
    matrices = [term for term in terms if isinstance(term, Matrix)]
    shapes = {(len(matrix.rows), len(matrix.rows[0])) for matrix in matrices}
    if len(matrices) < len(terms) or len(shapes) > 1:
        raise Malformed("Only matrices of one shape can be added.")
    rows = zip(*(matrix.rows for matrix in matrices))
    return Matrix(tuple(tuple(make_sum(*map(scalar, cells)) for cells in zip(*row)) for row in rows))


def _multiply_factors(factors: list[Value]) -> Value:
    result = factors[0]
    for factor in factors[1:]:
        result = _times(result, factor)
    return result


def _times(a: Value, b: Value) -> Value:
    if isinstance(a, Matrix) and isinstance(b, Matrix):
        inner = len(b.rows)
        if len(a.rows[0]) != inner or len(a.rows) * len(b.rows[0]) * inner > MAX_PRODUCTS:
            raise Malformed("These matrices cannot be multiplied.")
        columns = list(zip(*b.rows))

        def inner_product(row: tuple[Value, ...], column: tuple[Value, ...]) -> Scalar:
            return make_sum(*(product([scalar(x), scalar(y)]) for x, y in zip(row, column)))

        return Matrix(tuple(tuple(inner_product(row, column) for column in columns) for row in a.rows))
    if isinstance(a, Matrix) and is_scalar(b):
        return _times(b, a)
    if isinstance(b, Matrix):
        factor = scalar(a)
        if len(b.rows) * len(b.rows[0]) > MAX_ENTRIES:
            raise Malformed(f"A matrix has more than {MAX_ENTRIES} entries.")
        return Matrix(tuple(tuple(product([factor, scalar(entry)]) for entry in row) for row in b.rows))
    return product([scalar(a), scalar(b)])
