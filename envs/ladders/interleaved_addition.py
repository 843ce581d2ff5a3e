"""palaestra/InterleavedAddition-v0: addition of numbers whose digits stand in pairs, place by place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import check_count
from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..induction.list_functions import read_numbers
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register


class InterleavedAddition(Question):
    """Add two numbers whose digits stand in pairs, the lowest place first.

    Description:
        All tasks show at least ``width`` places (constructor, a whole number, default 8), with zeros above the digits
        of the numbers. So the digits of any place stand at the same distance from their digit in the answer, and
        practice on low places may help on the next one. After 420 steps on solutions of 1 to 3 places, too few to learn
        them, the tiny model of ``palaestra bench ladders InterleavedAddition`` solves 2.8 % of 3 places (25 % of groups
        of 16 with mixed outcomes), 0.9 % of 4 (8 %) and none of 5; the command itself goes on to 70 % of success.

    Parameters:
        places (3 to 7, on request 1 to 40): digits of the larger number, the rung of the ladder.
        base (4 to 10, on request 2 to 10): the base in which the numbers are written.

    Observation:
        Text such as ``Add two numbers in base 10. Each pair has a digit of either, the lowest place first: 86 52 30 00.
        Answer with the digits of the sum in the same order, separated by commas.``, that is 358 + 26 with one more
        place; with ``prompt="terse"``, ``Add in base 10, digit pairs lowest first, with commas: 86 52 30 00``.

    Actions:
        Text with as many digits as there are pairs, ``4, 8, 3, 0`` (commas or spaces, with or without brackets), read
        in ``answer_format``.

    Reward:
        1 if all digits are right, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Digits in the order in which they are computed help small transformers to add: Lee et al., "Teaching arithmetic
        to small transformers", arXiv 2307.03381. Generated here.
    """

    answer_form = "values"
    param_space = ParamSpace([IntAxis("places", 3, 7, limits=(1, 40)), IntAxis("base", 4, 10, limits=(2, 10))])

    def __init__(self, *, width: int = 8, **kwargs: Any):
        super().__init__(**kwargs)
        self.width = check_count("width", width, low=1)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        places, base = params["places"], params["base"]
        pairs = rng.integers(0, base, (places, 2)).tolist()
        if not any(pairs[-1]):
            pairs[-1] = [1, 0]
        pairs += [[0, 0]] * (max(self.width, places + 1) - places)
        text = " ".join(f"{a}{b}" for a, b in pairs)
        digits, carry = [], 0
        for a, b in pairs:
            carry, digit = divmod(a + b + carry, base)
            digits.append(digit)
        return Task(
            f"Add two numbers in base {base}. Each pair has a digit of either, the lowest place first: {text}. "
            "Answer with the digits of the sum in the same order, separated by commas.",
            digits,
            solution=", ".join(map(str, digits)),
            content=f"{text} base {base}",
            # Either number may have either digit of a place: the sum is the same.
            split_key=f"{[sorted(pair) for pair in pairs[:places]]} base {base}",
            data=(pairs, base),
            terse=f"Add in base {base}, digit pairs lowest first, with commas: {text}",
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        numbers, gold = read_numbers(answer), task.reference
        if numbers is None:
            return rejected("The answer must be digits separated by commas, such as 4, 8, 3, 0.")
        if len(numbers) != len(gold):
            return Verdict(0.0, False, feedback=f"There are {len(numbers)} digits instead of {len(gold)}.")
        right = sum(map(int.__eq__, numbers, gold))
        return CORRECT if right == len(gold) else Verdict(0.0, False, feedback=f"{right} of {len(gold)} are right.")

    def solution_steps(self, task: Task) -> list[str]:
        """List the digit and the carry of each place."""
        (pairs, base), lines, carry = task.data, [], 0
        for a, b in pairs:
            before, (carry, digit) = carry, divmod(a + b + carry, base)
            lines.append(f"{a} + {b} + {before}: write {digit}, carry {carry}")
        return [*lines, self.oracle(task)]

    def solver_cost(self, episode: Task) -> float:
        """Return the number of digits that are not zero times the base; a larger base has a larger table of sums."""
        pairs, base = episode.data
        return float(base * sum(digit > 0 for pair in pairs for digit in pair))


register("palaestra/InterleavedAddition-v0", f"{__name__}:InterleavedAddition")
