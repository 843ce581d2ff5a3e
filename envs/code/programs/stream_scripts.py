"""Scripts that call a random function several times and write the values to the output or to the error output.

A script is a function of the grammar, or a changed one (`augment`), and a loop over arguments. What it writes is
computed in this process, without the sandbox.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .block_runs import ENDLESS, UNCOUNTED, is_supported
from .cases import draw_arguments, is_small
from .dice import Dice
from .grammar import Program, draw_program, write_source
from .mutations import apply_mutation, find_sites
from .steps import INTEGER, LIST, TEXT, WORDS

# Conditions under which a value goes to the error output, by type.
_UNUSUAL = {
    INTEGER: {"value % 3 == 0": lambda v: v % 3 == 0, "value < 0": lambda v: v < 0, "value > 99": lambda v: v > 99},
    LIST: {"len(value) % 2": lambda v: len(v) % 2, "len(value) > 3": lambda v: len(v) > 3},
    TEXT: {"len(value) % 2": lambda v: len(v) % 2, "len(value) > 8": lambda v: len(v) > 8},
    WORDS: {"len(value) % 2": lambda v: len(v) % 2, "len(value) > 2": lambda v: len(v) > 2},
}
# Conditions on the first argument under which an augmented function raises an exception, by type.
_REFUSED = {
    INTEGER: ("{x} % 4 == 0", "{x} < 20", "{x} > 120"),
    LIST: ("len({x}) > 5", "len({x}) % 3 == 0", "0 in {x}"),
    TEXT: ("len({x}) > 12", "len({x}) % 3 == 0", "'a' in {x}"),
}
_EXCEPTIONS = ("ValueError", "TypeError", "KeyError", "IndexError", "ArithmeticError")
_OTHER_NAMES = ("helper", "step_one", "run", "apply", "calc", "func", "work", "build")
_TRIES = 5


class WrittenLine(NamedTuple):
    """A call with its value or the name of its exception, and the line that it makes the script write to a stream."""

    arguments: tuple[Any, ...]
    value: Any
    error: str
    stream: str
    text: str


class StreamScript(NamedTuple):
    """A function, its body in blocks, the arguments of its calls, the type of its values, and the condition under which
    a value counts as unusual."""

    program: Program
    body: tuple[str, ...]
    calls: tuple[tuple[Any, ...], ...]
    unusual: str

    @property
    def source(self) -> str:
        """The text of the script."""
        return self.write(write_source(self.program, self.body))

    def write(self, function: str) -> str:
        """Return the text of the script with this text of the function."""
        return (
            f"import sys\n\n{function}\n\nfor arguments in {list(self.calls)!r}:\n    try:\n"
            f"        value = {self.program.name}(*arguments)\n    except Exception as error:\n"
            f'        print("failed:", type(error).__name__, file=sys.stderr)\n        continue\n'
            f'    if {self.unusual}:\n        print("unusual:", value, file=sys.stderr)\n'
            f"    else:\n        print(value)"
        )

    def trace(self, body: tuple[str, ...] | None = None) -> list[WrittenLine] | None:
        """List the line that each call writes, with another body of the function if given. Return None if a call does
        not end, cannot be computed here, or gives a value of another type."""
        found = []
        for arguments in self.calls:
            value, error = self.program.run(arguments, self.body if body is None else body)
            if error in (ENDLESS, UNCOUNTED):
                return None
            try:
                unusual = bool(error) or bool(_UNUSUAL[self.program.gives][self.unusual](value))
            except TypeError:
                return None
            text = f"failed: {error}" if error else f"unusual: {value}" if unusual else str(value)
            found.append(WrittenLine(arguments, value, error, "stderr" if unusual else "stdout", text))
        return found

    def streams(self, body: tuple[str, ...] | None = None) -> dict[str, str] | None:
        """Compute the output and the error output; None where `trace` is."""
        lines = self.trace(body)
        if lines is None:
            return None
        return {name: "\n".join([line.text for line in lines if line.stream == name]) for name in ("stdout", "stderr")}


def draw_script(dice: Dice, domain: str, steps: int, calls: int, augmented: float) -> StreamScript | None:
    """Draw a script. Return None if its values are too large for a prompt, or too easy to guess.

    Args:
        domain, steps: as for `draw_program`.
        calls: number of calls.
        augmented: probability that the function is changed by `augment`.
    """
    program = draw_program(dice, domain, steps)
    body = program.blocks
    if dice.chance(augmented):
        program, body = augment(dice, program)
    arguments: list[tuple[Any, ...]] = []
    for place in range(_TRIES * calls):
        drawn = draw_arguments(dice, program, place if place < 2 and dice.chance(0.5) else -1)
        if len(arguments) < calls and drawn not in arguments:
            arguments.append(drawn)
    script = StreamScript(program, body, tuple(arguments), dice.one(tuple(_UNUSUAL[program.gives])))
    lines = script.trace()
    if lines is None or len(arguments) < calls:
        return None
    values = [line.value for line in lines if not line.error]
    first = [call[0] for call in arguments]
    hard = {repr(value) for value in values if len(repr(value)) > 2 and value not in first}
    good = all(map(is_small, values)) and len(hard) > calls // 2 and any(line.stream == "stdout" for line in lines)
    return script if good else None


def augment(dice: Dice, program: Program) -> tuple[Program, tuple[str, ...]]:
    """Return a variant of a program: another name, other names of variables, one small change of its code (an operator,
    a constant, a condition, ...), and for half of the programs a condition under which they raise an exception."""
    blocks = list(program.blocks)
    place = dice.below(len(blocks) - 1)
    if sites := find_sites(blocks[place]):
        changed = apply_mutation(blocks[place], dice.one(sites))
        blocks[place] = changed if is_supported(changed) else blocks[place]
    names = {name: f"v{number}" for number, name in enumerate(filter(None, dict.fromkeys(program.results)))}
    known = "|".join(map(re.escape, names))
    body = tuple(re.sub(rf"\b({known})\b", lambda m: names[m[1]], block) for block in blocks)
    if dice.chance(0.5):
        condition = dice.one(_REFUSED[program.takes]).format(x=program.parameters[0].name)
        body = (f"if {condition}:\n    raise {dice.one(_EXCEPTIONS)}", *body)
    return program._replace(name=dice.one(_OTHER_NAMES)), body
