"""palaestra/CodeCompletion-v0: fill the gap in a function."""

from __future__ import annotations

import ast
import builtins
import itertools
import keyword
import re
import textwrap
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.registry import rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..sandbox import CallTest, ProgramJudgement
from ..sandbox.judge import Failure
from .counting.meter import UNCOUNTED
from .judging.program_question import ProgramQuestion, format_examples, make_call_tests
from .program_synthesis import TESTS
from .programs.block_runs import ENDLESS, CallOutcome, is_supported
from .programs.cases import ProgramCase, draw_cases
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, draw_program, format_call, number_sentences

GAP = "____"
# A number or a name, which is only a value.
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{0,30}|[0-9]{1,15}")
# Number of tests shown in the prompt.
_PUBLIC = 2
_EXPRESSIONS = (ast.BinOp, ast.BoolOp, ast.Call, ast.Compare, ast.GeneratorExp, ast.IfExp, ast.ListComp, ast.Subscript)
# Minimum characters of a masked expression or line.
_SHORTEST = 6
# Guesses that must never fill a gap.
GUESSES = ("0", "1", "2", "3", "10", "42", "[]", "''", "i", "v")
_FORMS = {
    "expression": ("an expression", "len(values) + 1"),
    "line": ("one or more statements", "values = other + 1"),
    "step": ("one or more statements", "values = other + 1"),
}


class Infilling(NamedTuple):
    """Data of a task: the program, its text before and after the gap, the missing code, the kind of that code
    ("expression", "line" or "step"), and the tests, public ones first."""

    program: Program
    before: str
    after: str
    missing: str
    masked: str
    tests: tuple[CallTest, ...]


class CodeCompletion(ProgramQuestion):
    """Fill the gap in a Python function.

    Description:
        A part of a function, drawn as in `ProgramSynthesis`, is missing: an expression, a line, or all the code of a
        step. Any completion that passes the six tests is right. Simple constants and single variables (for an
        expression), and an empty gap (for statements), fail the tests and never loop for ever.

    Parameters:
        steps (1 to 5, on request up to 12): number of sentences of the specification.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        masked ("expression", "line", "step"): the kind of the missing code.

    Observation:
        Text: the specification, the function with a gap, and two examples.

    Actions:
        Text with the missing part, in a fenced block of Python or alone; the last block counts. The whole function is
        accepted as well, if it is unchanged outside the gap. The whole reply is read, unless ``answer_format`` says
        otherwise.

    Reward:
        1 if all tests pass, 0 otherwise; with ``graded=True`` the share of the tests that pass, which is also
        ``info["progress"]``.

    Termination:
        After the first answer.

    Source:
        Infilling of code as in Bavarian et al., "Efficient training of language models to fill in the middle", arXiv
        2207.14255, judged by tests.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 5, limits=(1, 12)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            ChoiceAxis("masked", tuple(_FORMS)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        found = None
        while found is None:
            found = _draw(dice, params["domain"], params["steps"], params["masked"])
        words, example = _FORMS[found.masked]
        program = found.program
        cases = [ProgramCase(tuple(test.arguments), test.expected) for test in found.tests[:_PUBLIC]]
        return Task(
            f"Here {program.describe_arguments()} This function should do the following, in order, and return the "
            f"result:\n{number_sentences(program)}\nThe gap {GAP} stands for {words}:\n"
            f"```python\n{found.before}{GAP}{found.after}\n```\nExamples:\n{format_examples(program, cases)}\n"
            f"Answer with what fills the gap, in a block of Python code, such as\n```python\n{example}\n```",
            found.missing,
            solution=fenced(found.missing),
            content=f"{found.before}{GAP}{found.after}\n{found.missing}",
            data=found,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        found: Infilling = task.data
        code = program_in(answer)
        if GAP in code or not code.strip():
            return rejected("The answer must be Python code that fills the gap.")
        if re.search(rf"\bdef\s+{found.program.name}\b", code):
            if not (code.startswith(found.before) and code.endswith(found.after)):
                return rejected("The answer must be what fills the gap, or the function with nothing else changed.")
            return self.judge_program(code, found.tests)
        if _WORD.fullmatch(code) and not hasattr(builtins, code) and not keyword.iskeyword(code):
            # Most single words are wrong, and a run in this process shows this without the sandbox.
            judgement = _judge_word(found, code)
            if judgement is not None:
                return judgement.verdict(self.graded)
        return self.judge_program(fill_gap(found.before, code, found.after, found.masked), found.tests)

    def criteria(self, task: Task) -> list[str]:
        return [
            *(f"The function does this: {sentence}" for sentence in task.data.program.specification),
            "Only the gap is filled, with code that fits before and after it.",
            "The function returns what the examples show.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        """List the sentences of the specification with their variables, the step with the gap, and the missing code."""
        found: Infilling = task.data
        *starts, _ = itertools.accumulate(
            (len(textwrap.indent(block, "    ")) + 1 for block in found.program.blocks),
            initial=len(f"def {found.program.signature}:\n"),
        )
        place = sum(start <= len(found.before) for start in starts)
        return [*found.program.plan(), f"The gap is in the code of step {place}.", self.oracle(task)]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return the missing code of another task, unless it would loop for ever here."""
        while True:
            answer = super().random_action(episode, rng)
            outcomes = _run_tests_here(episode.data, program_in(answer))
            if all(outcome.error != ENDLESS for outcome in outcomes):
                return answer

    def solver_cost(self, episode: Task) -> float:
        """Return the length of the program plus twice the length of the missing code, in characters."""
        found: Infilling = episode.data
        return float(len(found.program.source) + 2 * len(found.missing))


