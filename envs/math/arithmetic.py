"""palaestra/Arithmetic-v0: whole-number arithmetic with the usual precedence."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .precedence import evaluate_in_order, format_expression, format_long_product, order_free_key


class Arithmetic(Question):
    """Compute an expression of whole numbers.

    Description:
        Numbers joined by +, - and *, no parentheses; products bind first, the rest goes from left to right. Longer
        sums are not learned from shorter ones: the tiny model of ``palaestra bench ladders Arithmetic``, trained on
        solutions with 2 and 3 terms, solves 76 % of the tasks with 3 terms and none with 4.

    Parameters:
        terms (2 to 6, on request up to 20): number of numbers.
        digits (1 to 6, on request up to 15): the most digits of a number. Each number's length is drawn from 1 to
            ``digits``, and one number has exactly ``digits``.
        operations ("+", "+-", "+-*"): the operators that may occur; the last one listed occurs at least once.

    Observation:
        Text such as ``What is 17 + 25 - 3? Answer with an integer only.``; with ``prompt="terse"``, for models that
        read text character by character, ``17 + 25 - 3 = ? (integer)``.

    Actions:
        Text with one integer, read in ``answer_format``.

    Reward:
        1 for the exact value, 0 otherwise. In the easiest tasks, sums of two digits, always answering 10, the commonest
        value, is right in 0.15 of the training split by chance.

    Termination:
        After the first answer.

    Source:
        Column arithmetic as in the usual length-generalisation studies; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("terms", 2, 6, limits=(2, 20)),
            IntAxis("digits", 1, 6, limits=(1, 15)),
            ChoiceAxis("operations", ("+", "+-", "+-*")),
        ]
    )
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        terms, digits, operations = params["terms"], params["digits"], params["operations"]
        draws = rng.random(3 * terms + 1).tolist()
        # All lengths up to `digits` are equally likely, so that long and short numbers are mixed; one has full length.
        longest = int(draws[-1] * terms)
        numbers = [
            _draw_number(digits if i == longest else 1 + int(draws[i] * digits), draws[terms + i]) for i in range(terms)
        ]
        operators = [operations[int(u * len(operations))] for u in draws[2 * terms : 3 * terms - 1]]
        operators[int(draws[3 * terms - 1] * (terms - 1))] = operations[-1]
        expression = format_expression(list(map(str, numbers)), operators)
        data = (numbers, operators)
        return Task(
            f"What is {expression}? Answer with an integer only.",
            _evaluate(numbers, operators),
            content=expression,
            split_key=order_free_key(numbers, operators),
            data=data,
            terse=f"{expression} = ? (integer)",
        )

    def solution_steps(self, task: Task) -> list[str]:
        """List one operation per line, products digit by digit."""
        numbers, operators = task.data
        done = evaluate_in_order(numbers, operators, lambda a, operator, b: _evaluate([a, b], [operator]))
        lines = [format_long_product(a, b) if o == "*" else f"{a} {o} {b} = {value}" for a, o, b, value in done]
        return [*lines, self.oracle(task)]


def _draw_number(length: int, u: float) -> int:
    """Return a number of exactly ``length`` digits, never zero, from ``u`` in [0, 1)."""
    low = 10 ** (length - 1)
    return low + int(u * (10**length - low))


def _evaluate(numbers: list[int], operators: list[str]) -> int:
    total, product = 0, numbers[0]
    for operator, number in zip(operators, numbers[1:]):
        if operator == "*":
            product *= number
        else:
            total += product
            product = number if operator == "+" else -number
    return total + product


register("palaestra/Arithmetic-v0", f"{__name__}:Arithmetic")
