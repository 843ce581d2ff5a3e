"""palaestra/ModularArithmetic-v0: sums, products, powers and inverses modulo n."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...rewards import Verdict
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .gcd_lcm import euclid_steps
from .precedence import evaluate_in_order, format_expression, order_free_key

# An operand: its text, its residue, and the base and exponent of a power (an exponent of -1 is the inverse).
Operand = tuple[str, int, int, int]


class ModularArithmetic(Question):
    """Compute an expression modulo n.

    Description:
        Whole numbers, powers and inverses joined by +, - and *, with the usual precedence, taken modulo n. inv(a) is
        the number from 1 to n - 1 with a * inv(a) = 1 modulo n; it exists in every task. With powers and inverses
        reduced modulo n, the value of the expression still lies outside 0 to n - 1; the answer is never 0 or 1.

    Parameters:
        modulus (100 to 10000, log-spaced, on request 10 to 1000000000): the largest n; n is more than half of it.
        terms (2 to 5, on request up to 12): number of operands.
        operations ("sums", "products", "inverses", "powers"): the kinds of operations that may occur: the one named,
            at least once, and all listed before it.

    Observation:
        Text such as ``What is (17 * 58 - 23) mod 97? Answer with an integer from 0 to 96.``; with ``prompt="terse"``,
        ``(17 * 58 - 23) mod 97 = ? Answer ...``.

    Actions:
        Text with one integer, read in ``answer_format``.

    Reward:
        1 for the residue from 0 to n - 1, 0 otherwise (also for another number of the same residue).

    Termination:
        After the first answer.

    Source:
        Elementary number theory; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("modulus", 100, 10000, log=True, limits=(10, 10**9)),
            IntAxis("terms", 2, 5, limits=(2, 12)),
            ChoiceAxis("operations", ("sums", "products", "inverses", "powers")),
        ]
    )
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        terms, kind = params["terms"], params["operations"]
        while True:
            draws = rng.random(4 * terms + 2).tolist()
            most = params["modulus"]
            n = most // 2 + 1 + int(draws[-1] * (most - most // 2))
            chosen = int(draws[-2] * terms)
            operands = [_draw_operand(kind, i == chosen, n, *draws[3 * i : 3 * i + 3]) for i in range(terms)]
            common = "+-" if kind == "sums" else "+-*"
            operators = [common[int(u * len(common))] for u in draws[3 * terms : 4 * terms - 1]]
            if kind == "products":
                operators[int(draws[4 * terms - 1] * (terms - 1))] = "*"
            value = evaluate_in_order([operand[1] for operand in operands], operators, _apply)[-1][3]
            answer = value % n
            if answer > 1 and answer != value:
                break
        expression = f"({format_expression([operand[0] for operand in operands], operators)}) mod {n}"
        request = f"Answer with an integer from 0 to {n - 1}."
        if "inv" in expression:
            request += f" inv(a) is the number from 1 to {n - 1} with a * inv(a) = 1 modulo {n}."
        key = f"{order_free_key([operand[0] for operand in operands], operators)} mod {n}"
        prompt, terse = f"What is {expression}? {request}", f"{expression} = ? {request}"
        return Task(prompt, answer, content=expression, split_key=key, data=(operands, operators, n), terse=terse)

    def verify(self, task: Task, answer: str) -> Verdict:
        # The modulus may follow the residue.
        text, n = answer.rstrip(" .$*"), task.data[2]
        for modulus in (f"(mod {n})", f"mod {n}", f"\\pmod{{{n}}}", f"\\bmod {n}", f"\\mod {n}"):
            text = text.removesuffix(modulus).rstrip()
        return super().verify(task, text or answer)

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the worked solution, in characters."""
        return float(sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List powers by repeated squaring, inverses by Euclid's algorithm, then the operations, each reduced."""
        operands, operators, n = task.data
        lines = []
        for text, value, base, exponent in operands:
            if exponent < 0:
                lines += [
                    *euclid_steps(base, n),
                    f"{text} = {value}, as {base} * {value} = {base * value // n} * {n} + 1",
                ]
            elif exponent > 1:
                # The binary digits of the exponent from the left: 7^2 = 7^2 = 49, 7^5 = 49^2 * 7 = 26 (mod 97).
                power, rest = 1, base
                for digit in f"{exponent:b}"[1:]:
                    odd = digit == "1"
                    plain = rest * rest * (base if odd else 1)
                    power = 2 * power + odd
                    lines.append(f"{base}^{power} = {rest}^2{f' * {base}' * odd} = {plain} = {plain % n} (mod {n})")
                    rest = plain % n
        residues = [operand[1] for operand in operands]
        for a, operator, b, _ in evaluate_in_order(residues, operators, lambda a, o, b: _apply(a, o, b) % n):
            plain = _apply(a, operator, b)
            reduced = "" if 0 <= plain < n else f" = {plain % n} (mod {n})"
            lines.append(f"{a} {operator} {b} = {plain}{reduced}")
        return [*lines, self.oracle(task)]


def _draw_operand(kind: str, hardest: bool, n: int, which: float, u: float, v: float) -> Operand:
    base = 2 + int(u * (n - 2))
    # All allowed kinds are equally likely, except that the chosen operand is of the hardest kind.
    kinds = {"inverses": ("plain", "inverses"), "powers": ("plain", "inverses", "powers")}.get(kind, ("plain",))
    own = kinds[-1] if hardest else kinds[int(which * len(kinds))]
    if own == "powers":
        exponent = 3 + int(v * (n // 2))
        return f"{base}^{exponent}", pow(base, exponent, n), base, exponent
    if own == "inverses":
        while math.gcd(base, n) > 1:
            base = base + 1 if base < n - 1 else 2
        value = pow(base, -1, n)
        return f"inv({base})", value, base, -1
    return str(base), base, base, 1


def _apply(a: int, operator: str, b: int) -> int:
    if operator == "*":
        return a * b
    return a + b if operator == "+" else a - b


register("palaestra/ModularArithmetic-v0", f"{__name__}:ModularArithmetic")
