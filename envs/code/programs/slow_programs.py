"""Slow programs drawn from the tables of kinds, each with its fast counterpart, and arguments for both."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .dice import Dice
from .slow_program_kinds import NUMBER, NUMBERS, TEXT, SlowProgramKind
from .slow_programs_with_algorithms import ALGORITHM_KINDS
from .slow_programs_with_lists import CONTAINER_KINDS
from .slow_programs_with_sweeps import SWEEP_KINDS

# Kinds by the technique that speeds them up, the easiest first.
TECHNIQUES: dict[str, tuple[SlowProgramKind, ...]] = {
    "containers": CONTAINER_KINDS,
    "sweeps": SWEEP_KINDS,
    "algorithms": ALGORITHM_KINDS,
}
_NAMES = ("process", "compute", "solve", "measure", "evaluate", "analyse", "score", "tally", "inspect", "summarise")
_PARAMETERS = {
    NUMBERS: ("numbers", "values", "items"),
    TEXT: ("text", "phrase", "word"),
    NUMBER: ("n", "m", "k"),
}
_ALONE, _SEVERAL = ("result", "found", "answer"), ("first", "second", "third")
_LETTERS = "abcdefghijklmnopqrst"
_EXPRESSION = r"(\w+(?:\[\w+\])?)"
_CONDITION = re.compile(rf"\?\({_EXPRESSION}\)")
_VALUE = re.compile(rf"(?P<alone>(?<= = )|(?<= \+= )|(?<=append\())?!\({_EXPRESSION}\)(?P<end>\)?$)?", re.MULTILINE)
_SHORTEST, _LONGEST = 2, 6


class Part(NamedTuple):
    """One of the computations of a function: its kind, its parameter, and its statements, slow and fast.

    ``essence`` is the slow text with neutral names, independent of the drawn names.
    """

    kind: SlowProgramKind
    parameter: str
    essence: str
    slow: str
    fast: str
    why: str
    instead: str


class SlowProgram(NamedTuple):
    """A slow function, and a fast one that returns the same values."""

    name: str
    parts: tuple[Part, ...]
    slow: str
    fast: str

    @property
    def essence(self) -> str:
        """The text of the parts with neutral names."""
        return "\n".join(part.essence for part in self.parts)


def draw_slow_program(dice: Dice, technique: str, parts: int) -> SlowProgram:
    """Draw a program of ``parts`` slow parts, each of a different kind."""
    kinds: list[SlowProgramKind] = []
    while len(kinds) < parts:
        kind = dice.one(TECHNIQUES[technique])
        if kind not in kinds:
            kinds.append(kind)
    results = [dice.one(_ALONE)] if parts == 1 else _SEVERAL[:parts]
    taken: list[Part] = []
    for kind, result in zip(kinds, results):
        free = [name for name in _PARAMETERS[kind.takes] if all(name != part.parameter for part in taken)]
        taken.append(_draw_part(dice, kind, dice.one(free), result))
    name = dice.one(_NAMES)
    signature = f"{name}({', '.join(part.parameter for part in taken)})"
    sources = []
    for bodies in ([part.slow for part in taken], [part.fast for part in taken]):
        lines = "\n".join(bodies).split("\n")
        imports = list(dict.fromkeys(line for line in lines if line.startswith("from ")))
        head = "\n".join(imports) + "\n\n\n" if imports else ""
        body = "".join([f"    {line}\n" for line in lines if not line.startswith("from ")])
        sources.append(f"{head}def {signature}:\n{body}    return {', '.join(results)}")
    return SlowProgram(name, tuple(taken), *sources)


def _draw_part(dice: Dice, kind: SlowProgramKind, parameter: str, result: str) -> Part:
    constants = {mark: str(dice.one(getattr(kind, mark))) for mark in "cd"}
    letters = _LETTERS[: kind.letters]
    first = dice.one(letters)
    constants.update(l=first, m=dice.one(letters.replace(first, "")))
    condition = _draw_condition(dice, kind, letters)
    k, form = dice.between(2, 9), dice.below(6)
    value = (f"@ * {k}", f"@ + {k}", f"@ % {k + 4}", "@ * @", f"abs(@ - {k})", f"{k} - @")[form]

    def fill(text: str, **names: str) -> str:
        text = re.sub(r"\$(\w)", lambda mark: {**constants, **names}[mark[1]], text)
        text = _CONDITION.sub(lambda place: condition.replace("@", place[1]), text)
        return _VALUE.sub(lambda place: _place_value(place, value), text)

    texts = kind.slow, kind.fast, kind.why, kind.instead
    essence = fill(kind.slow, x="_", y="__")
    return Part(kind, parameter, essence, *[fill(text, x=parameter, y=result) for text in texts])


def _place_value(place: re.Match[str], value: str) -> str:
    """Write the value for ``!(v)``, in parentheses unless it stands alone."""
    code = value.replace("@", place[2])
    alone = place["alone"] is not None and place["end"] is not None
    return (code if alone or code.startswith("abs") else f"({code})") + (place["end"] or "")


def _draw_condition(dice: Dice, kind: SlowProgramKind, letters: str) -> str:
    """Draw a condition on ``@``: a character of a text, or a number."""
    if kind.takes == TEXT:
        some = "".join(sorted({dice.one(letters) for _ in range(2 if kind.often else 4)}))
        return f'@ not in "{some}"' if kind.often else f'@ in "{some}"'
    by = dice.between(5, 9) if kind.often else dice.between(2, 6)
    form = 0 if kind.often else dice.below(4)
    if form < 2:
        return f"@ % {by} {'!=' if form == 0 else '=='} {dice.below(by)}"
    return f"@ {'<' if form == 2 else '>'} {dice.between(0, 9)}"


# Arguments.


def large_arguments(dice: Dice, program: SlowProgram, size: int, times: int = 1) -> list[Any]:
    """Draw arguments on which slow and fast code differ much, ``times`` times as large as for ``size``."""
    drawn: list[Any] = []
    for part in program.parts:
        kind, most = part.kind, times * argument_size(part.kind, size)
        if kind.takes == NUMBER:
            drawn.append(dice.between(most, most + most // 16))
        elif kind.takes == TEXT:
            drawn.append("".join([_LETTERS[dice.below(kind.letters)] for _ in range(most)]))
        else:
            drawn.append([dice.between(*kind.values) for _ in range(most)])
    return drawn


def argument_size(kind: SlowProgramKind, size: int) -> int:
    """Return the length of a large argument, or the approximate value of a large number."""
    return kind.base + int(kind.scale * size)


def small_arguments(dice: Dice, program: SlowProgram, edge: int = -1) -> list[Any]:
    """Draw arguments on which every program ends soon. With ``edge`` 0 or 1, every number or length is ``edge``."""
    return [_draw_small(dice, part.kind, edge) for part in program.parts]


def _draw_small(dice: Dice, kind: SlowProgramKind, edge: int) -> Any:
    if kind.takes == NUMBER:
        return edge if edge >= 0 else dice.below(max(8, kind.base // 3))
    length = edge if edge >= 0 else dice.between(_SHORTEST, _LONGEST)
    if kind.takes == TEXT:
        return "".join([_LETTERS[dice.below(kind.letters)] for _ in range(length)])
    low, high = kind.values if dice.chance(0.5) else (-5, 9)
    numbers = [dice.between(low, high) for _ in range(length)]
    if length > 1 and dice.chance(0.5):
        numbers[dice.below(length)] = numbers[dice.below(length)]
    return numbers
