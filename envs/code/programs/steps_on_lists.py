"""Steps that take a list of whole numbers."""

from __future__ import annotations

from .steps import INTEGER, LIST, TEXT, Condition, StepKind

_FOR_EACH = "{y} = []\nfor v in {x}:\n    "
_FOR_PLACES = "{y} = []\nfor i in range(len({x})):\n    "


def _to_list(words: str, name: str, *codes: str, c: range = range(0), d: range = range(0)) -> StepKind:
    return StepKind(LIST, LIST, words, name, codes, c, d)


def _to_number(words: str, name: str, *codes: str, c: range = range(0)) -> StepKind:
    return StepKind(LIST, INTEGER, words, name, codes, c)


def _keep_where(words: str, test: str, c: range = range(0)) -> StepKind:
    loop = _FOR_EACH + f"if {test}:\n        {{y}}.append(v)"
    return _to_list(
        f"Keep only the numbers that are {words}.", "kept", f"{{y}} = [v for v in {{x}} if {test}]", loop, c=c
    )


def _map_each(words: str, value: str, name: str, c: range = range(0)) -> StepKind:
    loop = _FOR_EACH + f"{{y}}.append({value})"
    return _to_list(words, name, f"{{y}} = [{value} for v in {{x}}]", loop, c=c)


