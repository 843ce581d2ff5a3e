"""palaestra/PrimeFactors-v0: a number as the product of its primes."""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_right
from collections import Counter
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

_LARGEST = 2_000
_POWER = re.compile(r"([0-9]{1,40})(?:\^([1-9][0-9]?|\{[1-9][0-9]?\}))?")
# Powers in print.
_RAISED = {ord(raised): f"^{power}" for power, raised in zip("23456", "\u00b2\u00b3\u2074\u2075\u2076")}
# Other signs for a product; longer ones first.
_TIMES = re.compile(r"\\cdot|\\times|[*,;x\u00d7\u00b7]")
_MAX_FACTORS = 100


class PrimeFactors(Question):
    """Factor a number into primes.

    Description:
        The number is a product of primes that are drawn one by one, so some may be equal. By the uniqueness of the
        factorisation there is one answer, up to the order of the factors.

    Parameters:
        factors (3 to 6, on request 2 to 12): number of primes, counted with multiplicity.
        prime (47 to 500, log-spaced, on request 11 to 2000): the largest prime that may occur.

    Observation:
        Text such as ``Factor 360 into primes. Answer with a product such as 2^2 * 3 * 11.``

    Actions:
        Text with the primes, in any order, joined by * or by commas, equal ones repeated or as powers:
        ``2^3 * 3^2 * 5``, ``2, 2, 2, 3, 3, 5``. The number and = may come first (``360 = ...``). Read in
        ``answer_format``.

    Reward:
        1 for all the primes with their multiplicities, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        The fundamental theorem of arithmetic; generated here.
    """

    answer_form = "values"
    param_space = ParamSpace(
        [IntAxis("factors", 3, 6, limits=(2, 12)), IntAxis("prime", 47, 500, log=True, limits=(11, _LARGEST))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        primes = _primes()
        among = bisect_right(primes, params["prime"])
        factors = sorted(primes[int(u * among)] for u in rng.random(params["factors"]).tolist())
        number = math.prod(factors)
        powers = Counter(factors).items()
        return Task(
            f"Factor {number} into primes. Answer with a product such as 2^2 * 3 * 11.",
            factors,
            solution=" * ".join(f"{prime}^{count}" if count > 1 else str(prime) for prime, count in powers),
            content=str(number),
            data=number,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        """Judge whether ``answer`` has each prime factor of the number, with its multiplicity."""
        number, (head, equals, body) = str(task.data), strip_statement(answer, equated=False).rpartition("=")
        if body.strip() == number and equals:
            head, body = body, head
        given = _read_factors(body)
        if given is None or (equals and head.strip() not in ("", number)):
            return Verdict(
                0.0, False, feedback="The answer must be a product of primes such as 2^2 * 3 * 11.", malformed=True
            )
        right = given == Counter(task.reference)
        return Verdict(float(right), right, feedback="Correct." if right else "The answer is not correct.")

    def read_elements(self, answer: str) -> list[str] | None:
        found = _read_factors(answer)
        return None if found is None or found.total() > _MAX_FACTORS else sorted(map(str, found.elements()))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of trial divisions by primes, successful or not."""
        # Trial division ends at the second largest factor, or at the root of the largest one where that is larger.
        *_, before, last = episode.reference
        return len(episode.reference) + bisect_right(_primes(), max(before, math.isqrt(last)))

    def solution_steps(self, task: Task) -> list[str]:
        """List one division per line, the smallest prime first."""
        lines, rest = [], task.data
        for prime in task.reference[:-1]:
            lines.append(f"{rest} = {prime} * {rest // prime}")
            rest //= prime
        return [*lines, f"{rest} is prime", self.oracle(task)]


@functools.lru_cache(maxsize=1)
def _primes() -> list[int]:
    """Return the primes up to the largest that may occur."""
    return [n for n in range(2, _LARGEST + 1) if all(n % d for d in range(2, math.isqrt(n) + 1))]


def _read_factors(text: str) -> Counter[int] | None:
    """Return the factors that ``text`` lists, with multiplicity; None if ``text`` is no list of numbers and powers."""
    text = text.translate(_RAISED).replace("**", "^").replace(")(", ")*(").strip(" []$.")
    parts = _TIMES.split(text, maxsplit=_MAX_FACTORS)
    found: Counter[int] = Counter()
    for part in parts:
        match = _POWER.fullmatch(part.strip(" ()"))
        if match is None:
            return None
        found[int(match[1])] += int(match[2].strip("{}")) if match[2] else 1
    return found


register("palaestra/PrimeFactors-v0", f"{__name__}:PrimeFactors")
