"""`Question`: base of families whose episode is one prompt and one answer. A new family needs a param_space and one
method.

class Doubling(palaestra.envs.Question):
    param_space = ParamSpace([IntAxis("high", 10, 1000)])
    verifier = "integer"

    def generate(self, rng, params):
        n = int(rng.integers(1, params["high"] + 1))
        return Task(f"What is 2 * {n}? Answer with an integer only.", reference=2 * n)

palaestra.envs.register("me/Doubling-v0", Doubling)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ..errors import MachineryError
from ..rewards import Verdict, verify
from ..rewards.answers import REQUESTS, Form, without_thoughts
from ..rewards.answers.numbers import find_counted
from ..rewards.verifiers.registry import NUMBERS, verify_reading
from .criteria import criteria_of_solution
from .task_env import TaskEnv
from .unicode import Unicode


@dataclass(frozen=True, slots=True)
class Task:
    """One question with its reference answer.

    Args:
        prompt: the text that the agent reads: the question, and the form of the answer.
        reference: the value that the verifier compares with; plain data.
        solution: an answer that scores 1, for the oracle; None: ``str(reference)``.
        content: text that identifies the question, for splits and task ids; empty: ``terse``, or ``prompt`` if that is
            empty too.
        split_key: text shared by tasks of one origin, which then lie in the same split; empty: ``content`` decides.
        data: further data for judging, solving or drawing the task; picklable.
        terse: a shorter prompt, for small models that read single characters; empty: ``prompt``.
    """

    prompt: str
    reference: Any
    solution: str | None = None
    content: str = ""
    split_key: str = ""
    data: Any = None
    terse: str = ""


class Question(TaskEnv):
    """Base of families with one question and one answer per episode.

    A subclass sets ``param_space`` and ``verifier`` (a name of `palaestra.rewards.verify`) and implements `generate`;
    it may override `verify`, `oracle` and `solution_steps`. The reward is ``Verdict.reward``, and ``info["progress"]``
    is ``Verdict.score``. In ``info["extras"]``, ``reference`` is a right answer, ``solution_steps`` the worked
    solution, ``criteria`` lists criteria of a good solution, and ``rubric`` gives points for the results in the worked
    solution. A subclass whose worked solution is the answer alone sets ``works_in_steps = False``.
    """

    verifier: str = "text"
    works_in_steps: ClassVar[bool] = True
    supplies = frozenset({"reference", "solution_steps", "criteria", "rubric"})
    max_observation: ClassVar[int] = 65_536

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.observation_space = Unicode(self.max_observation)
        self.action_space = Unicode(self.max_action)
        self._request = REQUESTS[self.answer_format]
        self._task: Task | None = None

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        """Return a new task with these parameters. All randomness must come from ``rng``."""
        raise NotImplementedError(f"{type(self).__name__} must implement generate(rng, params) -> Task.")

    def prompt_of(self, task: Task) -> str:
        """Return the prompt of a task: ``task.terse`` if the environment has ``prompt="terse"`` and the task has one,
        ``task.prompt`` otherwise."""
        return task.terse if task.terse and self.prompt == "terse" else task.prompt

    def verify(self, task: Task, answer: str) -> Verdict:
        """Judge an answer: untrusted text of at most ``max_answer`` characters."""
        verdict = verify(self.verifier, answer, task.reference)
        if verdict.malformed and self.verifier in NUMBERS:
            # An answer that is no plain number may be a number and the noun that the prompt counts, "12 apples".
            return verify_reading(self.verifier, answer, task.reference, find_counted(task.prompt))
        return verdict

    def form_of(self, task: Task) -> Form:
        """Return the layout of the answer to ``task``. Default: ``answer_form``; overridden if tasks of the family
        differ in layout."""
        return self.answer_form

    def judge(self, task: Task, action: Any) -> tuple[Verdict, str | None]:
        """Return (verdict on a reply, error). The error is None, or says why no valid answer could be read.

        The first reading of the reply (see `read_action`) that has the required form counts.
        """
        found, error = self.read_action(action, self.form_of(task))
        verdict = Verdict(0.0, False, feedback=error or "")
        for place, answer in enumerate(found):
            read = self.verify(task, answer)
            if not read.malformed:
                verdict, error = read, None
                break
            if not place:
                verdict, error = read, read.feedback or "The answer does not have the required form."
        words = self.verifier == "text" and self.answer_format == "any"
        if words and not verdict.success and isinstance(action, str) and len(action) <= self.max_action:
            # Words that `read_action` takes for a label or a remark may be the answer.
            whole = without_thoughts(action, self.thoughts) or ""
            if len(whole) <= self.max_answer and (read := self.verify(task, whole)).success:
                return read, None
        return verdict, error

    def oracle(self, task: Task) -> str:
        """Return the answer to ``task``. Without argument, return the action that answers the current task."""
        return str(task.reference) if task.solution is None else task.solution

    def solution_steps(self, task: Task) -> list[str]:
        """Return the worked solution, for hints and rehearsal: one short line per step, the last line being the answer.
        A family without a worked solution returns the answer alone."""
        return [self.oracle(task)]

    def read_elements(self, answer: str) -> list[str] | None:
        """Return the elements of an answer that is an unordered collection, each in a standard spelling and as often as
        it occurs. Return None if the family has no such answers, or ``answer`` is not a valid one."""
        return None

    def criteria(self, task: Task) -> list[str]:
        """Return criteria of a good solution that do not contain the answer; possibly none. By default they are derived
        from the worked solution (see `criteria_of_solution`)."""
        return criteria_of_solution(self.solution_steps(task))

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name == "reference":
            return self.oracle(subject)
        if name == "solution_steps":
            return self.solution_steps(subject)
        if name == "criteria":
            return self.criteria(subject) or None
        if name == "rubric":
            from ..rewards.judges.rubric import rubric_of_solution

            return rubric_of_solution(self.solution_steps(subject))
        return super().compute_extra(subject, name)

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return the right answer to another question with the same parameters."""
        return self.oracle(self.generate(rng, dict(self._params)))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._task = task = self.begin(seed, options)
        return self.prompt_of(task) + self._request, self.task_info(task)

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        task = self.here()
        try:
            verdict, error = self.judge(task, action)
        except MachineryError as failure:
            verdict, error = Verdict(0.0, False, valid=False, feedback=str(failure)), None
        self._ended = True
        info = self.step_info(
            task,
            dict(verdict.terms) or {"answer": float(verdict.score)},
            success=verdict.success,
            progress=float(verdict.score),
            valid=verdict.valid,
            error=error,
            feedback=verdict.feedback,
            extras=verdict.extras,
        )
        return "", verdict.reward, True, False, info

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        if self.render_mode == "rgb_array":
            return self.draw(self.here())
        return self.prompt_of(self.here()) + self._request if self.render_mode == "ansi" else None

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        return self.generate(rng, params)

    def content_of(self, episode: Task) -> str:
        return episode.content or episode.terse or episode.prompt

    def split_key(self, episode: Task) -> str:
        return episode.split_key

    def here(self) -> Task:
        if self._task is None:
            raise gym.error.ResetNeeded(f"{type(self).__name__} has no task yet; call reset() first.")
        return self._task

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "task": self.here()}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        self._task = state["task"]


def with_prompt(of_kwargs: Mapping[str, Any] | None, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the constructor arguments of a question that another environment wraps: ``of_kwargs``, plus ``prompt``
    from the wrapper's own arguments ``own`` if ``of_kwargs`` has no ``prompt``."""
    return {**({"prompt": own["prompt"]} if "prompt" in own else {}), **(of_kwargs or {})}
