"""palaestra/Sequences-v0: continue a number sequence that follows one of some stated rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .polynomials import nonzero_integer

# Every rule is a linear recurrence of order four at most: with E for the shift, (E - 1)^2 is "add", (E - 1)^2 (E + 1)^2
# "woven", (E - 1)(E - c) "affine", (E - 1)^3 "growing" and E^2 - cE - d "mixed". The difference of two sequences
# follows the least common multiple of both, which has order six at most; so where six terms of it are zero, all are.
SHOWN = 6
# The rules from the easiest to the hardest, in the words of the prompt.
_RULES = {
    "add": "each term is the previous one plus c",
    "woven": "the terms at odd places grow by c each time, those at even places by d",
    "affine": "each term is c times the previous one, plus d",
    "growing": "the step from one term to the next grows by c each time",
    "mixed": "each term is c times the previous one, plus d times the one before that",
}


class Sequences(Question):
    """Find a later term of a number sequence.

    Description:
        Six terms are shown. They follow one of the rules that the prompt states, with whole-number constants. All of
        these rules that fit six terms, whatever their constants, agree on every later term, so that there is one
        answer. The answer is none of the terms shown.

    Parameters:
        rules ("add", "woven", "affine", "growing", "mixed"): the rules that may occur: the one named and all listed
            before it. At least half of the tasks follow the one named. No easier rule than the one followed fits.
        size (20 to 1000, log-spaced, on request 5 to 1000000): the largest absolute value of first terms and steps.
        ahead (1 to 5, on request up to 20): the place of the answer, counted from the last shown term.

    Observation:
        Text such as ``A sequence begins 3, 7, 11, 15, 19, 23. In it each term is ... What is the next term?``

    Actions:
        Text with one integer, read in ``answer_format``.

    Reward:
        1 for the term, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Number-series tests; here the rules are stated, since some rule would fit any continuation.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("rules", tuple(_RULES)),
            IntAxis("size", 20, 1000, log=True, limits=(5, 1_000_000)),
            IntAxis("ahead", 1, 5, limits=(1, 20)),
        ]
    )
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        size, ahead = params["size"], params["ahead"]
        rules = tuple(_RULES)[: tuple(_RULES).index(params["rules"]) + 1]
        while True:
            first, *draws = rng.random(6).tolist()
            rule = rules[-1] if first < 0.5 else rules[int((2 * first - 1) * len(rules))]
            terms = _draw_sequence(rule, size, draws, SHOWN + ahead)
            # Skip sequences that repeat terms, as 1, 2, 1, -1, -2, -1, 1.
            if len(set(terms)) <= 3 or terms[0] == terms[1] or terms[-1] in terms[:SHOWN]:
                continue
            # No easier rule may fit.
            easier = rules[: rules.index(rule)]
            if not any(continue_sequence(name, terms[:SHOWN], ahead) for name in easier):
                break
        shown = ", ".join(map(str, terms[:SHOWN]))
        if len(rules) == 1:
            stated = f"In it {_RULES[rules[0]]}"
        else:
            stated = "It follows one of these rules: " + "; ".join(f"({i}) {_RULES[r]}" for i, r in enumerate(rules, 1))
        ask = "the next term" if ahead == 1 else f"term number {SHOWN + ahead}"
        return Task(
            f"A sequence begins {shown}. {stated}. Constants such as c are fixed whole numbers, possibly negative. "
            f"What is {ask}? Answer with an integer.",
            terms[-1],
            content=f"{shown} + {ahead}",
            data=(rule, terms),
        )

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the worked solution, in characters."""
        return float(sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List the constants of the rule, then one term per line."""
        rule, terms = task.data
        return [*_write_derivation(rule, terms), self.oracle(task)]


def continue_sequence(rule: str, shown: list[int], ahead: int) -> list[int]:
    """Return the next ``ahead`` terms if ``shown`` (five or more, the first two different) follows the rule with some
    whole constants, else an empty list."""
    constants = _fit_constants(rule, shown)
    if constants is None:
        return []
    terms = shown[:2]
    while len(terms) < len(shown) + ahead:
        terms.append(_next_term(rule, constants, terms))
    return terms[len(shown) :] if terms[: len(shown)] == shown else []


def _next_term(rule: str, constants: tuple[int, int], terms: list[int]) -> int:
    c, d = constants
    if rule == "add":
        return terms[-1] + c
    if rule == "affine":
        return c * terms[-1] + d
    if rule == "growing":
        return 2 * terms[-1] - terms[-2] + c
    if rule == "mixed":
        return c * terms[-1] + d * terms[-2]
    return terms[-2] + (c if len(terms) % 2 == 0 else d)


