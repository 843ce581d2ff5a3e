"""Schedules of a number over training: pure functions ``schedule(step, steps) -> float``, as frozen dataclasses.

``step`` counts updates from 0, and ``steps`` is the number of updates of the run. The length of a schedule is given in
updates (``over``, ``every``, ``period``), or is that of the run; after it, the last value stays. `schedule` makes a
schedule from plain data, ``{"kind": "linear", "start": 1, "end": 0}``, and `as_data` returns the data of a schedule.
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
"""Largest relative change that `describe_jump` does not report."""


@runtime_checkable
class Schedule(Protocol):
    """Number as a function of training progress alone."""

    def __call__(self, step: int, steps: int) -> float: ...

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound of the values over all steps, for runs of any length."""
        ...


ScheduleLike = Schedule | Mapping[str, Any] | float
"""Schedule, data of a schedule, or a constant (see `schedule`)."""


def progress(step: int, over: int) -> float:
    """Return step / over, the fraction of updates done, clipped to [0, 1]; with ``over`` 0, 0 at step 0 and then 1."""
    if step <= 0:
        return 0.0
    return 1.0 if step >= over else step / over


def linear(done: float, start: float, end: float) -> float:
    """Interpolate from ``start`` to ``end`` in proportion to ``done`` in [0, 1]."""
    return (1.0 - done) * start + done * end


def half_cosine(done: float, start: float, end: float) -> float:
    """Interpolate from ``start`` to ``end`` for ``done`` in [0, 1] along half a cosine period: flat at both ends."""
    return end + (start - end) * 0.5 * (1.0 + math.cos(math.pi * done))


def describe_jump(
    name: str, value: Callable[[int, int], float], step: int, steps: int, more: int, interval: int = 1
) -> list[str]:
    """Return a sentence, as a list, if a scheduled number jumps because a run is resumed with another number of steps;
    [] if the number changes by at most 10 %.

    Args:
        name: name of the number, for the sentence: "learning rate".
        value: ``value(step, steps)``, the number at a step, counted from 1, in a run of ``steps`` steps.
        step: last step done before the run was resumed; 0 for none.
        steps: planned steps of the run before.
        more: planned steps of the resumed run.
        interval: difference between the numbers of successive steps.
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
    """Schedule with ``value`` at every step."""

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
    """Straight line from ``start`` to ``end`` over ``over`` updates (None: the run), then ``end``."""

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
    """Logistic curve from ``start`` to ``end``, scaled to reach both exactly.

    Args:
        start: value at step 0.
        end: value after ``over`` updates.
        steepness: k > 0 of 1 / (1 + exp(-k (x - middle))), x in [0, 1]; 10: 90 % of the change in the middle 60 %.
        middle: fraction of the updates at which the curve is steepest, in [0, 1].
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
    """Exponential decay to 0: ``start * exp(-step / scale)`` (SophiaVL-R1: weight of thinking rewards, scale 500)."""

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
    """Decay in stages, ``max(minimum, start * factor ** (step // every))`` (Train Long, Think Short, arXiv 2508.08940).

    Args:
        start: value during the first ``every`` updates; at least ``minimum``.
        factor: factor of each decay, in (0, 1].
        every: updates between decays.
        minimum: least value, at least 0.
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
class Geometric:
    """Whole numbers that fall by one share in each update: ``max(minimum, floor(start * factor ** (step / steps)))``
    (RMT, arXiv 2509.24375, eq. 6); ``factor`` in (0, 1], ``minimum`` at least 0 and at most ``start``."""

    kind: ClassVar[str] = "geometric"
    start: float
    factor: float
    minimum: float = 1.0

    def __post_init__(self) -> None:
        check_number("minimum", self.minimum, low=0.0)
        check_number("start", self.start, low=self.minimum)
        check_number("factor", self.factor, low=1e-9, high=1.0)

    def __call__(self, step: int, steps: int) -> float:
        return max(self.minimum, float(math.floor(self.start * self.factor ** progress(step, steps))))

    @property
    def bounds(self) -> tuple[float, float]:
        return max(self.minimum, float(math.floor(self.start * self.factor))), float(self.start)


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Straight lines between points; constant before the first point and after the last.

    Args:
        points: pairs (step, value) with increasing steps, at least one.
        unit: unit of the steps: "updates", or "fraction" for fractions of the run, in [0, 1].
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
    """Cycle of ``period`` updates, repeated: from ``low`` up to ``high`` and back.

    Args:
        low: value at the start of each period.
        high: value in the middle of each period.
        period: length in updates, at least 2.
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
    cls.kind: cls for cls in (Constant, Cosine, Cyclical, Exponential, Geometric, Linear, Piecewise, Sigmoid, StepDecay)
}


def schedule(data: ScheduleLike) -> Schedule:
    """Make a schedule from a number (constant) or a mapping with "kind" and the arguments of that kind's class. Return
    a schedule unchanged.

    Raises:
        InputError: the kind is unknown, or an argument is unknown, missing or out of range.
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
    """Return the schedule made from ``value`` (see `schedule`) if all values of the schedule are in [low, high].

    Raises:
        InputError: a value is outside, or no schedule can be made.
    """
    made = schedule(value)
    if low <= made.bounds[0] and made.bounds[1] <= high:
        return made
    span = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"at least {low:g}"
    raise InputError(f"{name} must stay {span}, but this schedule spans {made.bounds[0]:g} to {made.bounds[1]:g}.")


def as_data(made: Schedule) -> dict[str, Any]:
    """Return data that can be written as JSON, from which `schedule` makes ``made`` again.

    Raises:
        InputError: the class of ``made`` is not in `KINDS`.
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
    """Parse the command line's schedule of the factor by which the learning rate is multiplied after warm-up.

    Args:
        text: "constant" (1), "linear" or "cosine" (from 1 to ``end``), or the data of a schedule as JSON.
        end: factor at the end of "linear" and "cosine".

    Raises:
        InputError: ``text`` is neither a known name nor the JSON of a schedule.
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
