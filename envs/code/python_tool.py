"""palaestra/PythonTool-v0: a question of another family, with Python as a tool."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards.answers import MAX_PROGRAM, REQUESTS
from ..game import Game, Transition
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from ..sandbox import Limits, run
from ..task_env import MAX_ACTION
from ..unicode import Unicode
from .judging.outputs import describe_output, keep_ends
from .judging.tool_calls import extract_program, strip_output

# Most characters of a program's output in an observation; the middle is left out.
SHOWN = 1_000
# Characters that this family adds to the question at most.
_ADDED = 2_048
# Turns beyond the calls: one for the answer, and one for an action that cannot be read.
_SPARE = 2
# A question that is an expression, for the oracle's program: "(17 * 5^3 - inv(4)) mod 97 = ?", "3 * (4 + 5) = ?".
_EXPRESSION = re.compile(r"((?:[0-9()+\-* ^]|inv)+?)(?: mod ([0-9]+))? = \?")
_INVERSE = re.compile(r"inv\(([0-9]+)\)")


@dataclass(frozen=True, slots=True)
class Session:
    """The state of an episode: the question, the calls that are left, the output of the last call (None before the
    first), whether the answer was given, and the programs that were run with whether each failed."""

    task: Task
    calls: int
    output: str | None = None
    over: bool = False
    made: tuple[tuple[str, bool], ...] = ()


class PythonTool(Game):
    """Answer a question of mathematics with the help of Python programs that are run for the agent.

    Description:
        The question is a task of the family ``of``. An action with a block of Python is a call: the program is run in
        the sandbox, by itself (nothing is kept from earlier calls), and what it printed or which error ended it is the
        next observation. An action without a block is the answer and ends the episode. Only what the agent writes
        itself is an answer: what a program prints is never read as one, nor is a block of output in an action, and an
        action with a program has no answer in it.

    Parameters:
        level (0.0 to 1.0): the difficulty of the question, in its own family.
        calls (8 to 1, harder downwards, on request up to 20): how many programs may be run.

    Observation:
        The question, what form its answer takes, and how Python is called; after a call a block of output of at most
        1000 characters, and how many calls are left.

    Actions:
        Text with a block between ```python and ```, or in a tag <code>, <python>, <tool> or <tool_call>; several blocks
        are one program. Any other text is the answer, read as the family reads it, or as ``answer_format`` says.

    Reward:
        That of the family for the answer; 0 for a call, whether or not the program raises an exception: that is no
        ``action_error``, but told in ``feedback`` and in the extra ``tool_errors``. A program that could not be run
        because the sandbox failed makes the turn invalid and is no call.

    Termination:
        After the answer. Truncated two turns after as many turns as there were calls.

    Source:
        ToRL, arXiv 2503.23383, and ReTool, arXiv 2504.11536; the questions are those of other families here.

    Args:
        of: the id of a `Question`.
        of_kwargs: arguments for it; ``level`` spans the axes that these leave.
        answer_format: how the answer is read; the family's own way where None.
        seconds: the limit of a run of a program.
        backend: of the sandbox, see `palaestra.envs.sandbox`.
        preload: modules that are in memory before a program starts, such as ("numpy",); see `sandbox.Job`.
        packages: a folder of further packages that programs may import; see `sandbox.Job`.
        **kwargs: as for every environment.

    Raises:
        InputError: ``of`` is not the id of a question, or an argument does not fit.
    """

    param_space = ParamSpace([FloatAxis("level", 0.0, 1.0), IntAxis("calls", 1, 8, harder="down", limits=(1, 20))])
    default_answer_format = "whole"
    answer_form = "program"
    # The question's own limit holds for answers, and that of programs for programs.
    max_answer = MAX_ACTION
    strips_marks = False
    needs_sandbox: ClassVar[bool] = True
    supplies = frozenset({"tool_calls", "tool_errors"})
    keeps_states = True

    def __init__(
        self,
        *,
        of: str = "palaestra/ModularArithmetic-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        seconds: float = 2.0,
        backend: str = "local",
        preload: Sequence[str] = (),
        packages: str = "",
        **kwargs: Any,
    ):
        self.inner = _make_question(of, of_kwargs or {}, answer_format)
        self.of, self.backend = of, backend
        self.supplies = self.supplies | self.inner.supplies
        self.limits = Limits(seconds=seconds)
        self.preload, self.packages = tuple(preload), packages
        super().__init__(**kwargs)
        self.observation_space = Unicode(self.inner.max_observation + _ADDED)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Session:
        return Session(self.inner.generate(rng, self.inner.param_space.at(params["level"])), params["calls"])

    def turn_limit(self, state: Session) -> int:
        return state.calls + _SPARE

    def observe(self, state: Session) -> str:
        if state.over:
            return ""
        if state.output is None:
            return (
                f"{state.task.prompt}{REQUESTS[self.inner.answer_format]}\nBefore you answer you may run Python "
                f"{_times(state.calls)}: write one program between ```python and ```, and what it prints comes "
                "back. Each program starts afresh. A reply without a program is your answer."
            )
        left = f"You may run Python {_times(state.calls)} more." if state.calls else "No call is left; answer now."
        return f"```output\n{state.output}\n```\n{left}"

    def act(self, state: Session, action: str) -> Transition:
        program = extract_program(action)
        if program is None:
            return self._judge_answer(state, strip_output(action))
        if not program.strip():
            return Transition(state, action_error="The block of Python is empty; write a program in it.")
        if len(program) > MAX_PROGRAM:
            error = f"The program has {len(program)} characters; at most {MAX_PROGRAM} are run."
            return Transition(state, action_error=error)
        if not state.calls:
            return Transition(state, action_error="No call is left; give the answer without a block of Python.")
        result = run(program, limits=self.limits, backend=self.backend, preload=self.preload, packages=self.packages)
        if not result.valid:
            return Transition(state, valid=False)
        shown = keep_ends(describe_output(result, self.limits) or "(nothing was printed)", SHOWN)
        # The same program however its lines end.
        made = (*state.made, (program.replace("\r\n", "\n").strip("\n"), not result.ok))
        after = replace(state, calls=state.calls - 1, output=shown, made=made)
        return Transition(after, feedback="" if result.ok else shown)

    def oracle(self, state: Session) -> str:
        answer = self.inner.oracle(state.task)
        if state.output is None:
            return f"```python\n{_script(state.task.prompt, answer)}\n```"
        return self.inner.write_action(answer)

    def measure_states(self, states: Sequence[Session], name: str) -> Any:
        made = states[-1].made
        if name == "tool_calls":
            return [{"name": "python", "arguments": {"code": program}} for program, _ in made]
        if name == "tool_errors":
            return [failed for _, failed in made]
        return self.inner.compute_extra(states[0].task, name)

    def solver_cost(self, episode: Session) -> float:
        """The cost of the question; the number of calls does not change it."""
        cost = self.inner.solver_cost(episode.task)
        return float(len(episode.task.prompt) + len(self.inner.oracle(episode.task)) if cost is None else cost)

    def content_of(self, episode: Session) -> str:
        return self.inner.content_of(episode.task)

    def split_key(self, episode: Session) -> str:
        return self.inner.split_key(episode.task)

    def _judge_answer(self, state: Session, text: str) -> Transition:
        verdict, error = self.inner.judge(state.task, text)
        if error and not verdict.malformed:
            # The text holds nothing that could be the answer.
            return Transition(state, action_error=error)
        return Transition(
            replace(state, over=True),
            done=True,
            success=verdict.success,
            progress=float(verdict.score),
            terms=dict(verdict.terms) or {"answer": float(verdict.score)},
            action_error=error,
            valid=verdict.valid,
            extras=verdict.extras,
            feedback=verdict.feedback,
        )


def _script(question: str, answer: str) -> str:
    """Write a program that prints the answer. It computes the question where that is an expression."""
    found = _EXPRESSION.match(question)
    if found is None:
        return f"print({answer!r})"
    expression, modulus = found[1].replace("^", "**"), found[2]
    if modulus is None:
        return f"print({expression})"
    expression = _INVERSE.sub(r"pow(\1, -1, n)", expression)
    return f"n = {modulus}\nprint({expression} % n)"


def _times(calls: int) -> str:
    return "once" if calls == 1 else f"up to {calls} times"


def _make_question(of: str, of_kwargs: Mapping[str, Any], answer_format: str | None) -> Question:
    misplaced = sorted({"difficulty", "split", "answer_format", "render_mode"} & set(of_kwargs))
    if misplaced:
        raise InputError(f"{', '.join(misplaced)} in of_kwargs must be given to PythonTool itself, not to {of}.")
    try:
        env = gym.make(of, disable_env_checker=True, answer_format=answer_format, **of_kwargs).unwrapped
    except (gym.error.Error, AttributeError, TypeError) as error:
        raise InputError(f"`of` must be the id of a registered question, not {of!r} ({error}).") from None
    if not isinstance(env, Question):
        raise InputError(f"`of` must be the id of a question with one answer; {of} is a {type(env).__name__}.")
    return env


register("palaestra/PythonTool-v0", f"{__name__}:PythonTool")
