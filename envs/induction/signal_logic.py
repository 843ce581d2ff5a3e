"""Signal temporal logic over steps of time: formulas, how they are written and read, and their robustness.

A formula compares named signals with constants (``speed > 30``) and joins such propositions by ``not``, ``and``,
``or``, ``->``, ``G[a,b]`` (at every step from a to b later), ``F[a,b]`` (at some such step) and ``U[a,b]``: in ``p
U[a,b] q``, q holds at some step from a to b later, and p at every step before that one. `parse_formula` reads
untrusted text, bounded in time; `robustness` says by how much a formula holds on traces, negative where it does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

MAX_PARTS = 100
MAX_NESTING = 30
# How tightly operators bind, from the loosest; all that is not listed binds most tightly.
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
# What surrounds formulas and their parts in Markdown and LaTeX, and says nothing.
_DECORATION = str.maketrans(dict.fromkeys('_{}\\$`*"', " "))


class UnreadableFormula(ValueError):
    """Text that is no formula, with one sentence on why."""


class Formula(NamedTuple):
    """A formula: its operator ("G", "F", "U", "not", "and", "or", "->", or ">" and "<" for propositions), the parts
    that it joins, the window of "G", "F" and "U", and the signal and the constant of a proposition."""

    operator: str
    parts: tuple[Formula, ...] = ()
    window: tuple[int, int] = (0, 0)
    signal: str = ""
    constant: float = 0.0

    def nodes(self) -> Iterator[Formula]:
        """The formula and all parts of parts."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    @property
    def size(self) -> int:
        """How many operators and propositions it has."""
        return 1 + sum(part.size for part in self.parts)

    @property
    def reach(self) -> int:
        """How many steps ahead it looks at most."""
        return self.window[1] + max((part.reach for part in self.parts), default=0)

    def __str__(self) -> str:
        binary = len(self.parts) > 1
        return self.format_with([f"({part})" if binary and len(part.parts) > 1 else str(part) for part in self.parts])

    def format_with(self, parts: Sequence[str]) -> str:
        """The formula written with these texts for its parts."""
        if not parts:
            return f"{self.signal} {self.operator} {self.constant:g}"
        window = f"[{self.window[0]},{self.window[1]}]" if self.operator in ("G", "F", "U") else ""
        if len(parts) > 1:
            return f" {self.operator}{window} ".join(parts)
        return f"{self.operator}{window}({parts[0]})" if window else f"not ({parts[0]})"


def parse_formula(text: str, signals: Sequence[str], farthest: int) -> Formula:
    """The formula in a text.

    Args:
        text: up to a few thousand characters.
        signals: the names that may occur, in small letters.
        farthest: how many steps ahead it may look.

    Raises:
        Unreadable: it is no such formula, or has more than `MAX_PARTS` parts.
    """
    formula = _FormulaParser(text, signals).formula()
    if formula.reach > farthest:
        raise UnreadableFormula(f"The formula looks {formula.reach} steps ahead; at most {farthest} are allowed.")
    return formula


class _FormulaParser:
    """A recursive-descent parser: one method for operators by how they bind, one for what they join."""

    def __init__(self, text: str, signals: Sequence[str]):
        self.signals = signals
        self.nesting = self.counted = 0
        # A window is a token of two numbers; all others are operators, names, numbers or single characters.
        self.tokens: list[str | tuple[int, int]] = []
        for first, last, word in _TOKEN.findall(text.lower().translate(_DECORATION).rstrip(" .")):
            self.tokens.append((int(first), int(last)) if first else _OPERATORS.get(word) or word)
        self.tokens.append("")
        self.place = 0

    def formula(self) -> Formula:
        formula = self.joined(0)
        if self.tokens[self.place] != "":
            raise self.expected_error("the end of the formula")
        return formula

    def joined(self, level: int) -> Formula:
        """A part in which no operator outside of parentheses binds more loosely than ``level`` says."""
        if level == len(_LEVELS):
            return self.single()
        operator, parts = _LEVELS[level], [self.joined(level + 1)]
        window = (0, 0)
        while self.tokens[self.place] == operator:
            self.advance()
            if operator == "U":
                window = self.window()
            parts.append(self.joined(level + 1))
            if operator == "U" and self.tokens[self.place] == "U":
                raise UnreadableFormula("Two U in a row need parentheses.")
        # Implications group from the right, all others from the left.
        if operator == "->":
            result = parts.pop()
            while parts:
                result = Formula(operator, (parts.pop(), result))
            return result
        result = parts[0]
        for part in parts[1:]:
            result = Formula(operator, (result, part), window)
        return result

    def single(self) -> Formula:
        token = self.tokens[self.place]
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise UnreadableFormula(f"The formula is nested more than {MAX_NESTING} deep.")
        if token == "(":
            self.place += 1
            result = self.joined(0)
            if self.tokens[self.place] != ")":
                raise self.expected_error('")"')
            self.place += 1
        elif token in ("not", "G", "F"):
            self.advance()
            window = (0, 0) if token == "not" else self.window()
            result = Formula(str(token), (self.single(),), window)
        else:
            result = self.proposition()
        self.nesting -= 1
        return result

    def advance(self) -> None:
        """Go on past an operator or the beginning of a proposition."""
        self.place += 1
        self.counted += 1
        if self.counted > MAX_PARTS:
            raise UnreadableFormula(f"The formula has more than {MAX_PARTS} operators and propositions.")

    def window(self) -> tuple[int, int]:
        window = self.tokens[self.place]
        if not isinstance(window, tuple):
            raise self.expected_error("a window such as [0,5]")
        if window[0] > window[1]:
            raise UnreadableFormula(f"The window [{window[0]},{window[1]}] ends before it begins.")
        self.place += 1
        return window

    def proposition(self) -> Formula:
        """``speed > 30`` or ``30 < speed``."""
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
    """By how much the formula holds at each step at which all that it looks at is known.

    Args:
        traces: an array of float[..., steps] for each signal, of the same shape.

    Returns:
        float[..., steps - reach]: for a proposition the distance to its constant, positive where it is true; minus that
        of its part for "not"; the least of the parts for "and" and over the window for "G", the greatest for "or" and
        "F". (Fainekos & Pappas, 2009.)
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
    """The best of the values from ``first`` to ``last`` steps later; best of 2, 4, 8 ... steps on the way."""
    width, span = last - first + 1, 1
    while span < width:
        shift = min(span, width - span)
        values = best(values[..., :-shift], values[..., shift:])
        span += shift
    return values[..., first:]


def sample_traces(
    rng: np.random.Generator, signals: Sequence[str], count: int, steps: int, high: float
) -> dict[str, np.ndarray]:
    """Traces that rest near a level from 0 to ``high`` for a while, one step or many, and leap to another one:
    float[count, steps] for each signal. No two values are equal, but by chance of a rounding."""
    shape = (len(signals), count, steps)
    rest = np.array([1, 3, 8, 20])[rng.integers(0, 4, (len(signals), count, 1))]
    spell = (rng.random(shape) * rest < 1).cumsum(axis=2) - 1
    levels = np.take_along_axis(rng.random(shape), np.maximum(spell, 0), axis=2) * high
    return dict(zip(signals, levels + rng.random(shape) * (high / 10)))
