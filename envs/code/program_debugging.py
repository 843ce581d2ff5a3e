"""palaestra/ProgramDebugging-v0: fix a function in several turns, with the results of tests and of trial calls."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...rewards.answers import MAX_PROGRAM, fenced, program_in
from ..game import Game, Transition
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..registration import register
from ..sandbox import Call, CallTest, Limits, check_backend, run, run_tests
from .judging.literals import read_arguments
from .judging.outputs import describe_output, keep_ends
from .judging.program_question import EXAMPLE, format_examples, make_call_tests
from .programs.block_runs import ENDLESS
from .programs.bugs import draw_buggy
from .programs.cases import ProgramCase
from .programs.dice import Dice
from .programs.grammar import DOMAINS, Program, format_call, number_sentences, write_source
from .programs.steps import INTEGER

TESTS, _LONGEST_PROMPT = 8, 2_000
# Maximum characters in an observation: of the feedback of tests, of a call with its value, and of a program's output.
_MOST_FEEDBACK, _MOST_VALUE, _MOST_OUTPUT = 1_500, 1_000, 1_000


@dataclass(frozen=True, slots=True)
class Debugging:
    """The state of an episode.

    Args:
        program: the correct function.
        bugs: the number of bugs.
        code: the program submitted last; at first the one with the bugs.
        tests: the tests that judge it, the public ones first.
        given: the number of tests that the program with the bugs passes.
        best: the maximum number of tests passed by any program so far.
        turns: the number of turns left.
        feedback: the text of the last turn's result; "" before the first turn.
    """

    program: Program
    bugs: int
    code: str
    tests: tuple[CallTest, ...]
    given: int
    best: int
    turns: int
    feedback: str = ""

    @property
    def progress(self) -> float:
        """Share of the initially failing tests that the best program has gained: (best - given) / (tests - given), 0 to
        1. Rounded to 30 binary places, so that the increments sum to exactly 1."""
        return round((self.best - self.given) / (len(self.tests) - self.given) * 2**30) / 2**30


class ProgramDebugging(Game):
    """Mend a Python function that has up to three bugs, in several turns.

    Description:
        The function is drawn as in `ProgramSynthesis`, with bugs as in `ProgramRepair`, each in a different step. Eight
        tests judge the function; at least one fails as long as any bug is left. In each turn the agent either submits a
        program, and receives the number of tests passed and the first example that fails; or calls the program
        submitted last, and receives the value and the output. The function fails the first example; with at least as
        many examples as bugs, each bug alone fails one of them.

    Parameters:
        steps (1 to 5, on request up to 8): number of sentences of the specification.
        domain ("numbers", "strings", "lists"): the type of the function's argument.
        bugs (1 to 3, on request 4): number of bugs in the function, at most one for each step.
        turns (6 to 2, harder downwards, on request 1 to 12): programs and calls in all. One program may suffice.
        examples (4 to 2, harder downwards, on request 1 to 7): number of tests that the prompt shows.

    Observation:
        Text: at first the specification, the function with the bugs, and examples of what it should return; then the
        result of the last turn, and the number of turns left. Long output lacks its middle.

    Actions:
        Text with the whole function in a fenced block of Python (the last block counts) or alone; or a call with each
        argument written out, such as ``f([1, 2], 3)``, on the last line. The whole reply is read, unless
        ``answer_format`` says otherwise.

    Reward:
        1 for a program that passes all tests, in whatever turn, and 0 otherwise. With ``graded=True`` the reward of a
        turn is the increase of ``info["progress"]``: (best - given) / (8 - given), where ``given`` and ``best`` are the
        tests passed by the function with the bugs and by the best program so far. No value is right in more than three
        of the eight tests. A turn in which the sandbox fails is invalid, and changes only the number of turns left.

    Termination:
        When all tests pass. Truncated when no turn is left. A reply that is neither a program nor a call uses up a
        turn.

    Source:
        Program repair with the results of tests, as in Self-Debug (Chen et al., arXiv 2304.05128), over mutants as in
        mutation testing (DeMillo, Lipton & Sayward, "Hints on test data selection", Computer 11(4), 1978).

    Args:
        graded: True for a reward for progress; see Reward.
        backend: the sandbox, by its name in `sandbox.BACKENDS`.
        seconds: the time limit of a call of the program.
        **kwargs: as for every environment.

    Raises:
        MachineryError: this machine cannot provide the sandbox.
        MissingExtra: the package of the backend 'docker' is not installed.
    """

    param_space = ParamSpace(
        [
            IntAxis("steps", 1, 5, limits=(1, 8)),
            ChoiceAxis("domain", tuple(DOMAINS)),
            IntAxis("bugs", 1, 3, limits=(1, 4)),
            IntAxis("turns", 2, 6, harder="down", limits=(1, 12)),
            IntAxis("examples", 2, 4, harder="down", limits=(1, TESTS - 1)),
        ]
    )
    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks = False
    needs_sandbox: ClassVar[bool] = True
    supplies = frozenset({"tests", "test_report"})

    def __init__(self, *, graded: bool = False, backend: str = "local", seconds: float = 2.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.graded, self.backend = graded, backend
        check_backend(backend)
        self.limits = Limits(seconds=seconds)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Debugging:
        dice = Dice(rng)
        while True:
            state = self._draw(dice, params)
            if len(self.observe(state)) <= _LONGEST_PROMPT * max(1, params["steps"] / 5):
                return state

    def content_of(self, episode: Debugging) -> str:
        return f"{episode.code}\n{number_sentences(episode.program)}"

    def split_key(self, episode: Debugging) -> str:
        return "\n".join(episode.program.specification)

    def turn_limit(self, state: Debugging) -> int:
        return state.turns

    def solver_cost(self, episode: Debugging) -> float:
        """Return the length of the correct program in characters, times the number of bugs."""
        return float(len(episode.program.source) * episode.bugs)

    def observe(self, state: Debugging) -> str:
        if state.best == len(state.tests):
            return state.feedback
        if state.feedback:
            return f"{state.feedback}\n{_describe_turns(state.turns)}"
        program = state.program
        public = [ProgramCase(tuple(test.arguments), test.expected) for test in state.tests if test.public]
        return (
            f"This Python function has {'one bug' if state.bugs == 1 else f'{state.bugs} bugs'}:\n"
            f"```python\n{state.code}\n```\nHere {program.describe_arguments()} The function should do this, in order, "
            f"and return the result:\n{number_sentences(program)}\nIt should be so that:\n"
            f"{format_examples(program, public)}\n{_describe_turns(state.turns)} In each, write either the whole "
            f"function, mended, in a block of Python code, such as\n{EXAMPLE}\nto hear how many of {len(state.tests)} "
            "tests pass and which example fails first (when all pass, you are done); or only a call, such as "
            f"{_example(state)}, to see what your last program (at first the one above) returns for it, and prints."
        )

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        # An action that cannot be read uses up a turn as well, but never reaches `act`.
        if self.read_action(action)[1]:
            self._state = replace(self._state, turns=self._state.turns - 1)
        return super().step(action)

    def act(self, state: Debugging, action: str) -> Transition:
        state = replace(state, turns=state.turns - 1)
        program, code = state.program, program_in(action)
        if re.search(rf"\b(?:def|class|as)\s+{program.name}\b|\b{program.name}\s*=(?!=)", code):
            return self._judge_submission(state, code)
        call = code.rpartition("\n")[2].strip("` \t")
        if re.fullmatch(rf"{program.name}\s*\(.*\)", call):
            kinds = [(p.name, INTEGER if place else program.takes) for place, p in enumerate(program.parameters)]
            arguments = read_arguments(call, program.name, kinds)
            if arguments is not None:
                return self._call_program(state, arguments)
        error = (
            f"Write either the whole function {program.name} in a block of Python code, or a call with each argument "
            f"written out, such as {_example(state)}."
        )
        return Transition(state, progress=state.progress, action_error=error)

    def oracle(self, state: Debugging) -> str:
        return fenced(state.program.source)

    def _draw(self, dice: Dice, params: dict[str, Any]) -> Debugging:
        bugs = min(params["bugs"], params["steps"])
        buggy = draw_buggy(dice, params["domain"], params["steps"], TESTS, bugs)
        program, cases = buggy.program, buggy.cases
        passed = 0
        for one in cases:
            outcome = program.run(one.arguments, buggy.body)
            # As in the sandbox, no test runs after an endless one.
            if outcome.error == ENDLESS:
                break
            passed += not outcome.error and outcome.value == one.value
        tests = make_call_tests(program, cases, params["examples"])
        return Debugging(program, bugs, write_source(program, buggy.body), tests, passed, passed, params["turns"])

    def _judge_submission(self, state: Debugging, code: str) -> Transition:
        judgement = run_tests(code, state.tests, limits=self.limits, backend=self.backend)
        if not judgement.valid:
            return Transition(state, progress=state.progress, terms={"tests": 0.0}, valid=False)
        best = max(state.best, sum(judgement.passed))
        after = replace(state, code=code, best=best, feedback=keep_ends(judgement.feedback, _MOST_FEEDBACK))
        earned = after.progress - state.progress if self.graded else float(judgement.success)
        return Transition(
            *(after, judgement.success, judgement.success, after.progress),
            terms={"tests": earned},
            extras=judgement.verdict().extras,
            feedback=after.feedback,
        )

    def _call_program(self, state: Debugging, arguments: tuple[Any, ...]) -> Transition:
        name = state.program.name
        call = Call(name, arguments, self.limits.seconds)
        # The program's own statements and the call may take ``seconds`` each.
        whole = replace(self.limits, seconds=2 * self.limits.seconds, program_seconds=self.limits.seconds)
        result = run(state.code, limits=whole, calls=[call], backend=self.backend)
        if not result.valid:
            return Transition(state, progress=state.progress, terms={"tests": 0.0}, valid=False)
        (value,) = result.values
        does = f"failed: {value.error}" if value.error else f"returned {value.value!r}"
        feedback = keep_ends(f"{format_call(state.program, arguments)} {does}", _MOST_VALUE) + "."
        printed = keep_ends(describe_output(result, self.limits), _MOST_OUTPUT)
        if printed:
            feedback += f" The output:\n```output\n{printed}\n```"
        after = replace(state, feedback=feedback)
        return Transition(after, progress=state.progress, terms={"tests": 0.0}, feedback=feedback)


def _example(state: Debugging) -> str:
    return format_call(state.program, tuple(state.tests[0].arguments))


def _describe_turns(turns: int) -> str:
    return f"You have {'no turn' if not turns else 'one turn' if turns == 1 else f'{turns} turns'} left."


register("palaestra/ProgramDebugging-v0", f"{__name__}:ProgramDebugging")
