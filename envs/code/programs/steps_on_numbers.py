"""Steps that take a whole number."""

from __future__ import annotations

from .steps import INTEGER, LIST, TEXT, Condition, StepKind

_EACH_DIGIT = "rest = abs({x})\nwhile rest > 0:\n    "


def _to_number(words: str, name: str, *codes: str, c: range = range(0), d: range = range(0)) -> StepKind:
    return StepKind(INTEGER, INTEGER, words, name, codes, c, d)


NUMBER_STEPS = (
    _to_number("Add {c} to the number.", "moved", "{y} = {x} + {c}", c=range(3, 31)),
    _to_number("Subtract {c} from the number.", "lowered", "{y} = {x} - {c}", c=range(3, 31)),
    _to_number("Subtract the number from {c}.", "difference", "{y} = {c} - {x}", c=range(3, 60)),
    _to_number("Multiply the number by {c}.", "scaled", "{y} = {x} * {c}", c=range(3, 13)),
    _to_number(
        "Multiply the number by {c} and add {d}.", "line", "{y} = {c} * {x} + {d}", c=range(3, 10), d=range(2, 20)
    ),
    _to_number("Divide the number by {c}, rounding down.", "part", "{y} = {x} // {c}", c=range(2, 8)),
    _to_number(
        "Replace the number by its remainder modulo {c}, which is never negative.",
        *("remainder", "{y} = {x} % {c}", "{y} = {x} - {x} // {c} * {c}"),
        c=range(11, 50),
    ),
    _to_number("Replace the number by its square.", "square", "{y} = {x} * {x}"),
    _to_number(
        "Replace the number by its absolute value, and add {c}.",
        *("size", "{y} = abs({x}) + {c}", "{y} = {x}\nif {y} < 0:\n    {y} = -{y}\n{y} += {c}"),
        c=range(3, 20),
    ),
    _to_number(
        "If the number is even, halve it; otherwise multiply it by 3 and add {c}.",
        *("following", "if {x} % 2 == 0:\n    {y} = {x} // 2\nelse:\n    {y} = 3 * {x} + {c}"),
        "{y} = {x} // 2 if {x} % 2 == 0 else 3 * {x} + {c}",
        c=range(1, 12),
    ),
    _to_number(
        "If the number is below {c}, double it; otherwise subtract {d} from it.",
        *("adjusted", "if {x} < {c}:\n    {y} = {x} * 2\nelse:\n    {y} = {x} - {d}"),
        "{y} = {x} * 2 if {x} < {c} else {x} - {d}",
        c=range(5, 20),
        d=range(3, 20),
    ),
    _to_number(
        "If the number is odd, add {c} to it; otherwise subtract {d} from it.",
        *("shifted", "if {x} % 2 == 1:\n    {y} = {x} + {c}\nelse:\n    {y} = {x} - {d}"),
        "{y} = {x}\nif {x} % 2 == 1:\n    {y} += {c}\nelse:\n    {y} -= {d}",
        c=range(3, 20),
        d=range(2, 20),
    ),
    _to_number(
        "Move the number into the range from {c} to {d}: a smaller one becomes {c}, a larger one {d}.",
        *("limited", "{y} = max({c}, min({x}, {d}))"),
        "{y} = {x}\nif {y} < {c}:\n    {y} = {c}\nif {y} > {d}:\n    {y} = {d}",
        c=range(-20, 6),
        d=range(25, 70),
    ),
    _to_number(
        "Round the number down to a multiple of {c}.",
        *("rounded", "{y} = {x} // {c} * {c}", "{y} = {x} - {x} % {c}"),
        c=range(3, 12),
    ),
    _to_number(
        "Take the sum of the decimal digits of the number, without its sign, times {c}.",
        *("total", "{y} = 0\n" + _EACH_DIGIT + "{y} += rest % 10\n    rest //= 10\n{y} *= {c}"),
        "{y} = {c} * sum((int(v) for v in str(abs({x}))))",
        c=range(2, 12),
    ),
    _to_number(
        "Write the decimal digits of the number in reverse order, without its sign, read that as a number, and "
        "add {c}.",
        *("mirrored", "{y} = 0\n" + _EACH_DIGIT + "{y} = {y} * 10 + rest % 10\n    rest //= 10\n{y} += {c}"),
        "{y} = int(str(abs({x}))[::-1]) + {c}",
        c=range(2, 20),
    ),
    _to_number(
        "Take the product of the decimal digits of the number that are not 0, without its sign (1 if there are none), "
        "plus {c}.",
        *(
            "product",
            "{y} = 1\n" + _EACH_DIGIT + "if rest % 10 != 0:\n        {y} *= rest % 10\n    rest //= 10\n{y} += {c}",
        ),
        "{y} = 1\nfor v in str(abs({x})):\n    if v != '0':\n        {y} *= int(v)\n{y} += {c}",
        c=range(2, 30),
    ),
    _to_number(
        "Take the sum of the numbers from 1 to {c} that divide the number.",
        *("total", "{y} = 0\nfor v in range(1, {c_1}):\n    if {x} % v == 0:\n        {y} += v"),
        "{y} = sum((v for v in range(1, {c_1}) if {x} % v == 0))",
        c=range(12, 25),
    ),
    _to_number(
        "Take the largest power of 2 that is not above the number, or {c} if the number is below 1.",
        *("power", "if {x} < 1:\n    {y} = {c}\nelse:\n    {y} = 1\n    while {y} * 2 <= {x}:\n        {y} *= 2"),
        c=range(-9, 0),
    ),
    _to_number(
        "Divide the number by {c} as long as that leaves no remainder; 0 stays 0.",
        *("reduced", "{y} = {x}\nwhile {y} != 0 and {y} % {c} == 0:\n    {y} //= {c}"),
        c=range(2, 4),
    ),
    _to_number(
        "Replace the number by its greatest common divisor with {c}, plus {d}; the divisor of 0 and {c} is {c}.",
        *("divisor", "{y}, rest = ({c}, abs({x}))\nwhile rest > 0:\n    {y}, rest = (rest, {y} % rest)\n{y} += {d}"),
        c=range(24, 73, 12),
        d=range(3, 20),
    ),
    _to_number(
        "Beginning with the number, add {c} until the result is above {d}; a number above {d} stays as it is.",
        *("climbed", "{y} = {x}\nwhile {y} <= {d}:\n    {y} += {c}"),
        c=range(3, 12),
        d=range(12, 60),
    ),
    StepKind(
        *(INTEGER, LIST, "List the decimal digits of the number from left to right, without its sign.", "digits"),
        (
            "{y} = [int(v) for v in str(abs({x}))]",
            "{y} = []\nfor v in str(abs({x})):\n    {y}.append(int(v))",
        ),
    ),
    StepKind(
        *(INTEGER, LIST, "List the remainders of the number modulo 2, 3, and so on up to {c}.", "remainders"),
        (
            "{y} = [{x} % v for v in range(2, {c_1})]",
            "{y} = []\nfor v in range(2, {c_1}):\n    {y}.append({x} % v)",
        ),
        range(4, 8),
    ),
    StepKind(
        *(INTEGER, LIST, "List {d} numbers: the number, and each time {c} more than before.", "terms"),
        (
            "{y} = [{x} + {c} * v for v in range({d})]",
            "{y} = []\nlast = {x}\nfor v in range({d}):\n    {y}.append(last)\n    last += {c}",
        ),
        range(2, 10),
        range(3, 6),
    ),
    StepKind(
        *(INTEGER, LIST, "List the multiples of the number by 1, 2, and so on up to {c}.", "multiples"),
        ("{y} = [{x} * v for v in range(1, {c_1})]", "{y} = []\nfor v in range({c}):\n    {y}.append({x} * (v + 1))"),
        range(3, 7),
    ),
    StepKind(
        *(INTEGER, TEXT, "Write the number, without its sign, in base {c}; 0 is written as 0.", "written"),
        (
            "rest = abs({x})\n{y} = ''\nwhile rest > 0:\n    {y} = str(rest % {c}) + {y}\n    rest //= {c}\n"
            "if {y} == '':\n    {y} = '0'",
            "rest = abs({x})\n{y} = str(rest % {c})\nwhile rest >= {c}:\n    rest //= {c}\n"
            "    {y} = str(rest % {c}) + {y}",
        ),
        range(2, 8),
    ),
)

NUMBER_CONDITIONS = (
    Condition(INTEGER, "the number is above {c}", "{x} > {c}", range(0, 21)),
    Condition(INTEGER, "the number is at most {c}", "{x} <= {c}", range(0, 21)),
    Condition(INTEGER, "the number is even", "{x} % 2 == 0"),
    Condition(INTEGER, "the number is divisible by {c}", "{x} % {c} == 0", range(3, 6)),
    Condition(INTEGER, "the last decimal digit of the number is above {c}", "abs({x}) % 10 > {c}", range(2, 7)),
)
