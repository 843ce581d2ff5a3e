"""Problems of data sets: the question of a record, its tests, and the assembly of the program that is run."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from ...datasets.layouts import Item
from ...sandbox import CallTest, StdioTest

Test = CallTest | StdioTest
# Name of a function added to a program where a test cannot call the program's own function: it calls a method of the
# class Solution, or returns the truth of a value that is not plain data.
CALLED = "palaestra_called"
# Characters of a question that count as much as one statement or expression of the reference program.
_TO_WRITE = 10
# The published judges run functions under this module name, so that code under `if __name__ == "__main__"` is skipped.
_AS_MODULE = '__name__ = "builtins"\n'
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_FUTURE = re.compile(r"^from __future__ import [^\n]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Problem(Item):
    """A program to write. ``answer`` is the reference program, "" if the record has none.

    Args:
        function: the function or method to write; "" for a program that reads its standard input.
        tests: the tests that judge it.
        before: code that is placed before the program.
        after: code that is placed after it.
        stub: the beginning of the program, which an answer may continue.
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
        """The text that identifies the problem: the question and the name of the function."""
        return f"{' '.join(self.question.split())} {self.function}"

    @property
    def effort(self) -> float:
        """The characters of the question, and ten for each statement and expression of the reference program.

        Over the 158 problems of HumanEval that can be judged, its rank correlation with the summed success rates of
        three published models is -0.43; the length of the solution has -0.35, the number of branches and loops -0.29,
        and the number of tests -0.24. Adding either of the last two to the effort does not improve the correlation.
        """
        try:
            nodes = list(ast.walk(ast.parse(self.answer)))
        except (SyntaxError, ValueError, RecursionError):
            nodes = []
        return len(self.question) + _TO_WRITE * sum(isinstance(node, (ast.stmt, ast.expr)) for node in nodes)

    @property
    def outline(self) -> list[str]:
        """The lines of the reference program except the last, one statement each, without comments and docstrings;
        empty if it cannot be parsed, as for Python 2."""
        try:
            tree = ast.parse(self.answer)
        except (SyntaxError, ValueError, RecursionError):
            return []
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and len(node.body) > 1 and ast.get_docstring(node) is not None:
                del node.body[0]
        return [line for line in ast.unparse(tree).split("\n") if line.strip()][:-1]

    def assemble(self, program: str) -> str:
        """Return the code that is run to judge an answer: ``before``, the program (after ``stub`` if it is only the
        function's body) and ``after``."""
        name = re.escape(self.function)
        definition = rf"\b(?:def|as|import)\s+{name}\b|^{name}\s*[=:]"
        if self.stub and not re.search(definition, program, re.MULTILINE):
            program = f"{self.stub}{_indent_body(program)}"
        # Imports from __future__ must come first in a file.
        future = "".join(f"{line}\n" for line in _FUTURE.findall(program))
        module = _AS_MODULE if self.function else ""
        return f"{future}{module}{self.before}\n{_FUTURE.sub('', program)}\n{self.after}"

    def rename_in_feedback(self, feedback: str) -> str:
        """Return the feedback with the function's own name in place of `CALLED`."""
        return feedback.replace(CALLED, self.function) if self.function else feedback

    def mentions_function(self, program: str) -> bool:
        """Return True if the name of the function occurs in the program."""
        return re.search(rf"\b{re.escape(self.function)}\b", program) is not None


def _indent_body(program: str) -> str:
    """Indent the lines of a function's body. The first line may have lost its indentation."""
    first, *rest = program.split("\n")
    depths = [len(line) - len(line.lstrip()) for line in rest if line.strip()]
    opens = first.rstrip().endswith(":")
    if depths and min(depths) >= 4 and (depths[0] >= 8 or not opens):
        return f"    {program}"
    return textwrap.indent(program, "    ")


def select_tests(tests: Sequence[Test], most: int) -> list[Test]:
    """Select at most ``most`` tests: the public ones, and hidden ones spread from the first to the last.

    Data sets often begin with small tests, so the first tests alone would be too weak. At least one hidden test is
    selected if there is one.
    """
    public = [test for test in tests if test.public]
    hidden = [test for test in tests if not test.public]
    room = max(most - len(public), min(len(hidden), 1))
    if len(hidden) > room:
        hidden = [hidden[(place * (len(hidden) - 1)) // max(room - 1, 1)] for place in range(room)]
    return [*public[: most - len(hidden)], *hidden]
