"""Ways to spoil a worked solution, so that it is known which line is wrong, and why.

A flaw is planted in a line that is an equation of plain numbers (or of x, where the answer is x) and true; the spoilt
line must be false, or the spoilt solution must end in an answer that the family's verifier refuses. Otherwise the flaw
is dropped. A flaw may be *carried on*: later lines are computed again with the wrong result.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards.answers.equalities import equality_holds, evaluate
from ...rewards.answers.numbers import read_number
from ..question import Question, Task
from ..transforms.multiple_choice import is_usable, near_misses

MAX_DRAWS = 12
# Decimal places up to which a result is written in decimals.
MAX_PLACES = 9
_PLAIN = r"[0-9]+(?:\.[0-9]+)?"
# A number with its sign, in parentheses or without, that does not belong to a longer word.
_TERM = re.compile(rf"\(-{_PLAIN}\)|(?<![\w.)])-?{_PLAIN}(?![.]?[0-9])")
_WHOLE = re.compile(rf"-?{_PLAIN}")


@dataclass(frozen=True, slots=True)
class Worked:
    """A solution: the lines of its working, and its answer."""

    steps: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """A spoilt solution.

    Args:
        kind: name of the flaw, one in `FLAWS`.
        solution: the spoilt solution.
        line: index of the first wrong line; the number of lines of working stands for the answer.
    """

    kind: str
    solution: Worked
    line: int

    @property
    def place(self) -> str:
        """The first wrong line in words: "line 2" or "answer"."""
        return "answer" if self.line == len(self.solution.steps) else f"line {self.line + 1}"


@dataclass(frozen=True)
class SolvedTask:
    """A question with its right solution, from which spoilt ones are made.

    Args:
        family: the question's family.
        task: the task.
        params: the parameters from which other tasks of the kind are drawn.
    """

    family: Question
    task: Task
    params: Mapping[str, Any]

    @functools.cached_property
    def worked(self) -> Worked:
        *steps, answer = self.family.solution_steps(self.task)
        return Worked(tuple(steps), answer)

    @functools.cached_property
    def x(self) -> Fraction | None:
        """The answer as a number, which is the value of x in the lines of an equation in x."""
        return read_number(self.worked.answer)

    @property
    def key(self) -> str:
        """The key that decides the split of the question."""
        return self.family.split_key(self.task) or self.family.content_of(self.task)

    def refuses(self, answer: str) -> bool:
        """Return True if the family's verifier can judge ``answer`` and finds it wrong."""
        verdict = self.family.verify(self.task, answer)
        return verdict.valid and not verdict.success

    @functools.cached_property
    def checked_lines(self) -> list[int]:
        """The indices of the lines that are equations known to be true."""
        return [n for n, step in enumerate(self.worked.steps) if equality_holds(step, x=self.x) is True]


def write_number(value: Fraction) -> str | None:
    """Write a whole number or a short decimal; None for any other number."""
    places = next((n for n in range(MAX_PLACES + 1) if (value * 10**n).denominator == 1), None)
    if places is None:
        return None
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    text = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
    return f"-{text}" if value < 0 else text


def replace_numbers(side: str, changed: Mapping[Fraction, Fraction]) -> str | None:
    """Replace numbers in one side of an equation; None if a new number cannot be written (see `write_number`)."""
    out, place = "", 0
    for match in _TERM.finditer(side):
        old = Fraction(match[0].strip("()"))
        if old in changed:
            text = write_number(changed[old])
            if text is None:
                return None
            new = f"({text})" if text.startswith("-") and side[: match.start()].strip() else text
            out, place = out + side[place : match.start()] + new, match.end()
    return out + side[place:]


def carry_on(
    steps: Sequence[str], answer: str, changed: dict[Fraction, Fraction], last: Fraction | None
) -> Worked | None:
    """Compute the lines after a flaw again, and the answer.

    Args:
        steps: the lines after the spoilt one.
        answer: the right answer.
        changed: right result -> wrong result, extended by the results of the lines.
        last: the wrong result of the spoilt line.

    Returns:
        the new lines with the new answer; None if the answer is not the result of the last line, or not changed.
    """
    lines = []
    for step in steps:
        sides = step.split(" = ")
        new = [replace_numbers(side, changed) for side in sides]
        if None in new:
            return None
        found = evaluate(new[0] or "")
        if len(sides) == 2 and _WHOLE.fullmatch(sides[1]) and found is not None:
            changed[Fraction(sides[1])] = found
            new[1] = write_number(found)
            if new[1] is None:
                return None
        lines.append(" = ".join(map(str, new)))
        last = evaluate(str(new[-1]))
    value = read_number(answer)
    if value is None or last is None:
        return None
    text = write_number(last)
    return None if text is None or last == value else Worked(tuple(lines), text)


