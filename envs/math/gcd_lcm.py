"""palaestra/GcdLcm-v0: the greatest common divisor or the least common multiple of some numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register


class GcdLcm(Question):
    """Find a greatest common divisor or a least common multiple.

    Description:
        The numbers share a divisor of at least 11 (at least 2 if ``largest`` is below 600), and the answer is none of
        them.

    Parameters:
        largest (100 to 1000000, log-spaced, on request 50 to 1000000000000): the largest number that may be given.
        count (2 to 4, on request up to 8): number of numbers.
        ask ("gcd", "lcm"): the greatest common divisor or the least common multiple is asked for.

    Observation:
        Text such as ``What is the greatest common divisor of 252 and 144? Answer with an integer.``

    Actions:
        Text with one integer, read in ``answer_format``.

    Reward:
        1 for the exact value, 0 otherwise. The commonest divisor, 20, is right by chance in 0.08 of the easiest tasks.

    Termination:
        After the first answer.

    Source:
        Euclid's Elements, book VII; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("largest", 100, 1_000_000, log=True, limits=(50, 10**12)),
            IntAxis("count", 2, 4, limits=(2, 8)),
            ChoiceAxis("ask", ("gcd", "lcm")),
        ]
    )
    verifier = "integer"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        largest, count, ask = params["largest"], params["count"], params["ask"]
        while True:
            first, *rest = rng.random(count + 1).tolist()
            # Both the shared divisor and the cofactors grow with the numbers: for numbers up to 600 the divisor is at
            # most 106 and the cofactor range at least 5, for numbers up to a million 4330 and 230.
            least = min(11, max(2, int(0.45 * math.sqrt(largest))))
            shared = least + int(first * (min(4.33 * math.sqrt(largest), largest / max(5, 2 * count)) - least + 1))
            numbers = [shared * (2 + int(u * (largest // shared - 1))) for u in rest]
            answer = math.gcd(*numbers) if ask == "gcd" else math.lcm(*numbers)
            if len(set(numbers)) == count and answer not in numbers:
                break
        name = "greatest common divisor" if ask == "gcd" else "least common multiple"
        given = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
        return Task(
            f"What is the {name} of {given}? Answer with an integer.",
            answer,
            content=f"{ask} {sorted(numbers)}",
            data=(ask, numbers),
        )

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the worked solution, in characters."""
        return float(sum(map(len, self.solution_steps(episode))))

    def criteria(self, task: Task) -> list[str]:
        ask, numbers = task.data
        whole = "It divides all of the numbers." if ask == "gcd" else "All of the numbers divide it."
        return [
            "Two numbers are divided with remainder, then the divisor by the remainder, until nothing remains.",
            *(f"Then the result and {number} are taken in the same way." for number in numbers[2:]),
            f"The answer is a whole number. {whole}",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the divisions of Euclid's algorithm for the first two numbers, then for the result and the next one."""
        ask, numbers = task.data
        lines, value = [], numbers[0]
        for number in numbers[1:]:
            divisor = math.gcd(value, number)
            lines += [*euclid_steps(value, number), f"gcd({value}, {number}) = {divisor}"]
            if ask == "lcm":
                multiple = math.lcm(value, number)
                lines.append(f"lcm({value}, {number}) = {value} / {divisor} * {number} = {multiple}")
            value = divisor if ask == "gcd" else multiple
        return [*lines, self.oracle(task)]


def euclid_steps(a: int, b: int) -> list[str]:
    """Return the divisions of Euclid's algorithm, one per line."""
    lines, big, small = [], max(a, b), min(a, b)
    while small:
        lines.append(f"{big} = {big // small} * {small} + {big % small}")
        big, small = small, big % small
    return lines


register("palaestra/GcdLcm-v0", f"{__name__}:GcdLcm")
