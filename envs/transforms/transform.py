"""`Transform`: any question in another form, with the same tasks, splits and axes, and some additional axes.

env = gym.make("palaestra/MultipleChoice-v0", of="palaestra/Sudoku-v0", of_kwargs={"size": 4}, options=4)
env = gym.make("palaestra/HintPrefix-v0", of="palaestra/WordProblem-v0", split="test", hint=0.5)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...rewards import Verdict
from ...rewards.answers import REQUESTS
from ..axes import Axis
from ..param_space import ParamSpace
from ..question import Question, Task, with_prompt
from ..registration import make_registered
from ..unicode import Unicode

# Failed draws after which an inner family counts as unsuitable for a transform.
MAX_DRAWS = 200


class Transform(Question):
    """Base of questions made from other questions.

    A subclass sets ``own_axes``, implements ``generate``, and keeps the inner task as ``Task.data``. Unless overridden,
    the inner family provides the judge, the oracle and the worked solution. A task is in the split of its inner task,
    so that no form of a test task occurs in training. All forms of a task have the same ``task_id`` if their parameters
    are equal.

    Attributes:
        inner: the transformed question.

    Args:
        of: the id of the inner family, whose class must be a `Question`.
        of_kwargs: arguments of the inner family, such as values of axes by name, or ``axes``; not ``difficulty``,
            ``split``, ``answer_format`` and ``render_mode``, which must be given to the transform.
        **kwargs: as for every environment; axes are those of the transform and of the inner family.

    Raises:
        InputError: ``of`` is not the id of a Question, has an axis with the name of an axis of the transform, or cannot
            take this form.
    """

    own_axes: ClassVar[tuple[Axis, ...]] = ()
    # Maximum characters that the form adds to the inner prompt.
    added: ClassVar[int] = 8_192

    def __init__(
        self,
        *,
        of: str = "palaestra/LinearEquation-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        self.inner = make_question(of, with_prompt(of_kwargs, kwargs))
        self.param_space = self.join_axes()
        self.of, self.content_identifies = of, self.inner.content_identifies
        if type(self).verify is Transform.verify:
            self.supplies = self.inner.supplies
        super().__init__(**kwargs)
        self.observation_space = Unicode(self.inner.max_observation + self.added)

    def join_axes(self) -> ParamSpace:
        """Return the axes of the transform and of the inner family."""
        return ParamSpace([*self.own_axes, *self.inner.param_space.axes], self.inner.param_space.spread)

    def adopt_answer_format(self) -> None:
        """Read answers in the inner family's format, for transforms that keep the inner answers."""
        self.answer_format, self.answer_form = self.inner.answer_format, self.inner.answer_form
        self._request = REQUESTS[self.answer_format]

    def inner_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of ``params`` that belongs to the inner family."""
        return {name: params[name] for name in self.inner.param_space.names}

    def unsuitable(self, why: str) -> InputError:
        """Return the error for an inner family that cannot take this form."""
        return InputError(f"{type(self).__name__} cannot be made of {self.of}: {why}; choose another id for `of`.")

    def require_steps(self) -> None:
        """Raise InputError if the inner family has no worked solutions."""
        task = self.inner.generate(np.random.default_rng(0), self.inner.param_space.at(0.5))
        if len(self.inner.solution_steps(task)) < 2:
            raise self.unsuitable("it shows no steps of a solution")

    def verify(self, task: Task, answer: str) -> Verdict:
        return self.inner.verify(task.data, answer)

    def oracle(self, task: Task) -> str:
        return self.inner.oracle(task.data)

    def solution_steps(self, task: Task) -> list[str]:
        return self.inner.solution_steps(task.data)

    def criteria(self, task: Task) -> list[str]:
        return self.inner.criteria(task.data)

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name in Question.supplies:
            return super().compute_extra(subject, name)
        return self.inner.compute_extra(subject.data, name)

    def solver_cost(self, episode: Task) -> float | None:
        return self.inner.solver_cost(episode.data)

    def content_of(self, episode: Task) -> str:
        return self.inner.content_of(episode.data)

    def split_key(self, episode: Task) -> str:
        return self.inner.split_key(episode.data)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "of": self.of}

    def set_state(self, state: Any) -> None:
        if isinstance(state, Mapping) and state.get("of", self.of) != self.of:
            raise InputError(f"set_state needs a snapshot by get_state of a transform of {self.of}, not {state['of']}.")
        super().set_state(state)


def make_question(of: str, of_kwargs: Mapping[str, Any]) -> Question:
    """Make the question with the id ``of``, whose tasks another environment shows in its own form.

    Raises:
        InputError: no id of a `Question`, or an argument that belongs to the other environment.
    """
    taken = sorted({"difficulty", "split", "answer_format", "render_mode"} & set(of_kwargs))
    if taken:
        raise InputError(f"{', '.join(taken)} in of_kwargs must be given to the transform itself, not to {of}.")
    try:
        env = make_registered(of, **of_kwargs).unwrapped
    except (gym.error.Error, AttributeError, TypeError) as error:
        raise InputError(f"`of` must be the id of a registered question, not {of!r} ({error}).") from None
    if not isinstance(env, Question):
        raise InputError(f"`of` must be the id of a question with one answer; {of} is a {type(env).__name__}.")
    return env
