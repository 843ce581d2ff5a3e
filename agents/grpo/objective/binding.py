"""Resolution of the components that a recipe names into callables.

Names and types of parameters are checked against the component's signature, ranges by a `dry_run`, both before a model
is loaded. The value of a parameter may be a schedule, which is evaluated at every step, or another component of the
same stage, which is passed as a callable.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....errors import InputError, unknown_name
from ....schedules import schedule
from ..batch.scored import needs_of
from ..recipes import SCHEDULE, Component, Credit, Recipe, Stream
from ..recipes.stages import STAGES, Stage


@dataclass
class Clock:
    """Progress of training.

    Attributes:
        step: index of the current optimiser batch, from 0.
        steps: number of optimiser batches in the run.
    """

    step: int = 0
    steps: int = 0


def bind_number(value: float | Component) -> Callable[[Clock], float]:
    """Convert a constant or a schedule to a function of the clock.

    Raises:
        InputError: the component is not a schedule, or has invalid parameters.
    """
    if not isinstance(value, Component):
        return lambda clock: float(value)
    if not value.name.startswith(SCHEDULE):
        raise InputError(f"a number or a schedule is wanted where the recipe has {value}.")
    params = {key: inner.data() if isinstance(inner, Component) else inner for key, inner in value.params.items()}
    made = schedule({"kind": value.name.removeprefix(SCHEDULE).replace("_", "-"), **params})
    return lambda clock: made(clock.step, clock.steps)


@dataclass(eq=False)
class Bound:
    """A component resolved to a callable, with its parameters.

    Attributes:
        component: name and parameters as in the recipe.
        target: the registered function, or an instance of the registered class.
        needs: declared needs of the component and of the components among its parameters; see `batch.scored.needs`.
        fixed: constant parameters of a function; {} for a class, whose instance holds them.
        scheduled: parameters that follow a schedule.
        stateful: True if ``target`` is an instance of a class.
    """

    component: Component
    target: Any
    clock: Clock
    needs: frozenset[str]
    fixed: dict[str, Any] = field(default_factory=dict)
    scheduled: dict[str, Callable[[Clock], float]] = field(default_factory=dict)
    stateful: bool = False

    def __call__(self, *arguments: Any) -> Any:
        if self.stateful:
            self.refresh()
            return self.target(*arguments)
        now = {name: value(self.clock) for name, value in self.scheduled.items()}
        return self.target(*arguments, **self.fixed, **now)

    def value_of(self, name: str) -> Any:
        """Return the current value of a function's parameter; None if the recipe does not set it."""
        return self.scheduled[name](self.clock) if name in self.scheduled else self.fixed.get(name)

    def refresh(self) -> Any:
        """Set the instance's scheduled parameters to their current values and return the instance."""
        for name, value in self.scheduled.items():
            setattr(self.target, name, value(self.clock))
        return self.target

    def state_dict(self) -> dict[str, Any]:
        """Return the component's memory; {} for a function."""
        return self.target.state_dict() if hasattr(self.target, "state_dict") else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if state:
            self.target.load_state_dict(state)


def bind(stage: Stage, component: Component, clock: Clock) -> Bound:
    """Resolve a component of a stage.

    Raises:
        InputError: the component or a parameter is unknown, a required parameter is missing, or a value is invalid.
    """
    target = stage[component.name]
    _check(stage, component)
    needs = frozenset[str]()
    fixed: dict[str, Any] = {}
    scheduled: dict[str, Callable[[Clock], float]] = {}
    for name, value in component.params.items():
        if _is_schedule(value):
            scheduled[name] = bind_number(value)
        elif isinstance(value, Component):
            inner = bind(stage, value, clock)
            needs |= inner.needs
            fixed[name] = inner
        else:
            fixed[name] = value
    if not inspect.isclass(target):
        return Bound(component, target, clock, needs | needs_of(target), fixed, scheduled)
    instance = target(**fixed, **{name: value(clock) for name, value in scheduled.items()})
    for name in scheduled:
        if not hasattr(instance, name):
            raise InputError(f"{name!r} of the {stage.kind} {component.name!r} cannot follow a schedule.")
    needs |= needs_of(instance)  # the class's own, unless an option changes them
    return Bound(component, instance, clock, needs, scheduled=scheduled, stateful=True)


def bind_stages(part: str, row: Recipe | Credit | Stream, clock: Clock) -> dict[str, list[Bound]]:
    """Resolve the components of all stages that belong to ``part`` of an objective (`Stage.part`).

    Args:
        row: recipe, credit term or stream that names the components. A stage without a field in it has none, or "none"
            if the stage always has one component.

    Returns:
        Stage name -> its components; exactly one unless the stage allows several.

    Raises:
        InputError: see `bind`.
    """
    found = {}
    for stage in STAGES.values():
        if stage.part == part:
            named: Any = getattr(row, stage.name, () if stage.many else Component("none"))
            found[stage.name] = [bind(stage, each, clock) for each in (named if stage.many else (named,))]
    return found


def _is_schedule(value: Any) -> bool:
    return isinstance(value, Component) and value.name.startswith(SCHEDULE)


def _check(stage: Stage, component: Component) -> None:
    """Check names and types of parameters; the component itself checks ranges."""
    parameters = stage.parameters(component.name)
    known = {name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD}
    if len(known) == len(parameters) and (unknown := sorted(set(component.params) - known)):
        option = f"option of the {stage.kind} {component.name!r}:"
        if not known:
            raise InputError(f"the {stage.kind} {component.name!r} has no options, but was given {unknown[0]!r}.")
        raise unknown_name(option, unknown[0], known)
    missing = [name for name in known - set(component.params) if parameters[name].default is inspect.Parameter.empty]
    if missing:
        raise InputError(
            f"the {stage.kind} {component.name!r} needs a value for {', '.join(sorted(missing))}: write "
            f"{component.name}({sorted(missing)[0]}=...)."
        )
    for name in sorted(known & set(component.params)):
        value, annotation = component.params[name], parameters[name].annotation
        if wanted := _describe_mismatch(
            value, annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        ):
            hint = ""
            if isinstance(value, Component) and not value.params and "text" in wanted:
                hint = f"; write {name}='{value.name}'"
            received = str(value) if isinstance(value, Component) else repr(value)
            raise InputError(f"{name} of the {stage.kind} {component.name!r} must be {wanted}, not {received}{hint}.")


_PLAIN: dict[str, tuple[str, tuple[type, ...]]] = {
    "bool": ("True or False", (bool,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "str": ("text", (str,)),
    "None": ("None", (type(None),)),
}
"""Annotation -> (its name in error messages, types that it admits)."""


def _describe_mismatch(value: Any, annotation: str) -> str:
    """Describe the type that an annotation requires, if the value has another one; "" if it fits or is not checked."""
    parts = [part.strip() for part in annotation.split("|")]
    if any(part not in _PLAIN for part in parts):
        return ""
    if _is_schedule(value) and {"int", "float"} & set(parts):
        return ""
    for part in parts:
        if isinstance(value, _PLAIN[part][1]) and (part == "bool" or not isinstance(value, bool)):
            return ""
    return " or ".join(_PLAIN[part][0] for part in parts)
