"""Signal temporal logic over discrete time: formulas, their text form, a parser, and their robustness.

A formula compares named signals with constants (``speed > 30``) and joins such propositions by ``not``, ``and``,
``or``, ``->``, ``G[a,b]`` (at every step from a to b later), ``F[a,b]`` (at some such step) and ``U[a,b]``: in ``p
U[a,b] q``, q holds at some step from a to b later, and p at every step before that one. `parse_formula` reads untrusted
text in bounded time; `robustness` is the margin by which a formula holds on traces, negative if it does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

MAX_PARTS = 100
MAX_NESTING = 30
# Binary operators by precedence, from the loosest; all other operators bind more tightly.
_LEVELS = ("->", "or", "and", "U")
_SPELLINGS = {
    "G": "g always globally square box \u25a1 \u25fb",
    "F": "f eventually finally diamond \u25c7 \u22c4",
    "U": "u until",
    "not": "not ! ~ neg lnot \u00ac",
    "and": "and & && land wedge \u2227",
    "or": "or | || lor vee \u2228",
    "->": "-> => implies rightarrow to \u2192 \u21d2 \u27f9",
    ">": "> >= gt ge geq \u2265",
    "<": "< <= lt le leq \u2264",
}
_OPERATORS = {spelling: name for name, spellings in _SPELLINGS.items() for spelling in spellings.split()}
_NUMBER = r"[-+]?[0-9]{1,6}(?:\.[0-9]{1,6})?(?![0-9.])"
_TOKEN = re.compile(
    rf"\[ *([0-9]{{1,4}}) *(?:,|:|;|\.\.) *([0-9]{{1,4}}) *\]|(->|=>|{_NUMBER}|&&|\|\||[<>]=|[a-z]+|\S)"
)
# Characters around formulas and their parts in Markdown and LaTeX that have no meaning.
_DECORATION = str.maketrans(dict.fromkeys('_{}\\$`*"', " "))


class UnreadableFormula(ValueError):
    """Raised for a text that is no formula; the message is one sentence that gives the reason."""


class Formula(NamedTuple):
    """A formula: its operator ("G", "F", "U", "not", "and", "or", "->", or ">" and "<" for propositions), its parts,
    the window of "G", "F" and "U", and the signal and the constant of a proposition."""

    operator: str
    parts: tuple[Formula, ...] = ()
    window: tuple[int, int] = (0, 0)
    signal: str = ""
    constant: float = 0.0

    def nodes(self) -> Iterator[Formula]:
        """Yield the formula and all its parts, recursively."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    @property
    def size(self) -> int:
        """The number of operators and propositions."""
        return 1 + sum(part.size for part in self.parts)

    @property
    def reach(self) -> int:
        """The maximum number of steps that the formula looks ahead."""
        return self.window[1] + max((part.reach for part in self.parts), default=0)

    def __str__(self) -> str:
        binary = len(self.parts) > 1
        return self.format_with([f"({part})" if binary and len(part.parts) > 1 else str(part) for part in self.parts])

    def format_with(self, parts: Sequence[str]) -> str:
        """Write the formula with these texts for its parts."""
        if not parts:
            return f"{self.signal} {self.operator} {self.constant:g}"
        window = f"[{self.window[0]},{self.window[1]}]" if self.operator in ("G", "F", "U") else ""
        if len(parts) > 1:
            return f" {self.operator}{window} ".join(parts)
        return f"{self.operator}{window}({parts[0]})" if window else f"not ({parts[0]})"


def parse_formula(text: str, signals: Sequence[str], farthest: int) -> Formula:
    """Parse the formula in a text.

    Args:
        text: up to a few thousand characters.
        signals: the allowed signal names, in lower case.
        farthest: the most steps that the formula may look ahead.

    Raises:
        UnreadableFormula: the text is no such formula, or has more than `MAX_PARTS` parts.
    """
    formula = _FormulaParser(text, signals).parse_whole()
    if formula.reach > farthest:
        raise UnreadableFormula(f"The formula looks {formula.reach} steps ahead; at most {farthest} are allowed.")
    return formula


