"""palaestra/LinearEquation-v0: one linear equation in one unknown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .polynomials import nonzero_integer


class LinearEquation(Question):
    """Solve a linear equation for x.

    Description:
        ``a x + b = c``, or ``a x + b = c x + d`` with x on both sides; always exactly one solution. The tiny model of
        ``palaestra bench ladders LinearEquation``, trained on solutions of sizes 3 to 10 (x on one side, integers),
        solves 45 % of size 10, 34 % of 12 (72 % of groups of 16 have mixed outcomes), 23 % of 14, 12 % of 18 and hardly
        any from 25.

    Parameters:
        size (5 to 50, on request 3 to 10000): largest absolute value of a coefficient of x, and of the constant b.
        sides ("one", "both"): x occurs on one side of the equation, or on both.
        solution ("integer", "fraction"): the kind of the solution; an integer lies between -size and size.

    Observation:
        Text such as ``Solve 3x + 4 = 19. Answer with an integer.``

    Actions:
        Text with one number (``5``, ``-7/3``, ``2.5``), read in ``answer_format``.

    Reward:
        1 for the exact solution, 0 otherwise. In the easiest tasks, whose solutions lie between -5 and 5, always giving
        the same answer is right in 0.115 of the cases by chance.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("size", 5, 50, limits=(3, 10_000)),
            ChoiceAxis("sides", ("one", "both")),
            ChoiceAxis("solution", ("integer", "fraction")),
        ]
    )
    verifier = "number"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        size, both, fraction = params["size"], params["sides"] == "both", params["solution"] == "fraction"
        while True:
            a, b, c, x, rest = (nonzero_integer(u, size) for u in rng.random(5).tolist())
            c = c if both else 0
            slope = a - c
            # Skip slopes of 1 and -1, which need no division.
            if abs(slope) < 2:
                continue
            if not fraction:
                gap, solution = slope * x, Fraction(x)
            elif rest % slope:
                gap, solution = rest, Fraction(rest, slope)
            else:
                continue
            sides = _format_side(a, b), _format_side(c, b + gap)
            equation = " = ".join(sides)
            form = "a fraction p/q" if fraction else "an integer"
            return Task(
                f"Solve {equation}. Answer with {form}.",
                str(solution),
                content=equation,
                split_key=" = ".join(sorted(sides)),
                data=(a, b, c, b + gap),
            )

    def solution_steps(self, task: Task) -> list[str]:
        """List equations with the same solution, each simpler than the one before."""
        a, b, c, d = task.data
        slope, gap = a - c, d - b
        lines = [f"{_format_side(slope, b)} = {d}"] if c else []
        lines += [f"{_format_side(slope, 0)} = {gap}", f"x = {gap} / {slope if slope > 0 else f'({slope})'}"]
        return [*lines, self.oracle(task)]


def _format_side(slope: int, constant: int) -> str:
    """Write one side of an equation: ``3x + 4``, ``-x - 4``, ``3x`` or ``4``."""
    if not slope:
        return str(constant)
    x = {1: "x", -1: "-x"}.get(slope, f"{slope}x")
    return x if not constant else f"{x} {'+' if constant > 0 else '-'} {abs(constant)}"


register("palaestra/LinearEquation-v0", f"{__name__}:LinearEquation")
