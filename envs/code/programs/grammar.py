"""The grammar of random small functions: chains of steps from the tables, each with a sentence and its code.

A `Program` is text and plain data. `block_runs` computes the values that it returns, and `cases` draws arguments.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, NamedTuple

from .block_runs import MOST_WORK, CallOutcome, run_blocks, trace_states
from .dice import Dice
from .steps import INTEGER, LIST, TEXT, WORDS, Condition, StepKind, fill_words
from .steps_on_lists import LIST_CONDITIONS, LIST_STEPS
from .steps_on_numbers import NUMBER_CONDITIONS, NUMBER_STEPS
from .steps_on_text import TEXT_CONDITIONS, TEXT_STEPS

KINDS = (*NUMBER_STEPS, *LIST_STEPS, *TEXT_STEPS)
CONDITIONS = (*NUMBER_CONDITIONS, *LIST_CONDITIONS, *TEXT_CONDITIONS)
_TYPES = (INTEGER, LIST, TEXT, WORDS)
# Steps by argument type: first the steps that return the same type, then the steps that return another.
_SAME_TYPE = {kind: tuple(k for k in KINDS if k.takes == k.gives == kind) for kind in _TYPES}
_OTHER_TYPE = {kind: tuple(k for k in KINDS if k.takes == kind != k.gives) for kind in _TYPES}
_CONDITIONS = {kind: tuple(c for c in CONDITIONS if c.takes == kind) for kind in _TYPES}

# The first argument of programs, the easiest domain first: (name, type, words).
DOMAINS = {
    "numbers": ("n", INTEGER, "a whole number"),
    "strings": ("text", TEXT, "a text of letters, digits and single spaces, possibly empty"),
    "lists": ("numbers", LIST, "a list of whole numbers, possibly empty"),
}
_NAMES = ("process", "transform", "compute", "convert", "solve", "derive", "evaluate", "determine")
_MARK = re.compile(r"\b[0-9]+\b")
# Values that a guard returns, by type.
_GUARD_VALUES = {INTEGER: ("-1", "-2", "-5"), LIST: ("[]", "[0]"), TEXT: ("'none'", "'-'"), WORDS: ("[]",)}


class Parameter(NamedTuple):
    """A parameter: its name, its description in words, and, if it replaces a constant, its possible values."""

    name: str
    words: str
    values: range = range(0)


class Program(NamedTuple):
    """A random function: plain data.

    Args:
        name: the function's name.
        takes, gives: the types of its first argument and of its value.
        parameters: the function's one or two parameters.
        specification: sentences, each about the result of the preceding sentence.
        blocks: the statements of its body, one text for each sentence, then the return.
        results: the variable that holds each sentence's result; "" for a guard, which has none.
        weaker: bodies that omit a part of the specification.
        marks: numbers in its code; the function often behaves differently for arguments above and below them.
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
        """The text of the function."""
        return write_source(self, self.blocks)

    def run(
        self, arguments: tuple[Any, ...], blocks: tuple[str, ...] | None = None, most: int = MOST_WORK
    ) -> CallOutcome:
        """Run the function, with ``blocks`` in place of its body if given; see `block_runs.run_blocks`."""
        names = {parameter.name: argument for parameter, argument in zip(self.parameters, arguments)}
        return run_blocks(self.blocks if blocks is None else blocks, names, most)

    def ends_early(self, arguments: tuple[Any, ...]) -> bool:
        """Return True if the function returns in its first block for these arguments."""
        return self.results[0] == "" and self.run(arguments, self.blocks[:1]).value is not None

    def plan(self) -> list[str]:
        """List the sentences of the specification, each with the variable of its result."""
        return [f"{name}: {words}" if name else words for name, words in zip(self.results, self.specification)]

    def trace(self, arguments: tuple[Any, ...]) -> list[str]:
        """List the value of each sentence's variable, one line for each, until the function returns."""
        names = {parameter.name: argument for parameter, argument in zip(self.parameters, arguments)}
        values = trace_states(self.blocks[:-1], self.results, names)
        lines = [f"{name} = {value!r}" for name, value in zip(self.results, values) if name]
        return lines if len(values) == len(self.results) else [*lines, "It returns at once."]

    def describe_arguments(self) -> str:
        """Describe the arguments in words."""
        return "; ".join(f"{parameter.name} is {parameter.words}" for parameter in self.parameters) + "."


def write_source(program: Program, blocks: tuple[str, ...]) -> str:
    """Return the text of the function with these blocks as its body."""
    return f"def {program.signature}:\n" + "\n".join(textwrap.indent(block, "    ") for block in blocks)


def number_sentences(program: Program) -> str:
    """Return the specification as numbered lines, one sentence each."""
    return "\n".join(f"{i}. {sentence}" for i, sentence in enumerate(program.specification, 1))


def format_call(program: Program, arguments: tuple[Any, ...]) -> str:
    """Return the text of a call of the program, such as ``f([1, 2], 3)``."""
    return f"{program.name}({', '.join(map(repr, arguments))})"


class _Step(NamedTuple):
    """A sentence, its code, and weaker code that omits a part of it."""

    words: str
    code: str
    weaker: tuple[str, ...]