class _FormulaParser:
    """A recursive-descent parser: one method for binary operators by precedence, one for their operands."""

    def __init__(self, text: str, signals: Sequence[str]):
        self.signals = signals
        self.nesting = self.parts = 0
        # A window is a token of two numbers; all others are operators, names, numbers or single characters.
        self.tokens: list[str | tuple[int, int]] = []
        for first, last, word in _TOKEN.findall(text.lower().translate(_DECORATION).rstrip(" .")):
            self.tokens.append((int(first), int(last)) if first else _OPERATORS.get(word) or word)
        self.tokens.append("")
        self.place = 0

    def parse_whole(self) -> Formula:
        formula = self.parse_binary(0)
        if self.tokens[self.place] != "":
            raise self.expected_error("the end of the formula")
        return formula

    def parse_binary(self, level: int) -> Formula:
        """Parse a part in which no operator outside of parentheses binds more loosely than ``_LEVELS[level]``."""
        if level == len(_LEVELS):
            return self.parse_unary()
        operator, parts = _LEVELS[level], [self.parse_binary(level + 1)]
        window = (0, 0)
        while self.tokens[self.place] == operator:
            self.advance()
            if operator == "U":
                window = self.parse_window()
            parts.append(self.parse_binary(level + 1))
            if operator == "U" and self.tokens[self.place] == "U":
                raise UnreadableFormula("Two U in a row need parentheses.")
        # Implication is right-associative, all others are left-associative.
        if operator == "->":
            result = parts.pop()
            while parts:
                result = Formula(operator, (parts.pop(), result))
            return result
        result = parts[0]
        for part in parts[1:]:
            result = Formula(operator, (result, part), window)
        return result

    def parse_unary(self) -> Formula:
        token = self.tokens[self.place]
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise UnreadableFormula(f"The formula is nested more than {MAX_NESTING} deep.")
        if token == "(":
            self.place += 1
            result = self.parse_binary(0)
            if self.tokens[self.place] != ")":
                raise self.expected_error('")"')
            self.place += 1
        elif token in ("not", "G", "F"):
            self.advance()
            window = (0, 0) if token == "not" else self.parse_window()
            result = Formula(str(token), (self.parse_unary(),), window)
        else:
            result = self.parse_proposition()
        self.nesting -= 1
        return result

    def advance(self) -> None:
        """Move past an operator or the beginning of a proposition, and count it."""
        self.place += 1
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise UnreadableFormula(f"The formula has more than {MAX_PARTS} operators and propositions.")

    def parse_window(self) -> tuple[int, int]:
        window = self.tokens[self.place]
        if not isinstance(window, tuple):
            raise self.expected_error("a window such as [0,5]")
        if window[0] > window[1]:
            raise UnreadableFormula(f"The window [{window[0]},{window[1]}] ends before it begins.")
        self.place += 1
        return window

    def parse_proposition(self) -> Formula:
        """Parse ``speed > 30`` or ``30 < speed``."""
        left, operator, right = (*self.tokens[self.place : self.place + 3], "", "")[:3]
        if not isinstance(left, str) or not (left.isalpha() or re.fullmatch(_NUMBER, left)) or left in _SPELLINGS:
            raise self.expected_error("a proposition such as speed > 30")
        self.advance()
        if operator not in (">", "<"):
            raise self.expected_error('">" or "<"')
        self.place += 1
        if not left.isalpha():
            left, right, operator = right, left, "<" if operator == ">" else ">"
        if left not in self.signals:
            raise UnreadableFormula(f"There is no signal {str(left)[:20]!r} here, only {', '.join(self.signals)}.")
        if not isinstance(right, str) or not re.fullmatch(_NUMBER, right):
            raise self.expected_error("a number")
        self.place += 1
        return Formula(str(operator), signal=str(left), constant=float(right))

    def expected_error(self, wanted: str) -> UnreadableFormula:
        token = self.tokens[self.place]
        found = f"[{token[0]},{token[1]}]" if isinstance(token, tuple) else repr(token[:20])
        return UnreadableFormula(f"There should be {wanted} instead of {found if token else 'the end'}.")


def robustness(formula: Formula, traces: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the margin by which the formula holds at each step at which all values that it needs are known.

    Args:
        formula: the formula.
        traces: an array of float[..., steps] for each signal, of the same shape.

    Returns:
        float[..., steps - reach]: for a proposition the distance to its constant, positive if it is true; for "not" the
            negated value of its part; for "and" the minimum of the parts, for "or" the maximum; for "G" the minimum
            over the window, for "F" the maximum. (Fainekos & Pappas, 2009.)
    """
    if not formula.parts:
        margin = traces[formula.signal] - formula.constant
        return margin if formula.operator == ">" else -margin
    values = [robustness(part, traces) for part in formula.parts]
    steps = min(value.shape[-1] for value in values) - formula.window[1]
    if formula.operator == "not":
        return -values[0]
    if formula.operator in ("G", "F"):
        return _over_window(values[0], *formula.window, np.minimum if formula.operator == "G" else np.maximum)
    first, second = values
    if formula.operator == "U":
        held = np.full((*first.shape[:-1], steps), np.inf)
        best = -held
        for later in range(formula.window[1] + 1):
            if later >= formula.window[0]:
                best = np.maximum(best, np.minimum(held, second[..., later : later + steps]))
            held = np.minimum(held, first[..., later : later + steps])
        return best
    first, second = first[..., :steps], second[..., :steps]
    if formula.operator == "and":
        return np.minimum(first, second)
    return np.maximum(-first if formula.operator == "->" else first, second)


def _over_window(values: np.ndarray, first: int, last: int, best: Callable[..., np.ndarray]) -> np.ndarray:
    """Return the minimum or maximum (``best``) of the values from ``first`` to ``last`` steps later, by doubling
    spans."""
    width, span = last - first + 1, 1
    while span < width:
        shift = min(span, width - span)
        values = best(values[..., :-shift], values[..., shift:])
        span += shift
    return values[..., first:]


def sample_traces(
    rng: np.random.Generator, signals: Sequence[str], count: int, steps: int, high: float
) -> dict[str, np.ndarray]:
    """Sample traces that stay near a level from 0 to ``high`` for one or many steps, and then jump to another level.

    Returns:
        float[count, steps] for each signal; no two values are equal, except by rounding.
    """
    shape = (len(signals), count, steps)
    rest = np.array([1, 3, 8, 20])[rng.integers(0, 4, (len(signals), count, 1))]
    spell = (rng.random(shape) * rest < 1).cumsum(axis=2) - 1
    levels = np.take_along_axis(rng.random(shape), np.maximum(spell, 0), axis=2) * high
    return dict(zip(signals, levels + rng.random(shape) * (high / 10)))