def fill_gap(before: str, code: str, after: str, masked: str) -> str:
    """Return the function with the gap filled: an expression in parentheses, statements with the gap's indentation."""
    if masked == "expression":
        # The line break ends a comment after the expression.
        return f"{before}({code}\n){after}"
    indent = before[before.rfind("\n") + 1 :]
    return before + textwrap.indent(textwrap.dedent(code), indent).removeprefix(indent) + after


def _run_tests_here(found: Infilling, code: str) -> list[CallOutcome]:
    """Run the tests in this process, with this code in the gap. Return an empty list if they cannot be run here."""
    whole = f"{found.before}({code}){found.after}"
    if found.masked != "expression":
        whole = fill_gap(found.before, code, found.after, found.masked)
    body = textwrap.dedent(whole.partition("\n")[2])
    if not is_supported(body):
        return []
    return [found.program.run(tuple(test.arguments), (body,)) for test in found.tests]


def _judge_word(found: Infilling, word: str) -> ProgramJudgement | None:
    """Judge a single word in the gap. Return None if it passes every test, or may loop for ever."""
    outcomes = _run_tests_here(found, word)
    failures: list[Failure] = [
        "error" if outcome.error else "" if outcome.value == test.expected else "wrong"
        for test, outcome in zip(found.tests, outcomes)
    ]
    if not any(failures) or any(outcome.error in (ENDLESS, UNCOUNTED) for outcome in outcomes):
        return None
    summary = f"{failures.count('')} of {len(failures)} tests passed."
    for test, outcome, failure in zip(found.tests, outcomes, failures):
        if test.public and failure:
            got = f"failed: {outcome.error}" if outcome.error else f"returned {outcome.value!r}"
            call = format_call(found.program, tuple(test.arguments))
            return ProgramJudgement(tuple(failures), f"{summary} {call} {got}; expected {test.expected!r}.")
    return ProgramJudgement(tuple(failures), f"{summary} A test that is not shown failed.")


def _draw(dice: Dice, domain: str, steps: int, masked: str) -> Infilling | None:
    """Draw a program and a gap in it. Return None if the program has no code of this kind to mask, no suitable tests,
    or a gap that a simple guess fills."""
    program = draw_program(dice, domain, steps)
    place = dice.below(len(program.blocks) - 1)
    spans = find_spans(program.blocks[place], masked)
    if not spans:
        return None
    start, end = dice.one(spans)
    block = program.blocks[place]
    margin = block[block.rfind("\n", 0, start) + 1 : start]
    missing = textwrap.dedent(("" if margin.strip() else margin) + block[start:end])
    cases = draw_cases(dice, program, TESTS)
    if cases is None:
        return None
    guesses = (*GUESSES, *(parameter.name for parameter in program.parameters), *program.results)
    fillings = [guess for guess in guesses if guess] if masked == "expression" else ["pass"]
    for filling in fillings:
        code = fill_gap(block[:start], filling, block[end:], masked)
        body = (*program.blocks[:place], code, *program.blocks[place + 1 :])
        if is_supported(code) and not _is_clearly_wrong(program, body, cases):
            return None
    head = len(program.source) - len("\n".join(textwrap.indent(code, "    ") for code in program.blocks[place:]))
    first, last = head + shift_by_indent(block, start), head + shift_by_indent(block, end)
    source = program.source
    tests = make_call_tests(program, cases, _PUBLIC)
    return Infilling(program, source[:first], source[last:], missing, masked, tests)


def _is_clearly_wrong(program: Program, body: tuple[str, ...], cases: list[ProgramCase]) -> bool:
    """Return True if a body is wrong in some case and loops for ever in none."""
    loops = any("while" in block for block in body)
    wrong = False
    for one in cases:
        outcome = program.run(one.arguments, body)
        if outcome.error == ENDLESS:
            return False
        wrong = wrong or bool(outcome.error) or outcome.value != one.value
        if wrong and not loops:
            break
    return wrong


def shift_by_indent(block: str, place: int) -> int:
    """Return the position of ``place`` in the block once every line is indented by four more spaces."""
    return place + 4 * (block.count("\n", 0, place) + 1)


def find_spans(block: str, masked: str) -> list[tuple[int, int]]:
    """List (start, end) of each piece of a block that may be masked."""
    if masked == "step":
        return [(0, len(block))]
    lines = block.split("\n")
    begins = [sum(len(line) + 1 for line in lines[:row]) for row in range(len(lines))]
    kinds = _EXPRESSIONS if masked == "expression" else (ast.Assign, ast.AugAssign, ast.Expr)
    spans = []
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, kinds) and not isinstance(getattr(node, "ctx", None), ast.Store):
            start = begins[node.lineno - 1] + node.col_offset
            end = begins[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            if end - start >= _SHORTEST:
                spans.append((start, end))
    return spans


register("palaestra/CodeCompletion-v0", f"{__name__}:CodeCompletion")
