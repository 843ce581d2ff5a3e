"""Parsing of axes on the command line: ``--axis digits=1:2 operations=+,+-`` to arguments of `ParamSpace.restrict`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..agents.evaluation import environment_spec
from ..envs.param_env import make_task_env
from ..envs.param_space import Axis, ChoiceAxis, IntAxis, ParamSpace
from ..errors import InputError


def parse_axes(texts: Iterable[str], space: ParamSpace) -> dict[str, Any]:
    """Parse each ``name=value``, ``name=low:high`` or ``name=choice,choice`` into an entry of a dictionary.

    Raises:
        InputError: a text has another form, an axis is unknown or repeated, or a value is not in the axis' range.
    """
    axes: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise InputError(f"an axis is given as name=value, name=low:high or name=choice,choice, not {text!r}.")
        if name in axes:
            raise InputError(f"the axis {name!r} is given twice; give its whole range once.")
        axes[name] = _parse_value(space[name], value)
    space.restrict(**axes)
    return axes


def parse_axes_of(env_id: str, options: Mapping[str, Any], texts: Iterable[str]) -> dict[str, Any]:
    """Parse axes as `parse_axes` does, for the environment of an id and options.

    Raises:
        InputError: the environment has no axes, or as in `parse_axes`.
    """
    env = make_task_env(environment_spec(env_id), **options)
    space = getattr(env.unwrapped, "param_space", None)
    env.close()
    if space is None:
        raise InputError(f"{env_id!r} has no axes; leave --axis out.")
    return parse_axes(texts, space)


def format_axis(axis: Axis) -> str:
    """Format an axis with its range, as `parse_axes` would read it: ``digits=1:6``, ``operations=+,+-``."""
    if isinstance(axis, ChoiceAxis):
        return f"{axis.name}={','.join(map(str, axis.choices))}"
    return f"{axis.name}={axis.low}:{axis.high}" if axis.low != axis.high else f"{axis.name}={axis.low}"


def _parse_value(axis: Axis, text: str) -> Any:
    if isinstance(axis, ChoiceAxis):
        by_text = {str(choice): choice for choice in axis.choices}
        # A choice may contain a comma, so the whole text is tried first.
        if text in by_text:
            return [by_text[text]]
        return [by_text.get(part, part) for part in text.split(",")]
    number = int if isinstance(axis, IntAxis) else float
    try:
        numbers = [number(part) for part in text.split(":")]
    except ValueError:
        kind = "a whole number" if number is int else "a number"
        raise InputError(
            f"{axis.name}={text} is not {kind} or a range of them; write {axis.name}={axis.low} or "
            f"{axis.name}={axis.low}:{axis.high}."
        ) from None
    if len(numbers) > 2 or numbers != sorted(numbers):
        raise InputError(f"{axis.name}={text} is not a range low:high; write {axis.name}={axis.low}:{axis.high}.")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
