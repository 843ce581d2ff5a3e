"""`ToolQuestion`: base of environments that ask a question of another family and offer tools before the answer.

A subclass passes the tools to the constructor, and may override the prompt and the reading of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards.answers import REQUESTS, program_in
from ..code.judging.tool_calls import strip_output
from ..game import Game, Transition
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task, with_prompt
from ..registration import make_registered
from ..task_env import MAX_ACTION
from ..unicode import Unicode
from .tool import Tool, choose_call, explain_misread
from .tool_function import ToolFunction, find_function

# Characters around what tools say of themselves and what they return.
_ADDED = 2_048
# Turns beyond the calls: one for the answer, and one for an action that cannot be read.
_SPARE = 2


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call that was made: the tool's name, its arguments as pairs, and whether it failed."""

    name: str
    arguments: tuple[tuple[str, Any], ...]
    failed: bool


@dataclass(frozen=True, slots=True)
class Session:
    """The state of an episode: the question, the calls that are left, the output of the last call (None before the
    first), whether the answer was given, and the calls that were made."""

    task: Task
    calls: int
    output: str | None = None
    over: bool = False
    made: tuple[MadeCall, ...] = ()


class ToolQuestion(Game):
    """Base of families in which tools may be called before a question is answered.

    A reply in which a tool finds a call is a call, and takes its cost from the budget, whether or not it fails; any
    other reply is the answer and ends the episode. Output of a tool that a reply repeats is never read as an
    answer. ``info["extras"]`` has ``tool_calls``, the calls made, and ``tool_errors``, for each call True if it failed.

    Args:
        of: the id of a `Question`.
        of_kwargs: arguments for that environment. The axis ``level`` is the difficulty of its remaining axes.
        tools: the tools that may be called, in the order in which the prompt names them.
        answer_format: how the answer is read; None for the question's default.
        **kwargs: as for every environment.

    Raises:
        InputError: ``of`` is not the id of a question, or an argument does not fit.
    """

    param_space = ParamSpace([FloatAxis("level", 0.0, 1.0), IntAxis("calls", 1, 8, harder="down", limits=(1, 20))])
    default_answer_format = "whole"
    answer_form = "program"
    # The question limits the length of answers, and each tool that of its calls.
    max_answer = MAX_ACTION
    strips_marks = False
    needs_sandbox: bool = False
    supplies = frozenset({"tool_calls", "tool_errors"})
    keeps_states = True

    def __init__(
        self,
        *,
        of: str,
        of_kwargs: Mapping[str, Any] | None = None,
        tools: Sequence[Tool],
        answer_format: str | None = None,
        **kwargs: Any,
    ):
        self.inner = make_question(type(self).__name__, of, with_prompt(of_kwargs, kwargs), answer_format)
        self.of, self.tools = of, tuple(tools)
        self.needs_sandbox = any(tool.needs_sandbox for tool in tools)
        self.supplies = self.supplies | self.inner.supplies
        self.param_space = self.choose_space(self.inner)
        super().__init__(**kwargs)
        # Some families draw tasks of their split alone.
        self.inner.split = self.split
        said = sum(len(tool.name) + len(tool.usage) + len("- : \n") for tool in self.tools)
        most = max(said, *(tool.max_output for tool in self.tools))
        self.observation_space = Unicode(self.inner.max_observation + _ADDED + most)

    def choose_space(self, inner: Question) -> ParamSpace:
        """Return the axes of this environment, before the constructor's arguments restrict them."""
        return self.param_space

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Session:
        inner = self.inner.param_space.complete({}, rng, params["level"])
        return Session(self.inner.generate(rng, inner), params["calls"])

    def ask(self, task: Task) -> str:
        """Return the question and the form of its answer."""
        return f"{self.inner.prompt_of(task)}{REQUESTS[self.inner.answer_format]}"

    def explain(self, calls: int) -> str:
        """Write how tools are called, and which reply is the answer."""
        usages = "\n".join(f"- {tool.name}: {tool.usage}" for tool in self.tools)
        return (
            f"Before you answer you may use tools {count_times(calls)}, one in a reply:\n{usages}\n"
            f"A reply without {' or '.join(dict.fromkeys(tool.form for tool in self.tools))} is your answer."
        )

    def tool_functions(self) -> tuple[ToolFunction, ...]:
        """The tools that can be called as functions; see `OffersFunctions`. An answer is no call, but text, unless a
        subclass adds a function for it."""
        return tuple(tool.function for tool in self.tools if tool.function is not None)

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Write the action that calls a tool.

        Raises:
            InputError: there is no such tool, or the arguments do not fit.
        """
        checked = find_function(self.tool_functions(), name).check(arguments)
        return next(tool for tool in self.tools if tool.name == name).write(checked)

    def tell_left(self, calls: int) -> str:
        """Write how many calls are left; ``calls`` is at least 1."""
        deed = self.tools[0].deed if len(self.tools) == 1 else "use tools"
        return f"You may {deed} {count_times(calls)} more."

    def write_answer(self, state: Session) -> str:
        """Write the right answer so that no tool takes it for a call."""
        answer = self.inner.write_action(self.inner.oracle(state.task))
        return answer if choose_call(self.tools, answer) is None else f"<answer>\n{program_in(answer)}\n</answer>"

    def progress_of(self, state: Session) -> float:
        """Return the progress before the answer, below 1."""
        return 0.0

    def turn_limit(self, state: Session) -> int:
        return state.calls + _SPARE

    def observe(self, state: Session) -> str:
        if state.over:
            return ""
        if state.output is None:
            return f"{self.ask(state.task)}\n{self.explain(state.calls)}"
        left = self.tell_left(state.calls) if state.calls else "No call is left; answer now."
        return f"```output\n{state.output}\n```\n{left}" if state.output else left

    def act(self, state: Session, action: str) -> Transition:
        found = choose_call(self.tools, action)
        if found is None:
            if error := explain_misread(self.tools, action):
                return Transition(state, progress=self.progress_of(state), action_error=error)
            return self.judge_answer(state, strip_output(action))
        tool, arguments = found
        error = tool.refuse(arguments)
        if error is None and state.calls < tool.cost:
            error = f"No call is left; give the answer without {tool.form}."
        if error is not None:
            return Transition(state, progress=self.progress_of(state), action_error=error)
        result = tool.run(arguments, self.inner, state.task)
        if not result.valid:
            return Transition(state, progress=self.progress_of(state), valid=False)
        made = (*state.made, MadeCall(tool.name, tuple(arguments.items()), result.failed))
        after = replace(state, calls=state.calls - tool.cost, output=result.output, made=made)
        return Transition(
            after,
            progress=self.progress_of(after),
            action_error=result.error,
            feedback=result.output if result.failed else "",
        )

    def judge_answer(self, state: Session, text: str) -> Transition:
        """End the episode with an answer, unless nothing in the text could be one."""
        verdict, error = self.inner.judge(state.task, text)
        if error and not verdict.malformed:
            return Transition(state, progress=self.progress_of(state), action_error=error)
        return Transition(
            replace(state, over=True),
            done=True,
            success=verdict.success,
            progress=max(float(verdict.score), self.progress_of(state)),
            terms=dict(verdict.terms) or {"answer": float(verdict.score)},
            action_error=error,
            valid=verdict.valid,
            extras=verdict.extras,
            feedback=verdict.feedback,
        )

    def measure_states(self, states: Sequence[Session], name: str) -> Any:
        made = states[-1].made
        if name == "tool_calls":
            return [{"name": call.name, "arguments": dict(call.arguments)} for call in made]
        if name == "tool_errors":
            return [call.failed for call in made]
        return self.inner.compute_extra(states[0].task, name)

    def solver_cost(self, episode: Session) -> float:
        """Return the solver cost of the question, or the characters of prompt and answer if it has none."""
        cost = self.inner.solver_cost(episode.task)
        return float(len(episode.task.prompt) + len(self.inner.oracle(episode.task)) if cost is None else cost)

    def close(self) -> None:
        for tool in self.tools:
            tool.close()
        self.inner.close()

    def content_of(self, episode: Session) -> str:
        return self.inner.content_of(episode.task)

    def split_key(self, episode: Session) -> str:
        return self.inner.split_key(episode.task)


def count_times(calls: int) -> str:
    """Write "once" or "up to 3 times"."""
    return "once" if calls == 1 else f"up to {calls} times"


def make_question(owner: str, of: str, of_kwargs: Mapping[str, Any], answer_format: str | None) -> Question:
    """Make the environment whose questions are asked.

    Args:
        owner: name of the environment with tools, for messages.
        of, of_kwargs, answer_format: as for `ToolQuestion`.

    Raises:
        InputError: ``of`` is not the id of a `Question`, or ``of_kwargs`` has an argument that belongs to ``owner``.
    """
    misplaced = sorted({"difficulty", "split", "answer_format", "render_mode"} & set(of_kwargs))
    if misplaced:
        raise InputError(f"{', '.join(misplaced)} in of_kwargs must be given to {owner} itself, not to {of}.")
    try:
        env = make_registered(of, answer_format=answer_format, **of_kwargs).unwrapped
    except (gym.error.Error, AttributeError, TypeError) as error:
        raise InputError(f"`of` must be the id of a registered question, not {of!r} ({error}).") from None
    if not isinstance(env, Question):
        raise InputError(f"`of` must be the id of a question with one answer; {of} is a {type(env).__name__}.")
    return env
