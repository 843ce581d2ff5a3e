"""Programs to write: what a record of a data set asks for, and how an answer is put together and judged."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...datasets.layouts import Item
from ...sandbox import CallTest, StdioTest

Test = CallTest | StdioTest
# By this name the judge calls what a program cannot offer by its own: a method of the class Solution, or the truth of a
# value that is no plain data.
CALLED = "palaestra_called"
# Characters of a question that are as much effort as a statement or an expression to write.
_TO_WRITE = 10
# The published judges run functions under this name, so that what is to be done for a script alone is not.
_AS_MODULE = '__name__ = "builtins"\n'
_FUTURE = re.compile(r"^from __future__ import [^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Problem(Item):
    """A program to write; ``answer`` is the reference program, "" where the record has none.

    Args:
        function: the function or method to write; "" for a program that reads its standard input.
        tests: what it must do.
        before: what stands before the program when it is run.
        after: what stands behind it.
        stub: the begin of the program, which an answer may continue.
        examples: the first tests as the record words them, for the prompt.
    """

    function: str = ""
    tests: tuple[Test, ...] = ()
    before: str = ""
    after: str = ""
    stub: str = ""
    examples: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """What makes the problem the one it is: what is asked, and of which function."""
        return f"{' '.join(self.question.split())} {self.function}"

    @property
    def effort(self) -> float:
        """The characters of the question, and ten for each statement and expression of the reference program.

        Over the 158 problems of HumanEval that can be judged, its rank correlation with the summed success rates of
        three published models is -0.43; that of the length of the solution is -0.35, that of the number of branches
        and loops -0.29, and that of the number of tests -0.24. Neither of the last two adds to it.
        """
        return len(self.question) + _TO_WRITE * sum(isinstance(node, (ast.stmt, ast.expr)) for node in self._nodes())

    def whole(self, program: str) -> str:
        """What is run to judge an answer."""
        if self.stub and not self._defines(program):
            program = f"{self.stub}{_as_body(program)}"
        # These must come first in a file.
        future = "".join(f"{line}\n" for line in _FUTURE.findall(program))
        name = _AS_MODULE if self.function else ""
        return f"{future}{name}{self.before}\n{_FUTURE.sub('', program)}\n{self.after}"

    def spoken(self, feedback: str) -> str:
        """The feedback of the judge, with the function's own name."""
        return feedback.replace(CALLED, self.function) if self.function else feedback

    def names_it(self, program: str) -> bool:
        """Whether the name of the function occurs."""
        return re.search(rf"\b{re.escape(self.function)}\b", program) is not None

    def _nodes(self) -> Iterator[ast.AST]:
        try:
            yield from ast.walk(ast.parse(self.answer))
        except (SyntaxError, ValueError, RecursionError):
            return

    def _defines(self, program: str) -> bool:
        name = re.escape(self.function)
        return re.search(rf"\b(?:def|as|import)\s+{name}\b|^{name}\s*[=:]", program, re.MULTILINE) is not None


def _as_body(program: str) -> str:
    """The lines of a function's body, indented; the first one may have lost its white space already."""
    first, *rest = program.split("\n")
    depths = [len(line) - len(line.lstrip()) for line in rest if line.strip()]
    opens = first.rstrip().endswith(":")
    if depths and min(depths) >= 4 and (depths[0] >= 8 or not opens):
        return f"    {program}"
    return textwrap.indent(program, "    ")


def spread(tests: Sequence[Test], most: int) -> list[Test]:
    """At most so many of the tests: the public ones, and others from the first to the last, as sets often begin with
    the small ones. One that is not public is always among them, where there is one."""
    public = [test for test in tests if test.public]
    hidden = [test for test in tests if not test.public]
    room = max(most - len(public), min(len(hidden), 1))
    if len(hidden) > room:
        hidden = [hidden[(place * (len(hidden) - 1)) // max(room - 1, 1)] for place in range(room)]
    return [*public[: most - len(hidden)], *hidden]
