"""The module math, with the costs of its functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .meter import Meter, extra_words, walk
from .operators import multiply
from .values import Builtin, builtins_by_name


def charge_words(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(meter: Meter, /, *given: Any, **options: Any) -> Any:
        meter.charge(sum([extra_words(one) for one in given if isinstance(one, int)]))
        return function(*given, **options)

    return run


def _by_digits(function: Callable[..., int]) -> Callable[..., int]:
    """Charge gcd and lcm: Euclid's algorithm takes about one step for each binary digit of the smaller number."""

    def run(meter: Meter, /, *given: int) -> int:
        total = given[0] if given else 0
        for other in given[1:]:
            if isinstance(total, int) and isinstance(other, int):
                least = min(total.bit_length(), other.bit_length())
                meter.charge(least * (1 + max(extra_words(total), extra_words(other))))
            total = function(total, other)
        return function(*given) if len(given) < 2 else total

    return run


def _factorial(meter: Meter, number: int, /) -> int:
    if isinstance(number, int) and number > 0:
        whole = number * number.bit_length() // 64
        meter.charge(number + whole * whole)
    return math.factorial(number)


def _chosen(function: Callable[..., int]) -> Callable[..., int]:
    def run(meter: Meter, number: int, count: int | None = None, /) -> int:
        if isinstance(number, int):
            taken = number if not isinstance(count, int) else max(count, 0)
            taken = min(taken, max(number - taken, 0)) if function is math.comb else min(taken, max(number, 0))
            meter.charge(taken * (1 + taken * number.bit_length() // 64))
        return function(number, *(() if count is None and function is math.perm else (count,)))

    return run


def _prod(meter: Meter, values: Any, /, *, start: Any = 1) -> Any:
    for value in walk(meter, values):
        start = multiply(meter, start, value)
    return start


_OF_WORDS = """
    ceil floor trunc sqrt log log2 log10 exp sin cos tan atan atan2 fabs fmod hypot isclose isfinite isinf isnan pow
    degrees radians copysign
"""
MATH = {
    **{name: Builtin(name, charge_words(getattr(math, name))) for name in _OF_WORDS.split()},
    **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan", "tau")},
    **builtins_by_name(
        comb=_chosen(math.comb),
        factorial=_factorial,
        fsum=lambda meter, values, /: math.fsum(walk(meter, values)),
        gcd=_by_digits(math.gcd),
        isqrt=lambda meter, number, /: (
            meter.charge(extra_words(number) ** 2 if isinstance(number, int) else 0) and math.isqrt(number)
        ),
        lcm=_by_digits(math.lcm),
        perm=_chosen(math.perm),
        prod=_prod,
    ),
}