# Slips: a number -> a wrong one.


def _flip_sign(value: Fraction, rng: np.random.Generator) -> Fraction:
    return -value


def _miss_by_one(value: Fraction, rng: np.random.Generator) -> Fraction:
    return value + (1 if rng.random() < 0.5 else -1)


def _take_other_unit(value: Fraction, rng: np.random.Generator) -> Fraction:
    factor = Fraction((10, 60, 100, 1000)[int(rng.integers(4))])
    return value / factor if rng.random() < 0.5 and write_number(value / factor) else value * factor


def _swap_digits(value: Fraction, rng: np.random.Generator) -> Fraction:
    text = write_number(value) or ""
    spots = [n for n, (a, b) in enumerate(itertools.pairwise(text)) if a.isdigit() and b.isdigit() and a != b]
    if not spots:
        return value
    n = spots[int(rng.integers(len(spots)))]
    return Fraction(text[:n] + text[n + 1] + text[n] + text[n + 2 :])


Slip = Callable[[Fraction, np.random.Generator], Fraction]
SLIPS: Mapping[str, Slip] = {
    "wrong sign": _flip_sign,
    "off by one": _miss_by_one,
    "wrong unit": _take_other_unit,
    "swapped digits": _swap_digits,
}
"""Slip -> function from a result to a wrong one; the same number if the slip is impossible. A wrong unit is a factor of
10, 60, 100 or 1000."""


def spoil_result(
    source: SolvedTask, rng: np.random.Generator, slip: str, carried: bool, line: int | None
) -> Flaw | None:
    """Make a slip in the result of a line. Without carrying on, the answer stays right and the working is wrong.

    Args:
        slip: a name in `SLIPS`.
        carried: compute later lines and the answer again.
        line: index of the line; None to draw one.
    """
    worked, checked = source.worked, source.checked_lines
    if line is None and checked:
        line = checked[int(rng.integers(len(checked)))]
    if line is None or line not in checked:
        return None
    *front, last = worked.steps[line].split(" = ")
    terms = [*_TERM.finditer(last)]
    if not front or not terms or (carried and not _WHOLE.fullmatch(last)):
        return None
    term = terms[int(rng.integers(len(terms)))]
    old = Fraction(term[0].strip("()"))
    text = write_number(SLIPS[slip](old, rng))
    if text is None:
        return None
    new = Fraction(text)
    shown = f"({text})" if text.startswith("-") and last[: term.start()].strip() else text
    spoilt = " = ".join([*front, last[: term.start()] + shown + last[term.end() :]])
    if equality_holds(spoilt, x=source.x) is not False:
        return None
    if not carried:
        steps = (*worked.steps[:line], spoilt, *worked.steps[line + 1 :])
        return Flaw(f"right answer, {slip}", Worked(steps, worked.answer), line)
    return _finish(source, slip, line, spoilt, {old: new}, new)


def _finish(
    source: SolvedTask, kind: str, line: int, spoilt: str, changed: dict[Fraction, Fraction], new: Fraction
) -> Flaw | None:
    """Carry a spoilt line on; None unless the verifier refuses the answer to which it leads."""
    worked = source.worked
    rest = carry_on(worked.steps[line + 1 :], worked.answer, changed, new)
    if rest is None or not source.refuses(rest.answer):
        return None
    return Flaw(kind, Worked((*worked.steps[:line], spoilt, *rest.steps), rest.answer), line)


def spoil_premise(source: SolvedTask, rng: np.random.Generator, kind: str, line: int | None) -> Flaw | None:
    """Compute rightly from a wrong line: another operator ("wrong operator") or another number ("misread number") on
    the left of an equation. Every line is then a true equation, but this one is not what the question asks for."""
    worked, checked = source.worked, source.checked_lines
    fitting = [n for n in checked if (sides := worked.steps[n].split(" = "))[1:] and _WHOLE.fullmatch(sides[1])]
    fitting = [n for n in fitting if len(worked.steps[n].split(" = ")) == 2]
    if line is None and fitting:
        line = fitting[int(rng.integers(len(fitting)))]
    if line is None or line not in fitting:
        return None
    left, right = worked.steps[line].split(" = ")
    if kind == "wrong operator":
        spots = [*re.finditer(r" [-+*/] ", left)]
        if not spots:
            return None
        spot = spots[int(rng.integers(len(spots)))]
        other = {" + ": " - ", " - ": " + ", " * ": " + ", " / ": " * "}[spot[0]]
    else:
        spots = [term for term in _TERM.finditer(left) if abs(Fraction(term[0].strip("()"))) >= 2]
        if not spots:
            return None
        spot = spots[int(rng.integers(len(spots)))]
        old = Fraction(spot[0].strip("()"))
        other = write_number((_miss_by_one, _swap_digits)[int(rng.integers(2))](old, rng)) or ""
        other = f"({other})" if spot[0].startswith("(") else other
    changed = left[: spot.start()] + other + left[spot.end() :]
    value = evaluate(changed)
    if value is None or value == Fraction(right) or (text := write_number(value)) is None:
        return None
    return _finish(source, kind, line, f"{changed} = {text}", {Fraction(right): value}, value)


