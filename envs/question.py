"""`Question`: one prompt, one answer, and the episode is over. A new family is a param_space and one method.

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
        solution: an answer that scores 1, for the oracle; None where ``str(reference)`` is one.
        content: identifies the question, for splits and task ids; the terse prompt where empty, or else the prompt.
        split_key: shared by tasks of one origin, which then lie in the same split; the content where empty.
        data: further data for judging, solving or drawing the task; picklable.
        terse: a shorter prompt for models of characters; the prompt where empty.
    """

    prompt: str
    reference: Any
    solution: str | None = None
    content: str = ""
    split_key: str = ""
    data: Any = None
    terse: str = ""


class Question(TaskEnv):
    """Base of single-answer families.

    A subclass sets ``param_space`` and ``verifier`` (a name of `palaestra.rewards.verify`) and implements `generate`;
    it may override `verify`, `oracle` and `solution_steps`. Reward: the verdict's. ``info["progress"]`` is the
    verdict's score. Among the extras, ``reference`` is a right answer, ``solution_steps`` the worked solution,
    ``criteria`` what a good solution meets, and ``rubric`` gives points for the results in the worked solution. Where
    nothing is written down between question and answer, the subclass sets ``works_in_steps = False``.
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
        """Make a task with these parameters; all randomness comes from ``rng``."""
        raise NotImplementedError(f"{type(self).__name__} must implement generate(rng, params) -> Task.")

    def prompt_of(self, task: Task) -> str:
        """Return the text of a task in this environment's form of prompts."""
        return task.terse if task.terse and self.prompt == "terse" else task.prompt

    def verify(self, task: Task, answer: str) -> Verdict:
        """Judge an answer: untrusted text of at most ``max_answer`` characters."""
        verdict = verify(self.verifier, answer, task.reference)
        if verdict.malformed and self.verifier in NUMBERS:
            # Most answers are plain numbers; others may have the counted noun after the number.
            return verify_reading(self.verifier, answer, task.reference, find_counted(task.prompt))
        return verdict

    def form_of(self, task: Task) -> Form:
        """The layout of the answer to ``task``; ``answer_form`` unless the tasks of the family differ in it."""
        return self.answer_form

    def judge(self, task: Task, action: Any) -> tuple[Verdict, str | None]:
        """Return the verdict on a reply, and None or the reason why no answer could be read from it.

        The first reading of the reply that has the required form counts.
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
        if self.verifier == "text" and self.answer_format == "any" and not verdict.success and isinstance(action, str):
            # Words that look like a label or a remark may be the answer.
            whole = without_thoughts(action[: self.max_action], self.thoughts) or ""
            if len(whole) <= self.max_answer and (read := self.verify(task, whole)).success:
                return read, None
        return verdict, error

    def oracle(self, task: Task) -> str:
        """Return the bare answer to ``task``; without argument, the action that answers the current task."""
        return str(task.reference) if task.solution is None else task.solution

    def solution_steps(self, task: Task) -> list[str]:
        """Return the worked solution, one short line a step, the last one being the answer itself; for hints and
        rehearsal. A family without a worked solution returns the answer alone."""
        return [self.oracle(task)]

    def read_elements(self, answer: str) -> list[str] | None:
        """Return the elements of an answer that is a collection without order, equal ones as often as they occur, each
        in one spelling; None where the family has no such answers, or this is none."""
        return None

    def criteria(self, task: Task) -> list[str]:
        """List criteria of a good solution, without the answer; possibly empty. By default these are the operations of
        the worked solution, or else its steps without the answer."""
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
    """Return the arguments of a question that another environment asks: ``of_kwargs``, and the form of prompts among
    the outer environment's arguments, unless ``of_kwargs`` has one."""
    return {**({"prompt": own["prompt"]} if "prompt" in own else {}), **(of_kwargs or {})}
