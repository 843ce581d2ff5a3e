"""Choice among the templates of a site, for an environment whose tasks come from some of them only.

A template fixes the values of some axes (`WebTemplate.axes`), such as "intent". The ranges of these axes are narrowed
to the values of the chosen templates, and parameters that fit none of them are moved to the nearest that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import unknown_name
from ...axes import ChoiceAxis
from ...param_space import ParamSpace
from .template import WebTemplate, templates_of

Values = Mapping[str, Any]


def find_templates(family: str, site: str, intents: Sequence[str], names: Sequence[str] | str) -> list[WebTemplate]:
    """Return the templates of a site by their names, a list or a comma-separated text.

    Raises:
        InputError: no template with one of these ``intents`` has a name; ``family`` is named in the message.
    """
    known = {one.name: one for intent in intents for one in templates_of(site, intent)}
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    for name in wanted or [""]:
        if name not in known:
            raise unknown_name(f"template of {family}:", str(name), known)
    return [known[name] for name in wanted]


def fitting_templates(site: str, params: Values, kept: Sequence[WebTemplate] | None) -> list[WebTemplate]:
    """Return the templates of a site that have tasks with these parameters, ordered by name. ``kept`` are the chosen
    ones; None: all that are not on request."""
    found = templates_of(site, params["intent"])
    chosen = [one for one in found if (not one.on_request if kept is None else one in kept)]
    return [one for one in chosen if one.axes.items() <= params.items()]


def narrowed_axes(templates: Sequence[WebTemplate], family: ParamSpace) -> dict[str, Any]:
    """Return axis -> its narrowest range with the values of all these templates."""
    found = {name: sorted({one.axes[name] for one in templates}) for name in templates[0].axes}
    return {
        name: values if isinstance(family[name], ChoiceAxis) else (values[0], values[-1])
        for name, values in found.items()
    }


def nearest_values(params: Values, asked: Values, templates: Sequence[WebTemplate], space: ParamSpace) -> Values:
    """Return the values of axes with which one of the templates has tasks and which differ least from ``params``.

    Axes that a difficulty sets are kept if possible; where values differ equally, the first template decides.

    Args:
        params: drawn parameters.
        asked: parameters that must not change.
        templates: the chosen templates.
        space: the axes with the ranges that values must be in.

    Returns:
        axis -> value; nothing if no template fits.
    """
    graded = {axis.name for axis in space.axes if axis.harder is not None}
    fitting = [
        one.axes
        for one in templates
        if all(asked.get(name, value) == value and _holds(space, name, value) for name, value in one.axes.items())
    ]
    return min(
        fitting,
        key=lambda axes: sum(1 + len(axes) * (name in graded) for name in axes if axes[name] != params.get(name)),
        default={},
    )


def _holds(space: ParamSpace, name: str, value: Any) -> bool:
    axis = space[name]
    return value in axis.choices if isinstance(axis, ChoiceAxis) else axis.low <= value <= axis.high