def stop_early(source: SolvedTask, rng: np.random.Generator) -> Flaw | None:
    """Leave out the last lines and take the result so far as the answer."""
    worked = source.worked
    if len(worked.steps) < 2:
        return None
    kept = worked.steps[: int(rng.integers(1, len(worked.steps)))]
    value = evaluate(kept[-1].split(" = ")[-1])
    answer = None if value is None else write_number(value)
    if answer is None or not source.refuses(answer):
        return None
    return Flaw("skipped steps", Worked(kept, answer), len(kept))


def go_too_far(source: SolvedTask, rng: np.random.Generator) -> Flaw | None:
    """Go on after the answer: add or subtract a number that stands in the solution, and take that for the answer. As
    frequent as `stop_early`, so that neither the longer nor the shorter working is more often right."""
    worked = source.worked
    value = read_number(worked.answer)
    terms = [term[0] for step in worked.steps for term in _TERM.finditer(step)]
    if value is None or not terms or (text := write_number(value)) is None:
        return None
    term = terms[int(rng.integers(len(terms)))]
    left = f"{text} {'+-'[int(rng.integers(2))]} {f'({term})' if term.startswith('-') else term}"
    result = evaluate(left)
    answer = None if result is None else write_number(result)
    if answer is None or not source.refuses(answer):
        return None
    return Flaw("extra step", Worked((*worked.steps, f"{left} = {answer}"), answer), len(worked.steps))


def take_other_task(source: SolvedTask, rng: np.random.Generator) -> Flaw | None:
    """Give the solution to another question of the family: fluent, and nothing to do with this one."""
    other = SolvedTask(source.family, source.family.generate(rng, dict(source.params)), source.params).worked
    if other.steps == source.worked.steps or not source.refuses(other.answer):
        return None
    return Flaw("another question", other, 0)


def spoil_answer(source: SolvedTask, rng: np.random.Generator) -> Flaw | None:
    """Follow right working by a wrong answer, which differs from the right one in little."""
    worked = source.worked
    for answer in near_misses(worked.answer, rng.random(24).tolist()):
        if is_usable(answer) and source.refuses(answer):
            return Flaw("wrong answer", Worked(worked.steps, answer), len(worked.steps))
    return None


def _result(slip: str, carried: bool) -> Callable[[SolvedTask, np.random.Generator], Flaw | None]:
    return lambda source, rng: spoil_result(source, rng, slip, carried, None)


def _premise(kind: str) -> Callable[[SolvedTask, np.random.Generator], Flaw | None]:
    return lambda source, rng: spoil_premise(source, rng, kind, None)


FLAWS: Mapping[str, Mapping[str, Callable[[SolvedTask, np.random.Generator], Flaw | None]]] = {
    "blatant": {
        "skipped steps": stop_early,
        "extra step": go_too_far,
        "another question": take_other_task,
        "wrong answer": spoil_answer,
        "wrong unit": _result("wrong unit", carried=True),
    },
    "slip": {slip: _result(slip, carried=True) for slip in ("wrong sign", "off by one", "swapped digits")},
    "subtle": {
        **{f"right answer, {slip}": _result(slip, carried=False) for slip in SLIPS},
        **{kind: _premise(kind) for kind in ("wrong operator", "misread number")},
    },
}
"""Difficulty of seeing a flaw -> kind of flaw -> function that plants it. Each of the "slip" kind is wrong in one line,
and from there on; a "subtle" one has the right answer after a wrong line, or only true equations."""

ANY_FAMILY = ("another question", "wrong answer")
"""Kinds that need no equations."""


def draw_flaw(source: SolvedTask, rng: np.random.Generator, error: str) -> Flaw | None:
    """Spoil a solution.

    Args:
        source: the question.
        error: "blatant", "slip" or "subtle". A solution that cannot have such a flaw has one of `ANY_FAMILY`.

    Returns:
        the flaw; None if there is none for this question.
    """
    plain = {kind: FLAWS["blatant"][kind] for kind in ANY_FAMILY}
    for kinds in (*([FLAWS[error]] if source.checked_lines else []), plain):
        names = [*kinds]
        for _ in range(MAX_DRAWS):
            flaw = kinds[names[int(rng.integers(len(names)))]](source, rng)
            if flaw is not None:
                return flaw
    return None
