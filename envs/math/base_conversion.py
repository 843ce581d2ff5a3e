"""palaestra/BaseConversion-v0: the same number in another base."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.numbers import plain_notation
from ...rewards.answers.phrases import strip_statement
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

_DIGITS = "0123456789ABCDEF"
# The prefixes of numbers of these bases in programs.
_PREFIX = {16: "0X", 8: "0O", 2: "0B"}
# The digits, perhaps followed by the base.
_NUMBER = re.compile(
    r"\(?([0-9A-Fa-f]{1,200}|0[xobXOB][0-9A-Fa-f]{1,200})\)?(?:_\{?([0-9]{1,2})\}?| \(?(?:in )?base ([0-9]{1,2})\)?)?"
)


class BaseConversion(Question):
    """Write a number in another base.

    Description:
        A whole number in one base from 2 to 16 is to be written in another. Digits beyond 9 are the letters A to F.

    Parameters:
        largest (1000 to 1000000000, log-spaced, on request 10 to 1000000000000): the largest number; the smallest is a
            tenth of it.
        direction ("to ten", "from ten", "between"): into base 10, from base 10, or between two other bases.

    Observation:
        Text such as ``Write the base 2 number 101101 in base 10. ...``

    Actions:
        Text with the digits of the number, ``45`` or ``2D``; small letters and leading zeros do not matter, and the
        base may follow (``2D_16``, ``2D (base 16)``) or, if it is 16, 8 or 2, precede the digits as a prefix (``0x2D``,
        ``0o55``, ``0b101101``). Read in ``answer_format``.

    Reward:
        1 for the right digits, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Elementary arithmetic; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("largest", 1_000, 1_000_000_000, log=True, limits=(10, 10**12)),
            ChoiceAxis("direction", ("to ten", "from ten", "between")),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        largest, direction = params["largest"], params["direction"]
        u, v, w = rng.random(3).tolist()
        bases = [base for base in range(2, 17) if base != 10]
        one = bases.pop(int(u * len(bases)))
        other = bases[int(v * len(bases))]
        source, target = {"to ten": (one, 10), "from ten": (10, one), "between": (one, other)}[direction]
        value = largest // 10 + int(w * (largest - largest // 10 + 1))
        given = _to_base(value, source)
        letters = " Digits beyond 9 are the letters A to F." if max(source, target) > 10 else ""
        return Task(
            f"Write the base {source} number {given} in base {target}.{letters} Answer with its digits only.",
            _to_base(value, target),
            content=f"{given} base {source} to {target}",
            data=(value, source, target),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        """Judge whether ``answer`` has the digits of the reference; leading zeros and small letters are allowed."""
        base = task.data[2]
        # Most answers are plain digits.
        written = _NUMBER.fullmatch(answer) or _NUMBER.fullmatch(strip_statement(plain_notation(answer)))
        digits, named = (written[1].upper(), written[2] or written[3]) if written else ("", None)
        digits = digits.removeprefix(_PREFIX.get(base, " "))
        if (
            named not in (None, str(base))
            or not digits
            or max(map(_DIGITS.find, digits)) >= base
            or min(map(_DIGITS.find, digits)) < 0
        ):
            last = _DIGITS[base - 1]
            return Verdict(0.0, False, feedback=f"The answer must be digits from 0 to {last} only.", malformed=True)
        right = digits.lstrip("0") == task.reference
        return Verdict(float(right), right, feedback="Correct." if right else "The answer is not correct.")

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the worked solution, in characters."""
        return float(sum(map(len, self.solution_steps(episode))))

    def solution_steps(self, task: Task) -> list[str]:
        """List the value by Horner's rule, then the digits by division, the last one first."""
        value, source, target = task.data
        lines = []
        if source != 10:
            sofar, *others = map(_DIGITS.index, _to_base(value, source))
            for digit in others:
                lines.append(f"{sofar} * {source} + {digit} = {sofar * source + digit}")
                sofar = sofar * source + digit
        if target != 10:
            rest = value
            while rest:
                digit = rest % target
                name = f" (digit {_DIGITS[digit]})" if digit > 9 else ""
                lines.append(f"{rest} = {rest // target} * {target} + {digit}{name}")
                rest //= target
        return [*lines, self.oracle(task)]


def _to_base(value: int, base: int) -> str:
    """Return the digits of a positive number in a base."""
    if base == 10:
        return str(value)
    digits = []
    while value:
        value, digit = divmod(value, base)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


register("palaestra/BaseConversion-v0", f"{__name__}:BaseConversion")
