"""Random small functions, each with its specification in English and its code: chains of steps from the tables.

A `Program` is text and plain data; what it returns is known from `interpreter.call`. For arguments to run it on, see
`cases`.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, NamedTuple

from .dice import Dice
from .interpreter import MOST_WORK, Outcome, call, states
from .steps import INTEGER, LIST, TEXT, WORDS, Condition, Kind, worded
from .steps_on_lists import LIST_CONDITIONS, LIST_STEPS
from .steps_on_numbers import NUMBER_CONDITIONS, NUMBER_STEPS
from .steps_on_text import TEXT_CONDITIONS, TEXT_STEPS

KINDS = (*NUMBER_STEPS, *LIST_STEPS, *TEXT_STEPS)
CONDITIONS = (*NUMBER_CONDITIONS, *LIST_CONDITIONS, *TEXT_CONDITIONS)
_TYPES = (INTEGER, LIST, TEXT, WORDS)
_STAYING = {kind: tuple(k for k in KINDS if k.takes == k.gives == kind) for kind in _TYPES}
_LEAVING = {kind: tuple(k for k in KINDS if k.takes == kind != k.gives) for kind in _TYPES}
_CONDITIONS = {kind: tuple(c for c in CONDITIONS if c.takes == kind) for kind in _TYPES}

# What programs take, from the easiest: (name, type, words).
DOMAINS = {
    "numbers": ("n", INTEGER, "a whole number"),
    "strings": ("text", TEXT, "a text of letters, digits and single spaces, possibly empty"),
    "lists": ("numbers", LIST, "a list of whole numbers, possibly empty"),
}
_NAMES = ("process", "transform", "compute", "convert", "solve", "derive", "evaluate", "determine")
_MARK = re.compile(r"\b[0-9]+\b")
# What a guard returns.
_NOTHING = {INTEGER: ("-1", "-2", "-5"), LIST: ("[]", "[0]"), TEXT: ("'none'", "'-'"), WORDS: ("[]",)}


class Parameter(NamedTuple):
    """A parameter's name, what it is in words, and the numbers that it may be where it is a constant's."""

    name: str
    words: str
    values: range = range(0)


class Program(NamedTuple):
    """A function.

    Args:
        name: the function's name.
        takes, gives: types of its first argument and of its value.
        parameters: one or two.
        specification: sentences, each on the value that the one before leaves.
        blocks: the statements of its body, a text for each sentence, and the return.
        results: the variable that holds each sentence's result; "" for one that may only end the function.
        weaker: bodies that leave a part of the specification out.
        marks: numbers that its code names, near which its cases change.
    """

    name: str
    takes: str
    gives: str
    parameters: tuple[Parameter, ...]
    specification: tuple[str, ...]
    blocks: tuple[str, ...]
    results: tuple[str, ...]
    weaker: tuple[tuple[str, ...], ...]
    marks: tuple[int, ...]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.name for parameter in self.parameters)})"

    @property
    def source(self) -> str:
        """The function's text."""
        return written(self, self.blocks)

    def run(self, arguments: tuple[Any, ...], blocks: tuple[str, ...] | None = None, most: int = MOST_WORK) -> Outcome:
        """What it returns, or would return with other ``blocks``; "endless" beyond so much work."""
        names = {parameter.name: argument for parameter, argument in zip(self.parameters, arguments)}
        return call(self.blocks if blocks is None else blocks, names, most)

    def ends_early(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a sentence at its begin ends it for these arguments."""
        return self.results[0] == "" and self.run(arguments, self.blocks[:1]).value is not None

    def plan(self) -> list[str]:
        """What each variable is for, a line for each sentence."""
        return [f"{name}: {words}" if name else words for name, words in zip(self.results, self.specification)]

    def trace(self, arguments: tuple[Any, ...]) -> list[str]:
        """What each variable holds, a line for each sentence, until the function returns."""
        names = {parameter.name: argument for parameter, argument in zip(self.parameters, arguments)}
        values = states(self.blocks[:-1], self.results, names)
        lines = [f"{name} = {value!r}" for name, value in zip(self.results, values) if name]
        return lines if len(values) == len(self.results) else [*lines, "It returns at once."]

    def described(self) -> str:
        """What is known of the arguments, as sentences."""
        return "; ".join(f"{parameter.name} is {parameter.words}" for parameter in self.parameters) + "."


def written(program: Program, blocks: tuple[str, ...]) -> str:
    """The text of the function with these blocks as its body."""
    return f"def {program.signature}:\n" + "\n".join(textwrap.indent(block, "    ") for block in blocks)


def numbered(program: Program) -> str:
    """The specification, a sentence a line, with numbers."""
    return "\n".join(f"{i}. {sentence}" for i, sentence in enumerate(program.specification, 1))


def shown(program: Program, arguments: tuple[Any, ...]) -> str:
    """A call of the program, as text."""
    return f"{program.name}({', '.join(map(repr, arguments))})"


class _Step(NamedTuple):
    """A sentence, its code, and code that does less of it."""

    words: str
    code: str
    weaker: tuple[str, ...]


def draw_program(dice: Dice, domain: str, steps: int) -> Program:
    """A random program.

    Args:
        domain: one of `DOMAINS`.
        steps: sentences of its specification, one or more.
    """
    argument, takes, words = DOMAINS[domain]
    parameters = [Parameter(argument, words)]
    kind_now, before, made = takes, argument, []
    results: list[str] = []
    used = {argument}
    guarded = steps > 1 and dice.chance(0.25)
    recent: set[str] = set()
    for _ in range(steps - guarded):
        kinds = _LEAVING[kind_now] if dice.chance(0.3) else _STAYING[kind_now]
        kind = dice.one(kinds)
        while kind.words in recent:
            kind = dice.one(kinds)
        recent.add(kind.words)
        after = _fresh(kind.name, used)
        if kind.takes == kind.gives and steps > 1 and dice.chance(0.2):
            made.append(_choice_of_two(dice, kind, before, after))
        else:
            made.append(_step(dice, kind, before, after, parameters))
        kind_now, before = kind.gives, after
        results.append(after)
    if guarded:
        made.insert(0, _guard(dice, takes, kind_now, argument))
        results.insert(0, "")
    blocks = (*(step.code for step in made), f"return {before}")
    weaker = [(*blocks[:place], code, *blocks[place + 1 :]) for place, step in enumerate(made) for code in step.weaker]
    specification = tuple(step.words for step in made)
    marks = sorted({int(mark) for block in blocks for mark in _MARK.findall(block)})
    name = dice.one(_NAMES)
    return Program(
        *(name, takes, kind_now, tuple(parameters), specification, blocks),
        *(tuple(results), tuple(weaker), tuple(marks)),
    )


def _fresh(name: str, used: set[str]) -> str:
    candidate, count = name, 1
    while candidate in used:
        count += 1
        candidate = f"{name}{count}"
    used.add(candidate)
    return candidate


def _filled(template: str, before: str, after: str, c: Any, d: Any) -> str:
    c_1 = c + 1 if isinstance(c, int) else f"{c} + 1"
    return template.format(x=before, y=after, c=c, d=d, c_1=c_1)


def _constants(dice: Dice, kind: Kind) -> tuple[Any, Any]:
    return dice.one(kind.c) if kind.c else "", dice.one(kind.d) if kind.d else ""


def _step(dice: Dice, kind: Kind, before: str, after: str, parameters: list[Parameter]) -> _Step:
    c, d = _constants(dice, kind)
    if len(kind.c) > 2 and len(parameters) == 1 and kind.c.step == 1 and dice.chance(0.2):
        c = "k"
        parameters.append(Parameter(c, f"a whole number from {kind.c[0]} to {kind.c[-1]}", kind.c))
    code = _filled(dice.one(kind.codes), before, after, c, d)
    return _Step(worded(kind.words, c, d), code, (f"{after} = {before}",) if kind.takes == kind.gives else ())


def _choice_of_two(dice: Dice, kind: Kind, before: str, after: str) -> _Step:
    """A condition that decides between two steps."""
    condition = dice.one(_CONDITIONS[kind.takes])
    other = dice.one(_STAYING[kind.takes])
    while other.words == kind.words:
        other = dice.one(_STAYING[kind.takes])
    test, said = _stated(dice, condition, before)
    codes, sentences = [], []
    for one in (kind, other):
        c, d = _constants(dice, one)
        codes.append(_filled(dice.one(one.codes), before, after, c, d))
        sentences.append(worded(one.words, c, d))
    words = f"If {said}, do this: {_quoted(sentences[0])} Otherwise do this: {_quoted(sentences[1])}"
    return _Step(words, _branches(test, *codes), tuple(codes))


def _branches(test: str, code: str, other: str) -> str:
    """An if statement; ``other`` joins it as elif where it is an if statement itself."""
    joins = other.startswith("if ") and all(line.startswith((" ", "else:")) for line in other.split("\n")[1:])
    rest = f"el{other}" if joins else "else:\n" + textwrap.indent(other, "    ")
    return f"if {test}:\n{textwrap.indent(code, '    ')}\n{rest}"


def _quoted(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


def _stated(dice: Dice, condition: Condition, variable: str) -> tuple[str, str]:
    """The condition on a variable, as code and in words."""
    c = dice.one(condition.c) if condition.c else ""
    return condition.code.format(x=variable, c=c), worded(condition.words, c)


def _guard(dice: Dice, takes: str, gives: str, variable: str) -> _Step:
    """A case in which the function returns at once."""
    test, said = _stated(dice, dice.one(_CONDITIONS[takes]), variable)
    value = dice.one(_NOTHING[gives])
    return _Step(
        f"If {said}, the result is {value} at once, and the rest is left out.",
        f"if {test}:\n    return {value}",
        ("pass",),
    )
