"""Sources of new tasks for the teachers that make tasks: eva and WebRL.

A task is stored as a seed, which is JSON-able. The seed is a point of the cube if the space has axes (a variant is a
nearby point), an index if the space is a list, and ``{"task": ..., "near": index}`` for a task that a generator wrote
and the list does not contain. A generator is any callable ``(task, rng) -> task or None``, or an agent that receives a
text request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ...checks import check_number, keyword_declared, option
from ...errors import InputError
from ..pools import Arms, task_key
from ..protocol import Teacher
from ..spaces import as_cube

Seed = list[float] | int | dict[str, Any]
Generate = Callable[[Any, np.random.Generator], Any]

REQUEST = (
    "Here is a task, written as JSON:\n{task}\n{space}Write one new task of the same kind and in the same form, so "
    "that it can be read by the same program. Answer with the JSON alone."
)


_BLOCK = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


@runtime_checkable
class Writer(Protocol):
    """The methods of `palaestra.Agent` that are used here."""

    def act(self, observations: Any, infos: Any) -> Any: ...

    def reset(self, indices: Any) -> Any: ...


def describe_axes(space: Any) -> str:
    """Return a sentence on the values of the axes of a space; "" for a space without axes."""
    ranges = [
        f"{axis.name} is one of {', '.join(map(str, axis.choices))}"
        if hasattr(axis, "choices")
        else f"{axis.name} lies between {axis.low} and {axis.high}"
        for axis in getattr(space, "axes", ())
    ]
    return f"There, {'; '.join(ranges)}.\n" if ranges else ""


def as_generator(generator: Generate | Writer | None, request: str = REQUEST) -> Generate | None:
    """Turn a generator into a callable of (task, rng); a callable or None is returned unchanged.

    An agent receives ``request`` with the task inserted. The agent's answer is parsed as JSON, inside a code block or
    not; an answer that is not JSON is returned as text.
    """
    if generator is None or (callable(generator) and not isinstance(generator, Writer)):
        return generator
    if not isinstance(generator, Writer):
        raise InputError(f"generator={generator!r} must be a callable (task, rng) -> task, or an agent.")
    writer = generator

    def generate(task: Any, rng: np.random.Generator) -> Any:
        info = {"episode_seed": int(rng.integers(2**31))}
        writer.reset([0])  # each request starts a new conversation
        answer = writer.act([request.replace("{task}", task_key(task))], [info])[0]
        found = _BLOCK.search(answer) if isinstance(answer, str) else None
        try:
            return json.loads(found[1] if found else answer)
        except (TypeError, ValueError):
            return answer

    return generate


class TaskSource:
    """Tasks of a space: draws of its tasks, and variants of given ones.

    Args:
        space: any space that teachers take.
        generator: see `as_generator`; None makes variants by small steps along the axes, and none on a list.
        step: standard deviation of the steps, as a share of an axis' range; an axis of few values moves by at least one
            value.

    Attributes:
        domain: the space, as a cube or a list.
        rejected: number of variants that the generator wrote and the space does not contain.
    """

    def __init__(self, space: Any, generator: Generate | Writer | None = None, step: float = 0.1):
        self.arms = space if isinstance(space, Arms) else None
        self.domain = self.arms or as_cube(space)
        self.signature = self.domain.signature
        request = REQUEST.replace("{space}", describe_axes(space))
        self.generator, self.step = as_generator(generator, request), check_number("step", step, above=0)
        self.rejected = 0
        self._sizes = None if self.arms else [size or 0 for size in as_cube(space).sizes]

    @property
    def can_vary(self) -> bool:
        """True if variants can be made."""
        return self.arms is None or self.generator is not None

    def uniform(self, k: int, rng: np.random.Generator) -> list[Seed]:
        """Return k seeds drawn uniformly from the space."""
        if self.arms is not None:
            return rng.integers(self.arms.n, size=k).tolist()
        return rng.random((k, len(self._sizes or ()))).tolist()

    def task(self, seed: Seed, rng: np.random.Generator) -> Any:
        """Return the task of a seed."""
        if isinstance(seed, dict):
            return seed["task"]
        if isinstance(self.domain, Arms):
            return self.domain.task(self.index(seed), rng)
        return self.domain.decode(np.array(seed))

    def seed(self, task: Any) -> Seed:
        """Return the seed of a task of the space. Raises InputError for any other task."""
        return self.domain.arm(task) if isinstance(self.domain, Arms) else self.domain.encode(task).tolist()

    def variant(self, seed: Seed, rng: np.random.Generator) -> Seed | None:
        """Make a variant of the task of ``seed``; None if no variant could be made."""
        if self.generator is None:
            return None if self.arms is not None else self._step(np.array(seed), rng).tolist()
        task = self.generator(self.task(seed, rng), rng)
        if task is None:
            return None
        try:
            return self.seed(task)
        except InputError:
            if self.arms is None:
                self.rejected += 1
                return None
        try:
            return {"task": json.loads(task_key(task)), "near": self.index(seed)}
        except InputError:
            self.rejected += 1
            return None

    def index(self, seed: Seed) -> int:
        """Return the list index of a seed's task, or for a variant the index of its origin."""
        return int(seed["near"] if isinstance(seed, dict) else seed)  # pyright: ignore[reportArgumentType]

    def places(self, seeds: list[Seed]) -> np.ndarray:
        """Return float64[m, d], the seeds' points in the cube, or the features of their tasks in the list."""
        if isinstance(self.domain, Arms):
            return self.features[[self.index(seed) for seed in seeds]]
        return np.array(seeds, dtype=np.float64).reshape(len(seeds), -1)

    @property
    def features(self) -> np.ndarray:
        """float64[n, d], the features of the list, computed once."""
        if not hasattr(self, "_features"):
            assert isinstance(self.domain, Arms)
            self._features = self.domain.features
        return self._features

    def key(self, seed: Seed) -> str:
        """Return a text that is equal for seeds of the same task."""
        return seed_key(seed) if isinstance(self.domain, Arms) else task_key(self.domain.decode(np.array(seed)))

    def check_seed(self, seed: Any) -> Seed:
        """Return a saved seed in its own types. Raises ValueError for anything that is no seed of the space."""
        if isinstance(self.domain, Arms):
            if not 0 <= self.index(seed) < self.domain.n or (isinstance(seed, dict) and "task" not in seed):
                raise ValueError(f"{seed!r} is no seed of this list")
            return seed if isinstance(seed, dict) else int(seed)
        if len(seed) != self.domain.dimension:
            raise ValueError(f"{seed!r} is no point of this space")
        return [float(x) for x in seed]

    def _step(self, point: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the point after a step on one axis and perhaps others, reflected at the borders. On an axis of few
        values, the border is the centre of the first or last value, so that a step from there always moves."""
        sizes = np.array(self._sizes)
        moved = rng.random(len(point)) < 0.5
        moved[rng.integers(len(point))] = True
        step = self.step * rng.standard_normal(len(point))
        with np.errstate(divide="ignore"):
            least = np.where(sizes > 1, 1 / sizes, 0.0)
        step = np.where(np.abs(step) < least, np.copysign(least, step), step)
        first = least / 2
        # Start from the middle of a value's interval: from an edge, a step of one value would end on another edge.
        values = np.maximum(sizes, 1)
        middle = (np.minimum(np.floor(point * values), values - 1) + 0.5) / values
        there = first + np.abs(np.where(sizes > 1, middle, point) + step - first)
        there = np.clip(np.where(there > 1 - first, 2 - 2 * first - there, there), 0.0, 1.0)
        return np.where(moved, there, point)


def seed_key(seed: Seed) -> str:
    """Return a seed as JSON text, the same for equal seeds."""
    return json.dumps(seed, sort_keys=True)


@keyword_declared
class TaskMaker(Teacher):
    """Base of teachers that make tasks: variants of old ones, by a `TaskSource`."""

    kind = "prompts"
    space: Any = option(kw_only=False, saved=False, says="ParamSpace, Box, Discrete or `FiniteTasks`.")
    generator: Generate | Writer | None = option(
        default=None,
        saved=False,
        says="makes a variant of a task, see `generation`; None steps along the axes. It is not part of a saved state.",
    )
    step: float = option(default=0.1, above=0, says="size of the steps along the axes, see `TaskSource`.")

    def setup(self) -> None:
        self.source = TaskSource(self.space, self.generator, self.step)
        self.domain = self.source.domain
        self.settings = {"generator": self.generator is not None, **(self.settings or {})}
        self.begin(self.source.signature)
