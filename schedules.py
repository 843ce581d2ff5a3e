"""Schedules of a number over training: pure functions ``schedule(step, steps) -> float``, as frozen dataclasses.

``step`` counts updates from 0 and ``steps`` is how many the run will make. A schedule that names its own length in
updates (``over``, ``every``, ``period``) uses that; one that does not spans the run. A step past the end has the last
value. `schedule` builds one from plain data, ``{"kind": "linear", "start": 1, "end": 0}``; `as_data` writes it back.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Protocol, runtime_checkable

from .checks import check_choice, check_count, check_number
from .errors import InputError, unknown_name

_SMALL = 0.1
"""Relative change of a number that is no jump."""


@runtime_checkable
class Schedule(Protocol):
    """A number that depends on training progress alone."""

    def __call__(self, step: int, steps: int) -> float: ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value over all steps."""
        ...


ScheduleLike = Schedule | Mapping[str, Any] | float
"""A schedule, its data, or a constant (see `schedule`)."""


def progress(step: int, over: int) -> float:
    """The part of ``over`` updates that is done at ``step``, in [0, 1]; 0 before a run whose length is unknown (0)."""
    if step <= 0:
        return 0.0
    return 1.0 if step >= over else step / over


def linear(done: float, start: float, end: float) -> float:
    """From ``start`` to ``end`` in proportion to ``done`` in [0, 1]."""
    return (1.0 - done) * start + done * end


def half_cosine(done: float, start: float, end: float) -> float:
    """From ``start`` to ``end`` along half a period of the cosine: flat at both ends, halfway at ``done`` = 0.5."""
    return end + (start - end) * 0.5 * (1.0 + math.cos(math.pi * done))


def describe_jump(
    name: str, value: Callable[[int, int], float], step: int, steps: int, more: int, interval: int = 1
) -> list[str]:
    """Say it where a number that follows training jumps, as a run goes on to more steps than it was planned for.

    Args:
        name: of the number, for the sentence: "learning rate".
        value: ``value(step, steps)``, the number in a step, counted from 1, of a run of ``steps``.
        step: the last step that was taken, 0 for none.
        steps, more: steps of the run as it was planned, and as it goes on.
        interval: how many steps are counted at once.
    """
    if step == 0 or step >= more or math.isclose(value(step, steps), value(step, more), rel_tol=_SMALL):
        return []
    following = step + interval
    before, after = value(step, steps), value(following, more)
    return [
        f"The {name} jumps from {before:.3g} at step {step} to {after:.3g} at step {following}, as its schedule now "
        f"spans {more} steps instead of {steps}."
    ]


def _checked_over(over: int | None) -> None:
    if over is not None:
        check_count("over", over, low=1, unit="updates, or None for the whole run")


@dataclass(frozen=True, slots=True)
class Constant:
    """``value`` at every step."""

    kind: ClassVar[str] = "constant"
    value: float

    def __post_init__(self) -> None:
        check_number("value", self.value)

    def __call__(self, step: int, steps: int) -> float:
        return float(self.value)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(self.value), float(self.value)


@dataclass(frozen=True, slots=True)
class Linear:
    """A straight line from ``start`` to ``end`` over ``over`` updates (None: the run), then ``end``."""

    kind: ClassVar[str] = "linear"
    start: float
    end: float
    over: int | None = None

    def __post_init__(self) -> None:
        check_number("start", self.start)
        check_number("end", self.end)
        _checked_over(self.over)

    def __call__(self, step: int, steps: int) -> float:
        return linear(progress(step, steps if self.over is None else self.over), self.start, self.end)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(min(self.start, self.end)), float(max(self.start, self.end))


