"""`FamilySpace`: the parameters of several task families as one `ParamSpace`.

The axis ``env`` names the family; the axes of a family carry its name, ``Arithmetic.digits``. Parameters are those of
one family: ``{"env": "Arithmetic", "Arithmetic.digits": 2}``. Families are drawn in proportion to their weights, which
may follow a schedule of training progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError
from ..schedules import Schedule, schedule
from .axes import ChoiceAxis
from .param_space import ParamSpace

FAMILY = "env"


class FamilySpace(ParamSpace):
    """The axis ``env``, and the axes of every family.

    Parameters of families other than ``env`` are checked and left out. In the unit cube such an axis has the coordinate
    0.5. No family counts as harder than another: difficulty is defined within a family.

    Args:
        families: by name, each with the axis ``env`` fixed to that name, and its own axes; see `add_prefix`.
        weights: a weight or schedule for each family; 1 for one that is left out.

    Attributes:
        families: the families as spaces of their own.
        weights: a schedule for each family.

    Raises:
        InputError: no family, a weight that may become negative, or a family whose weight is never above 0.
    """

    def __init__(
        self,
        families: Mapping[str, ParamSpace],
        weights: Mapping[str, Schedule | Mapping[str, Any] | float] | None = None,
    ):
        if not families:
            raise InputError("a space of families needs at least one of them.")
        self.families: dict[str, ParamSpace] = dict(families)
        self.weights: dict[str, Schedule] = {}
        for name in self.families:
            weight = (weights or {}).get(name, 1.0)
            self.weights[name] = schedule(weight)
            low, high = self.weights[name].bounds
            if low < 0 or high <= 0:
                raise InputError(f"the weight of {name} must be 0 or more, and above 0 at some time, not {weight!r}.")
        self._step = self._steps = 0
        own = [axis for space in self.families.values() for axis in space.axes if axis.name != FAMILY]
        super().__init__([ChoiceAxis(FAMILY, tuple(self.families), harder=None), *own])

    @staticmethod
    def add_prefix(name: str, space: ParamSpace) -> ParamSpace:
        """Return ``space`` as the family ``name``: with ``env`` fixed to it, and its name before those of the axes."""
        own = [replace(axis, name=f"{name}.{axis.name}") for axis in space.axes]
        return ParamSpace([ChoiceAxis(FAMILY, (name,), harder=None), *own])

    @staticmethod
    def own_params(params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the family that ``params["env"]`` names, under its own names for them."""
        prefix = f"{params[FAMILY]}."
        return {name.removeprefix(prefix): value for name, value in params.items() if name.startswith(prefix)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FamilySpace) and self.axes == other.axes and self.weights == other.weights

    def __hash__(self) -> int:
        return hash((self.axes, tuple(self.weights)))

    # Weights.

    def set_progress(self, step: int, steps: int) -> None:
        """Set the place in training (``step`` of ``steps`` updates) at which the weights are read.

        Raises:
            InputError: all weights are 0 there.
        """
        self._step, self._steps = int(step), int(steps)
        _ = self.shares

    @property
    def shares(self) -> dict[str, float]:
        """The present probability of each family; they sum to 1."""
        weights = {name: weight(self._step, self._steps) for name, weight in self.weights.items()}
        total = sum(weights.values())
        if total <= 0:
            raise InputError(f"the weights of all environments are 0 at step {self._step}; leave one above 0.")
        return {name: weight / total for name, weight in weights.items()}

    def draw_family(self, rng: np.random.Generator, among: Sequence[str] | None = None) -> str:
        """Draw a family (of those in ``among``) in proportion to the weights, with one number of ``rng``."""
        shares = {name: share for name, share in self.shares.items() if among is None or name in among}
        if sum(shares.values()) <= 0:
            shares = dict.fromkeys(shares, 1.0)
        bounds = np.cumsum(list(shares.values()))
        return list(shares)[min(int(np.searchsorted(bounds, rng.random() * bounds[-1], "right")), len(bounds) - 1)]

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a family by the weights, and its parameters uniformly."""
        return self.families[self.draw_family(rng)].sample(rng)

    def family_of(self, params: Mapping[str, Any]) -> str:
        """Return the family that ``params`` name.

        Raises:
            InputError: they name none, or one that is not here.
        """
        if not isinstance(params, Mapping) or FAMILY not in params:
            raise InputError(f"{params!r} must name a family, such as {{'{FAMILY}': {next(iter(self.families))!r}}}.")
        return self[FAMILY].validate(params[FAMILY])

    # Difficulty.

    @property
    def max_difficulty(self) -> float:
        """The highest difficulty that every family reaches."""
        return min(space.max_difficulty for space in self.families.values())

    def at(self, difficulty: float) -> dict[str, Any]:
        """Return the axes of every family at a difficulty. ``env`` is left open where there are several families."""
        hardness = self.check_difficulty(difficulty)
        chosen = {name: value for space in self.families.values() for name, value in space.at(hardness).items()}
        if len(self.families) > 1:
            del chosen[FAMILY]
        return chosen

    def difficulty(self, params: Mapping[str, Any]) -> float:
        """Return the difficulty within the family that ``params`` name, or the mean over all axes given where they name
        none."""
        if FAMILY not in params:
            return super().difficulty(params)
        return self.families[self.family_of(params)].difficulty(params)

    # The unit cube.

    def from_unit(self, u: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return the parameters at a point of the unit cube; the first coordinate chooses the family, in equal
        parts."""
        return self._keep_own(super().from_unit(u))

    def to_unit(self, params: Mapping[str, Any]) -> np.ndarray:
        """Return the point of full parameters of one family, with 0.5 for the axes of the others: array of shape [d].

        Raises:
            InputError: no family is named, an axis of it is missing, or a value is out of range.
        """
        space = self.families[self.family_of(params)]
        inner = dict(zip(space.names, space.to_unit(params).tolist()))
        inner[FAMILY] = (list(self.families).index(params[FAMILY]) + 0.5) / len(self.families)
        return np.array([inner.get(name, 0.5) for name in self.names])

    # Checks and parts.

    def validate(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return self._keep_own(super().validate(params))

    def ask(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return self._keep_own(super().ask(params))

    def complete(
        self, params: Mapping[str, Any], rng: np.random.Generator, difficulty: float | None = None
    ) -> dict[str, Any]:
        """Return full parameters of one family: the one that ``params`` name, or one drawn by the weights among those
        whose axes they name, or among all."""
        if difficulty is not None:
            difficulty = self.check_difficulty(difficulty)
        named = [name for name, space in self.families.items() if any(axis in params for axis in space.names[1:])]
        family = params[FAMILY] if FAMILY in params else self.draw_family(rng, named or None)
        space = self.families[family]
        given = {name: params[name] for name in space.names if name in params}
        return space.complete({FAMILY: family, **given}, rng, difficulty)

    def extend(self, **ends: Any) -> FamilySpace:
        self._check_names(ends)
        if FAMILY in ends:
            self[FAMILY].extend(ends[FAMILY])
        return self._rebuild({name: space.extend(**_part(ends, space)) for name, space in self.families.items()})

    def restrict(self, **ranges: Any) -> FamilySpace:
        """Return the space over the given ranges: ``restrict(env=["Arithmetic"], **{"Arithmetic.digits": [1, 2]})``."""
        self._check_names(ranges)
        axis: Any = self[FAMILY].restrict(ranges.pop(FAMILY)) if FAMILY in ranges else self[FAMILY]
        return self._rebuild(
            {name: self.families[name].restrict(**_part(ranges, self.families[name])) for name in axis.choices}
        )

    def _rebuild(self, families: Mapping[str, ParamSpace]) -> FamilySpace:
        made = FamilySpace(families, self.weights)
        made._step, made._steps = self._step, self._steps
        return made

    def _keep_own(self, params: dict[str, Any]) -> dict[str, Any]:
        """Leave out the parameters of other families than the one named, if one is."""
        if FAMILY not in params:
            return params
        own = self.families[params[FAMILY]].names
        return {name: value for name, value in params.items() if name in own}


def _part(ranges: Mapping[str, Any], space: ParamSpace) -> dict[str, Any]:
    return {name: value for name, value in ranges.items() if name in space.names}