def draw_program(dice: Dice, domain: str, steps: int) -> Program:
    """Draw a random program.

    Args:
        domain: one of `DOMAINS`.
        steps: the number of sentences of its specification, one or more.
    """
    argument, takes, words = DOMAINS[domain]
    parameters = [Parameter(argument, words)]
    type_now, before, drawn = takes, argument, []
    results: list[str] = []
    used = {argument}
    guarded = steps > 1 and dice.chance(0.25)
    recent: set[str] = set()
    for _ in range(steps - guarded):
        kinds = _OTHER_TYPE[type_now] if dice.chance(0.3) else _SAME_TYPE[type_now]
        kind = dice.one(kinds)
        while kind.words in recent:
            kind = dice.one(kinds)
        recent.add(kind.words)
        after, count = kind.name, 1
        while after in used:
            count += 1
            after = f"{kind.name}{count}"
        used.add(after)
        if kind.takes == kind.gives and steps > 1 and dice.chance(0.2):
            drawn.append(_draw_choice(dice, kind, before, after))
        else:
            drawn.append(_draw_step(dice, kind, before, after, parameters))
        type_now, before = kind.gives, after
        results.append(after)
    if guarded:
        drawn.insert(0, _draw_guard(dice, takes, type_now, argument))
        results.insert(0, "")
    blocks = (*(step.code for step in drawn), f"return {before}")
    weaker = [(*blocks[:place], code, *blocks[place + 1 :]) for place, step in enumerate(drawn) for code in step.weaker]
    specification = tuple(step.words for step in drawn)
    marks = sorted({int(mark) for block in blocks for mark in _MARK.findall(block)})
    name = dice.one(_NAMES)
    return Program(
        *(name, takes, type_now, tuple(parameters), specification, blocks),
        *(tuple(results), tuple(weaker), tuple(marks)),
    )


def _fill_template(template: str, before: str, after: str, c: Any, d: Any) -> str:
    """Fill variables and constants into the code of a step."""
    c_1 = c + 1 if isinstance(c, int) else f"{c} + 1"
    return template.format(x=before, y=after, c=c, d=d, c_1=c_1)


def _draw_constants(dice: Dice, kind: StepKind) -> tuple[Any, Any]:
    return dice.one(kind.c) if kind.c else "", dice.one(kind.d) if kind.d else ""


def _draw_step(dice: Dice, kind: StepKind, before: str, after: str, parameters: list[Parameter]) -> _Step:
    """Draw the constants and the code of a step; sometimes a constant becomes a second parameter of the function."""
    c, d = _draw_constants(dice, kind)
    if len(kind.c) > 2 and len(parameters) == 1 and kind.c.step == 1 and dice.chance(0.2):
        c = "k"
        parameters.append(Parameter(c, f"a whole number from {kind.c[0]} to {kind.c[-1]}", kind.c))
    code = _fill_template(dice.one(kind.codes), before, after, c, d)
    return _Step(fill_words(kind.words, c, d), code, (f"{after} = {before}",) if kind.takes == kind.gives else ())


def _draw_choice(dice: Dice, kind: StepKind, before: str, after: str) -> _Step:
    """Draw a step in which a condition decides between two steps."""
    condition = dice.one(_CONDITIONS[kind.takes])
    other = dice.one(_SAME_TYPE[kind.takes])
    while other.words == kind.words:
        other = dice.one(_SAME_TYPE[kind.takes])
    test, condition_words = _fill_condition(dice, condition, before)
    codes, sentences = [], []
    for one in (kind, other):
        c, d = _draw_constants(dice, one)
        codes.append(_fill_template(dice.one(one.codes), before, after, c, d))
        sentence = fill_words(one.words, c, d)
        sentences.append(sentence[0].lower() + sentence[1:])
    words = f"If {condition_words}, do this: {sentences[0]} Otherwise do this: {sentences[1]}"
    first, second = codes
    # A second step that is an if statement itself becomes an elif.
    joins = second.startswith("if ") and all(line.startswith((" ", "else:")) for line in second.split("\n")[1:])
    rest = f"el{second}" if joins else "else:\n" + textwrap.indent(second, "    ")
    return _Step(words, f"if {test}:\n{textwrap.indent(first, '    ')}\n{rest}", tuple(codes))


def _fill_condition(dice: Dice, condition: Condition, variable: str) -> tuple[str, str]:
    """Draw the constant of a condition on a variable, and return the condition as code and in words."""
    c = dice.one(condition.c) if condition.c else ""
    return condition.code.format(x=variable, c=c), fill_words(condition.words, c)


def _draw_guard(dice: Dice, takes: str, gives: str, variable: str) -> _Step:
    """Draw a condition under which the function returns at once."""
    test, condition_words = _fill_condition(dice, dice.one(_CONDITIONS[takes]), variable)
    value = dice.one(_GUARD_VALUES[gives])
    return _Step(
        f"If {condition_words}, the result is {value} at once, and the rest is left out.",
        f"if {test}:\n    return {value}",
        ("pass",),
    )