@dataclass(frozen=True, slots=True)
class Cosine:
    """Half a cosine from ``start`` to ``end``, up or down, over ``over`` updates (None: the run), then ``end``."""

    kind: ClassVar[str] = "cosine"
    start: float
    end: float
    over: int | None = None

    def __post_init__(self) -> None:
        check_number("start", self.start)
        check_number("end", self.end)
        _checked_over(self.over)

    def __call__(self, step: int, steps: int) -> float:
        return half_cosine(progress(step, steps if self.over is None else self.over), self.start, self.end)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(min(self.start, self.end)), float(max(self.start, self.end))


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """A logistic curve from ``start`` to ``end``, halfway at the fraction ``middle`` of ``over`` updates.

    Args:
        start: value at step 0, exactly: the curve is stretched so that it reaches both ends.
        end: value after ``over`` updates.
        steepness: slope parameter over the whole span, above 0; 10 makes nine tenths of the change in the middle 60 %.
        middle: where the curve is steepest, as a fraction in [0, 1].
        over: length in updates; None for the run.
    """

    kind: ClassVar[str] = "sigmoid"
    start: float
    end: float
    steepness: float = 10.0
    middle: float = 0.5
    over: int | None = None

    def __post_init__(self) -> None:
        check_number("start", self.start)
        check_number("end", self.end)
        check_number("steepness", self.steepness, low=1e-6, high=500.0)
        check_number("middle", self.middle, low=0.0, high=1.0)
        _checked_over(self.over)

    def _logistic(self, done: float) -> float:
        return 1.0 / (1.0 + math.exp(-self.steepness * (done - self.middle)))

    def __call__(self, step: int, steps: int) -> float:
        done = progress(step, steps if self.over is None else self.over)
        low, high = self._logistic(0.0), self._logistic(1.0)
        return linear((self._logistic(done) - low) / (high - low), self.start, self.end)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(min(self.start, self.end)), float(max(self.start, self.end))


@dataclass(frozen=True, slots=True)
class Exponential:
    """``start * exp(-step / scale)``, towards 0 (SophiaVL-R1: the weight of thinking, scale 500 updates)."""

    kind: ClassVar[str] = "exponential"
    start: float
    scale: float

    def __post_init__(self) -> None:
        check_number("start", self.start)
        check_number("scale", self.scale, low=1e-6)

    def __call__(self, step: int, steps: int) -> float:
        return self.start * math.exp(-max(step, 0) / self.scale)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(min(self.start, 0.0)), float(max(self.start, 0.0))