LIST_STEPS = (
    _keep_where("above {c}", "v > {c}", range(2, 9)),
    _keep_where("below {c}", "v < {c}", range(6, 15)),
    _keep_where("even", "v % 2 == 0"),
    _keep_where("odd", "v % 2 == 1"),
    _keep_where("different from {c}", "v != {c}", range(0, 10)),
    _keep_where("not divisible by {c}", "v % {c} != 0", range(3, 6)),
    _map_each("Add {c} to each number.", "v + {c}", "moved", range(2, 12)),
    _map_each("Subtract each number from {c}.", "{c} - v", "differences", range(5, 25)),
    _map_each("Multiply each number by {c}.", "v * {c}", "scaled", range(2, 8)),
    _map_each("Replace each number by its square.", "v * v", "squares"),
    _map_each("Replace each number by its remainder modulo {c}, never negative.", "v % {c}", "remainders", range(3, 9)),
    _map_each("Divide each number by {c}, rounding down.", "v // {c}", "parts", range(2, 5)),
    _map_each("Replace each number above {c} by {c}.", "min(v, {c})", "limited", range(6, 14)),
    _map_each("Replace each number by its absolute value.", "abs(v)", "sizes"),
    _to_list(
        "Replace each negative number by {c}.",
        *("filled", "{y} = [{c} if v < 0 else v for v in {x}]"),
        _FOR_EACH + "if v < 0:\n        {y}.append({c})\n    else:\n        {y}.append(v)",
        c=range(0, 9),
    ),
    _to_list(
        "Halve each even number, and add {c} to each odd one.",
        *("changed", "{y} = [v // 2 if v % 2 == 0 else v + {c} for v in {x}]"),
        _FOR_EACH + "if v % 2 == 0:\n        {y}.append(v // 2)\n    else:\n        {y}.append(v + {c})",
        c=range(1, 9),
    ),
    _to_list("Reverse the list.", "turned", "{y} = {x}[::-1]", "{y} = []\nfor v in {x}:\n    {y} = [v] + {y}"),
    _to_list("Sort the list in increasing order.", "ordered", "{y} = sorted({x})"),
    _to_list(
        "Sort the list in decreasing order.", "ordered", "{y} = sorted({x}, reverse=True)", "{y} = sorted({x})[::-1]"
    ),
    _to_list(
        "Keep each number only where it comes first.",
        *("unique", _FOR_EACH + "if v not in {y}:\n        {y}.append(v)"),
        "{y} = [v for i, v in enumerate({x}) if v not in {x}[:i]]",
    ),
    _to_list(
        "Replace each number by the sum of it and all numbers before it.",
        *("sums", "{y} = []\nrest = 0\nfor v in {x}:\n    rest += v\n    {y}.append(rest)"),
        "{y} = [sum({x}[:i + 1]) for i in range(len({x}))]",
    ),
    _to_list(
        "Replace each number by the largest of it and all numbers before it.",
        *(
            "peaks",
            _FOR_EACH + "if {y} and {y}[-1] > v:\n        {y}.append({y}[-1])\n    else:\n        {y}.append(v)",
        ),
        "{y} = [max({x}[:i + 1]) for i in range(len({x}))]",
    ),
    _to_list(
        "List how much each number exceeds the one before it; the list gets one shorter, and an empty one stays so.",
        *("gaps", "{y} = [{x}[i] - {x}[i - 1] for i in range(1, len({x}))]"),
        "{y} = []\nfor i in range(len({x}) - 1):\n    {y}.append({x}[i + 1] - {x}[i])",
    ),
    _to_list(
        "List the sums of neighbours: first and second, second and third, and so on; the list gets one shorter, and an "
        "empty one stays so.",
        *("pairs", "{y} = [{x}[i] + {x}[i + 1] for i in range(len({x}) - 1)]"),
        "{y} = [v + w for v, w in zip({x}, {x}[1:])]",
    ),
    _to_list(
        "Remove the first {c} numbers, or all if there are fewer.", "rest_of_it", "{y} = {x}[{c}:]", c=range(1, 4)
    ),
    _to_list("Remove the last {c} numbers, or all if there are fewer.", "shortened", "{y} = {x}[:-{c}]", c=range(1, 4)),
    _to_list("Keep only the first {c} numbers, or all if there are fewer.", "head", "{y} = {x}[:{c}]", c=range(2, 5)),
    _to_list("Keep only the last {c} numbers, or all if there are fewer.", "tail", "{y} = {x}[-{c}:]", c=range(2, 5)),
    _to_list("Move the first number to the end, unless the list is empty.", "cycled", "{y} = {x}[1:] + {x}[:1]"),
    _to_list("Move the last number to the front, unless the list is empty.", "cycled", "{y} = {x}[-1:] + {x}[:-1]"),
    _to_list(
        "Keep every second number, beginning with the first.",
        *("spaced", "{y} = {x}[::2]", _FOR_PLACES + "if i % 2 == 0:\n        {y}.append({x}[i])"),
    ),
    _to_list(
        "Keep every second number, beginning with the second.",
        *("spaced", "{y} = {x}[1::2]", _FOR_PLACES + "if i % 2 == 1:\n        {y}.append({x}[i])"),
    ),
    _to_list(
        "Add to each number its position; the first position is {c}.",
        *("numbered", "{y} = [v + i + {c} for i, v in enumerate({x})]", _FOR_PLACES + "{y}.append({x}[i] + i + {c})"),
        c=range(1, 4),
    ),
    _to_list(
        "Multiply each number by its position; the first position is {c}.",
        *("weighted", "{y} = [v * (i + {c}) for i, v in enumerate({x})]"),
        _FOR_PLACES + "{y}.append({x}[i] * (i + {c}))",
        c=range(1, 4),
    ),
    _to_list(
        "Replace each number by how often it is in the list.",
        *("counts", "{y} = [{x}.count(v) for v in {x}]"),
    ),
    _to_list(
        "Keep only the numbers that are larger than the one before them; the first number is kept.",
        *("rises", _FOR_PLACES + "if i == 0 or {x}[i] > {x}[i - 1]:\n        {y}.append({x}[i])"),
    ),
    _to_list(
        "Keep only the numbers that are larger than all before them; the first number is kept.",
        *("records", _FOR_EACH + "if not {y} or v > {y}[-1]:\n        {y}.append(v)"),
    ),
    _to_list(
        "Swap the first number with the second, the third with the fourth, and so on; a last one alone stays.",
        *(
            "swapped",
            "{y} = {x}[:]\nfor i in range(0, len({y}) - 1, 2):\n    {y}[i], {y}[i + 1] = ({y}[i + 1], {y}[i])",
        ),
    ),
    _to_list("Put the reversed list after the list.", "doubled", "{y} = {x} + {x}[::-1]"),
    _to_list("Write each number twice in a row.", "doubled", _FOR_EACH + "{y} += [v, v]"),
    _to_list(
        "Put all numbers below {c} first and then the others, both in the order in which they stand.",
        *("divided", "{y} = [v for v in {x} if v < {c}] + [v for v in {x} if v >= {c}]"),
        c=range(3, 8),
    ),
    _to_number(
        "Take the sum of the numbers (0 if there are none), plus {c}.",
        "total",
        "{y} = sum({x}) + {c}",
        "{y} = {c}\nfor v in {x}:\n    {y} += v",
        c=range(2, 20),
    ),
    _to_number(
        "Take the sum of the numbers above {c} (0 if there are none).",
        *(
            "total",
            "{y} = sum((v for v in {x} if v > {c}))",
            "{y} = 0\nfor v in {x}:\n    if v > {c}:\n        {y} += v",
        ),
        c=range(1, 8),
    ),
    _to_number(
        "Subtract the second number from the first, add the third, subtract the fourth, and so on (0 for an empty "
        "list).",
        *(
            "total",
            "{y} = 0\nfor i, v in enumerate({x}):\n    if i % 2 == 0:\n        {y} += v\n    else:\n        {y} -= v",
        ),
        "{y} = sum({x}[::2]) - sum({x}[1::2])",
    ),
    _to_number(
        "Take the largest number, or {c} if there is none.",
        *("largest", "{y} = max({x}) if {x} else {c}"),
        "if not {x}:\n    {y} = {c}\nelse:\n    {y} = {x}[0]\n"
        "    for v in {x}:\n        if v > {y}:\n            {y} = v",
        c=range(-20, -9),
    ),
    _to_number(
        "Take the smallest number, or {c} if there is none.",
        *("smallest", "{y} = min({x}) if {x} else {c}"),
        "if not {x}:\n    {y} = {c}\nelse:\n    {y} = {x}[0]\n"
        "    for v in {x}:\n        if v < {y}:\n            {y} = v",
        c=range(30, 60),
    ),
    _to_number(
        "Take the difference between the largest and the smallest number, or {c} if the list is empty.",
        *("spread", "{y} = max({x}) - min({x}) if {x} else {c}"),
        "if len({x}) == 0:\n    {y} = {c}\nelse:\n    {y} = max({x}) - min({x})",
        c=range(-20, 0),
    ),
    _to_number(
        "Take the sum of the squares of the numbers (0 if there are none).",
        *("total", "{y} = 0\nfor v in {x}:\n    {y} += v * v", "{y} = sum((v * v for v in {x}))"),
    ),
    _to_number(
        "Add up each number times its position, the first position being {c} (0 for an empty list).",
        *("total", "{y} = 0\nfor i, v in enumerate({x}):\n    {y} += v * (i + {c})"),
        "{y} = sum((v * (i + {c}) for i, v in enumerate({x})))",
        c=range(1, 4),
    ),
    _to_number(
        "Beginning with {c}, go through the list: multiply by 2 and add the number each time.",
        *("result", "{y} = {c}\nfor v in {x}:\n    {y} = {y} * 2 + v"),
        c=range(1, 20),
    ),
    _to_number(
        "Take the second-largest of the different numbers in the list, or {c} if there are fewer than two.",
        *("second", "rest = sorted(set({x}))\n{y} = rest[-2] if len(rest) > 1 else {c}"),
        c=range(-30, -9),
    ),
    _to_number(
        "Count the pairs of places, one before the other, of which the earlier number is larger, and add {c}.",
        *(
            "count",
            "{y} = {c}\nfor i in range(len({x})):\n    for v in {x}[i + 1:]:\n"
            "        if {x}[i] > v:\n            {y} += 1",
        ),
        c=range(3, 30),
    ),
    StepKind(
        *(LIST, TEXT, "Join the numbers into a text, with a hyphen between two of them.", "joined"),
        ("{y} = '-'.join((str(v) for v in {x}))", "{y} = '-'.join([str(v) for v in {x}])"),
    ),
)

LIST_CONDITIONS = (
    Condition(LIST, "the list has more than {c} numbers", "len({x}) > {c}", range(2, 6)),
    Condition(LIST, "the list has an even number of items", "len({x}) % 2 == 0"),
    Condition(LIST, "the sum of the list (0 if it is empty) is above {c}", "sum({x}) > {c}", range(5, 31)),
    Condition(LIST, "the sum of the list (0 if it is empty) is even", "sum({x}) % 2 == 0"),
    Condition(LIST, "the list contains a number above {c}", "any((v > {c} for v in {x}))", range(7, 12)),
    Condition(LIST, "no number is twice in the list", "len(set({x})) == len({x})"),
)
