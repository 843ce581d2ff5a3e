"""`FamilySpace`: the parameters of several task families as one `ParamSpace`.

The axis ``env`` names the family; other axes are prefixed with the name of their family, ``Arithmetic.digits``.
Parameters have the axes of one family only: ``{"env": "Arithmetic", "Arithmetic.digits": 2}``. Families are drawn in
proportion to weights, which may follow a schedule of training progress.
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
    """Parameter space of several families: the axis ``env`` and the axes of every family.

    If parameters name a family in ``env``, those of other families are checked and then left out; in the unit cube the
    axes of other families have the coordinate 0.5. No family counts as harder than another: difficulty is defined
    within a family.

    Args:
        families: name -> space of the family, as `add_prefix` returns it.
        weights: name -> weight, a number or a schedule; a family that is left out has the weight 1.

    Attributes:
        families: name -> space of the family.
        weights: name -> schedule of the weight.

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
        """Return ``space`` as the family ``name``: an axis ``env`` fixed to ``name``, then the axes of ``space`` with
        the prefix ``name.``."""
        own = [replace(axis, name=f"{name}.{axis.name}") for axis in space.axes]
        return ParamSpace([ChoiceAxis(FAMILY, (name,), harder=None), *own])

    @staticmethod
    def own_params(params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the family ``params["env"]``, without the prefix in their names."""
        prefix = f"{params[FAMILY]}."
        return {name.removeprefix(prefix): value for name, value in params.items() if name.startswith(prefix)}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FamilySpace) and self.axes == other.axes and self.weights == other.weights

    def __hash__(self) -> int:
        return hash((self.axes, tuple(self.weights)))

    # Weights.

    def set_progress(self, step: int, steps: int) -> None:
        """Set the training progress (``step`` of ``steps`` updates) at which scheduled weights are evaluated.

        Raises:
            InputError: all weights are 0 at this step.
        """
        self._step, self._steps = int(step), int(steps)
        _ = self.shares

    @property
    def shares(self) -> dict[str, float]:
        """Probability of each family at the current training progress; the probabilities sum to 1."""
        weights = {name: weight(self._step, self._steps) for name, weight in self.weights.items()}
        total = sum(weights.values())
        if total <= 0:
            raise InputError(f"the weights of all environments are 0 at step {self._step}; leave one above 0.")
        return {name: weight / total for name, weight in weights.items()}

    def draw_family(self, rng: np.random.Generator, among: Sequence[str] | None = None) -> str:
        """Draw a family in proportion to the weights, with one number of ``rng``. With ``among``, only these families
        are drawn: uniformly if all of them have the weight 0."""
        shares = {name: share for name, share in self.shares.items() if among is None or name in among}
        if sum(shares.values()) <= 0:
            shares = dict.fromkeys(shares, 1.0)
        bounds = np.cumsum(list(shares.values()))
        return list(shares)[min(int(np.searchsorted(bounds, rng.random() * bounds[-1], "right")), len(bounds) - 1)]

    def sample(self, rng: np.random.Generator) -> dict[str, Any]:
        """Draw a family by the weights, and its parameters uniformly."""
        return self.families[self.draw_family(rng)].sample(rng)

    def family_of(self, params: Mapping[str, Any]) -> str:
        """Return the name of the family, ``params["env"]``.

        Raises:
            InputError: ``params`` name no family, or an unknown one.
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
        """Return the parameters of every family at a difficulty, without ``env`` if there are several families."""
        hardness = self.check_difficulty(difficulty)
        chosen = {name: value for space in self.families.values() for name, value in space.at(hardness).items()}
        if len(self.families) > 1:
            del chosen[FAMILY]
        return chosen

    def difficulty(self, params: Mapping[str, Any]) -> float:
        """Return the difficulty of ``params`` within their family. If ``params`` name no family, return the mean over
        all axes in ``params``, as `ParamSpace.difficulty`."""
        if FAMILY not in params:
            return super().difficulty(params)
        return self.families[self.family_of(params)].difficulty(params)

    # The unit cube.

    def from_unit(self, u: Sequence[float] | np.ndarray) -> dict[str, Any]:
        """Return the parameters at a point of the unit cube. The first coordinate chooses the family; each family has
        an equal share of [0, 1]."""
        return self._keep_own(super().from_unit(u))

    def to_unit(self, params: Mapping[str, Any]) -> np.ndarray:
        """Return the point of full parameters of one family: array of shape [d], 0.5 for the axes of other families.

        Raises:
            InputError: no family is named, an axis of the family is missing, or a value is out of range.
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
        """Return full parameters of one family.

        The family is ``params["env"]`` if given. Otherwise it is drawn by the weights: among the families that have an
        axis in ``params``, or among all if there is none. Missing axes are completed as by `ParamSpace.complete`.
        """
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
        """Leave out the parameters of families other than ``params["env"]``; keep all if no family is named."""
        if FAMILY not in params:
            return params
        own = self.families[params[FAMILY]].names
        return {name: value for name, value in params.items() if name in own}


def _part(ranges: Mapping[str, Any], space: ParamSpace) -> dict[str, Any]:
    return {name: value for name, value in ranges.items() if name in space.names}