@dataclass(frozen=True, slots=True)
class StepDecay:
    """``max(minimum, start * factor ** (step // every))`` (Train Long, Think Short, arXiv 2508.08940: token budgets).

    Args:
        start: value during the first ``every`` updates; not below ``minimum``.
        factor: what a stage multiplies by, in (0, 1].
        every: length of a stage in updates.
        minimum: floor.
    """

    kind: ClassVar[str] = "step-decay"
    start: float
    factor: float
    every: int
    minimum: float = 0.0

    def __post_init__(self) -> None:
        check_number("minimum", self.minimum, low=0.0)
        check_number("start", self.start, low=self.minimum)
        check_number("factor", self.factor, low=1e-9, high=1.0)
        check_count("every", self.every, low=1, unit="updates")

    def __call__(self, step: int, steps: int) -> float:
        return max(self.minimum, self.start * self.factor ** (max(step, 0) // self.every))

    @property
    def bounds(self) -> tuple[float, float]:
        return float(self.start if self.factor == 1.0 else self.minimum), float(self.start)


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Straight lines between ``points``, pairs (step, value) with rising steps; constant before the first and after the
    last.

    Args:
        points: at least one pair.
        unit: "updates": the steps are updates; "fraction": they are fractions of the run, in [0, 1].
    """

    kind: ClassVar[str] = "piecewise"
    points: tuple[tuple[float, float], ...]
    unit: str = "updates"

    def __post_init__(self) -> None:
        check_choice("unit", self.unit, ("updates", "fraction"))
        try:
            points = tuple((where, value) for where, value in self.points)
        except (TypeError, ValueError):
            raise InputError(f"points must be pairs of step and value, not {self.points!r}.") from None
        if not points:
            raise InputError("points must hold at least one pair of step and value, not none.")
        for where, value in points:
            check_number("a point's step", where, low=0.0, high=1.0 if self.unit == "fraction" else math.inf)
            check_number("a point's value", value)
        if any(later[0] <= earlier[0] for earlier, later in pairwise(points)):
            raise InputError(f"the steps of points must rise, not {[where for where, _ in points]!r}.")
        object.__setattr__(self, "points", points)

    def __call__(self, step: int, steps: int) -> float:
        here = progress(step, steps) if self.unit == "fraction" else float(step)
        if here <= self.points[0][0]:
            return float(self.points[0][1])
        for (left, start), (right, end) in pairwise(self.points):
            if here < right:
                return linear((here - left) / (right - left), start, end)
        return float(self.points[-1][1])

    @property
    def bounds(self) -> tuple[float, float]:
        values = [float(value) for _, value in self.points]
        return min(values), max(values)


@dataclass(frozen=True, slots=True)
class Cyclical:
    """Up from ``low`` to ``high`` and back again every ``period`` updates, for ever.

    Args:
        low: value at the start of each period.
        high: value in its middle.
        period: updates, at least 2.
        shape: "triangle" (straight) or "cosine" (smooth).
    """

    kind: ClassVar[str] = "cyclical"
    low: float
    high: float
    period: int
    shape: str = "triangle"

    def __post_init__(self) -> None:
        check_number("low", self.low)
        check_number("high", self.high, low=self.low)
        check_count("period", self.period, low=2, unit="updates")
        check_choice("shape", self.shape, ("triangle", "cosine"))

    def __call__(self, step: int, steps: int) -> float:
        phase = (max(step, 0) % self.period) / self.period
        height = 1.0 - abs(2.0 * phase - 1.0)
        return (linear if self.shape == "triangle" else half_cosine)(height, self.low, self.high)

    @property
    def bounds(self) -> tuple[float, float]:
        return float(self.low), float(self.high)


KINDS: Mapping[str, type[Any]] = {
    cls.kind: cls for cls in (Constant, Cosine, Cyclical, Exponential, Linear, Piecewise, Sigmoid, StepDecay)
}


def schedule(data: ScheduleLike) -> Schedule:
    """A schedule from plain data: a number is constant; a mapping has "kind" and that kind's arguments.

    Raises:
        InputError: unknown kind, or arguments that it does not take.
    """
    if isinstance(data, Mapping):
        arguments = dict(data)
        kind = arguments.pop("kind", None)
        if kind not in KINDS:
            raise unknown_name("kind of schedule", str(kind), KINDS)
        known = inspect.signature(KINDS[kind]).parameters
        for name in arguments:
            if name not in known:
                raise unknown_name(f"argument of the schedule {kind!r}:", str(name), known)
        try:
            return KINDS[kind](**arguments)
        except TypeError as error:
            raise InputError(f"the schedule {kind!r} cannot be made: {error}.") from None
    if isinstance(data, (int, float)) and not isinstance(data, bool):
        return Constant(data)
    if callable(data) and isinstance(data, Schedule) and not isinstance(data, type):
        return data
    raise InputError(f"a schedule must be a number, a mapping with 'kind', or a schedule, not {data!r}.")


def check_schedule(name: str, value: ScheduleLike, low: float = -math.inf, high: float = math.inf) -> Schedule:
    """Return the schedule that ``value`` stands for if its values stay in [low, high].

    Raises:
        InputError: they do not, or it is no schedule.
    """
    made = schedule(value)
    if low <= made.bounds[0] and made.bounds[1] <= high:
        return made
    span = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"at least {low:g}"
    raise InputError(f"{name} must stay {span}, but this schedule spans {made.bounds[0]:g} to {made.bounds[1]:g}.")


def as_data(made: Schedule) -> dict[str, Any]:
    """The plain data from which `schedule` builds ``made`` again; JSON-able.

    Raises:
        InputError: ``made`` is none of the kinds of this module.
    """
    cls: type[Any] = type(made)
    kind = getattr(cls, "kind", None)
    if KINDS.get(str(kind)) is not cls:
        raise InputError(f"only the schedules of this module can be written as data, not {made!r}.")
    fields: dict[str, Any] = {field.name: getattr(made, field.name) for field in dataclasses.fields(cls)}
    if cls is Piecewise:
        fields["points"] = [list(point) for point in fields["points"]]
    return {"kind": kind, **fields}


def read_schedule(text: str, end: float) -> Schedule:
    """Read the words of a command line for how a rate goes on after its warm-up: a factor of it.

    Args:
        text: "constant", "linear", "cosine", or any schedule as JSON.
        end: the factor that "linear" and "cosine" end at.

    Raises:
        InputError: neither a known name nor the JSON of a schedule.
    """
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except ValueError as error:
            raise InputError(f"lr_schedule is no JSON ({error}): {text!r}.") from None
        return schedule(data)
    if text not in ("constant", "linear", "cosine"):
        raise unknown_name("learning-rate schedule", text, ("constant", "linear", "cosine"))
    return Constant(1.0) if text == "constant" else KINDS[text](1.0, end)