def _fit_constants(rule: str, t: list[int]) -> tuple[int, int] | None:
    """Return the only whole constants of the rule that may fit these terms (any of several equivalent ones), or None if
    the first terms have none. The later terms are not checked."""
    if rule == "add":
        return t[1] - t[0], 0
    if rule == "affine":
        c, rest = divmod(t[2] - t[1], t[1] - t[0])
        return None if rest else (c, t[1] - c * t[0])
    if rule == "growing":
        return t[2] - 2 * t[1] + t[0], 0
    if rule == "woven":
        return t[2] - t[0], t[3] - t[1]
    # t2 = c t1 + d t0 and t3 = c t2 + d t1, by Cramer's rule.
    determinant = t[1] * t[1] - t[0] * t[2]
    if determinant == 0:
        # The terms form a geometric sequence, and any constants that fit continue it.
        return (t[1] // t[0], 0) if t[0] and t[1] % t[0] == 0 else None
    c, rest = divmod(t[2] * t[1] - t[0] * t[3], determinant)
    d, other = divmod(t[1] * t[3] - t[2] * t[2], determinant)
    return None if rest or other else (c, d)


def _draw_sequence(rule: str, size: int, draws: list[float], length: int) -> list[int]:
    """Draw a sequence that follows the rule with random constants."""
    first, second, c, d = (nonzero_integer(u, size) for u in draws[:4])
    small = 2 + int(draws[4] * 3)
    if rule == "affine":
        # Half of the multipliers are negative; the first term is small, as the others grow fast.
        constants = (small if d > 0 else -small, c)
        terms = [first % 20 + 1, 0]
        terms[1] = _next_term(rule, constants, terms[:1])
    elif rule == "mixed":
        constants = (1 + abs(c) % 3, 1 + abs(d) % 2 if d > 0 else -1 - abs(d) % 2)
        terms = [first, second]
    elif rule == "woven":
        constants, terms = (c, d), [first, second]
    else:
        constants, terms = (c, 0), [first, first + (second if rule == "growing" else c)]
    while len(terms) < length:
        terms.append(_next_term(rule, constants, terms))
    return terms


def _write_derivation(rule: str, t: list[int]) -> list[str]:
    """Write the constants as found from the first terms, then each term after those shown."""
    c, d = _fit_constants(rule, t) or (0, 0)
    determinant = t[1] * t[1] - t[0] * t[2]
    found, later = {
        "add": ([f"{t[1]} - {_wrap(t[0])} = {c}"], lambda i: f"{t[i - 1]} + {_wrap(c)} = {t[i]}"),
        "affine": (
            [
                f"({t[2]} - {_wrap(t[1])}) / ({t[1]} - {_wrap(t[0])}) = {t[2] - t[1]} / {_wrap(t[1] - t[0])} = {c}",
                f"{t[1]} - {_wrap(c)} * {_wrap(t[0])} = {d}",
            ],
            lambda i: f"{c} * {_wrap(t[i - 1])} + {_wrap(d)} = {t[i]}",
        ),
        "growing": (
            [f"{t[i]} - {_wrap(t[i - 1])} = {t[i] - t[i - 1]}" for i in (1, 2, SHOWN - 1)]
            + [f"{t[2] - t[1]} - {_wrap(t[1] - t[0])} = {c}"],
            lambda i: f"{t[i - 1]} + {_wrap(t[i - 1] - t[i - 2])} + {_wrap(c)} = {t[i]}",
        ),
        "mixed": (
            [
                f"{t[1]} * {_wrap(t[1])} - {_wrap(t[0])} * {_wrap(t[2])} = {determinant}",
                f"({t[1]} * {_wrap(t[2])} - {_wrap(t[0])} * {_wrap(t[3])}) / {_wrap(determinant)} = {c}",
                f"({t[1]} * {_wrap(t[3])} - {_wrap(t[2])} * {_wrap(t[2])}) / {_wrap(determinant)} = {d}",
            ],
            lambda i: f"{c} * {_wrap(t[i - 1])} + {_wrap(d)} * {_wrap(t[i - 2])} = {t[i]}",
        ),
        "woven": (
            [f"{t[2]} - {_wrap(t[0])} = {c}", f"{t[3]} - {_wrap(t[1])} = {d}"],
            lambda i: f"{t[i - 2]} + {_wrap((c, d)[i % 2])} = {t[i]}",
        ),
    }[rule]
    return [*found, *map(later, range(SHOWN, len(t)))]


def _wrap(number: int) -> str:
    """Return ``number`` as written after an operator: in parentheses if it is negative."""
    return str(number) if number >= 0 else f"({number})"


register("palaestra/Sequences-v0", f"{__name__}:Sequences")
