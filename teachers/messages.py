"""Messages between a teacher and the loop that runs episodes: proposals and outcomes, and their inner forms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import check_numbers
from ..errors import InputError
from .requests import check_requests


@dataclass(frozen=True, eq=False, init=False)
class Proposal:
    """One task to practise.

    Attributes:
        id: unique within the teacher; the outcome must carry the same id.
        task: input of the environment: a params dict, an array inside the Box, or an int inside the Discrete.
        n: number of rollouts; None leaves it to the learner.
        prob: the teacher's probability of this proposal: mass for arms, density over the unit cube for boxes; NaN for a
            point without a density, such as one that clipping moved onto the border.
        origin: reason of the proposal: "warmup", "explore", "exploit", "replay", "edit" or "review".
        train: False asks for evaluation only: the learner must not train on the episodes.
        meta: further requests to the learner by name, JSON-able: keys of `requests.REQUESTS`.

    Raises:
        InputError: ``meta`` has an unknown key or a value out of range.
    """

    id: int
    task: Any
    n: int | None = None
    prob: float = math.nan
    origin: str = "explore"
    train: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)

    # The constructor that dataclasses write for frozen classes takes three times as long.
    def __init__(
        self,
        id: int,
        task: Any,
        n: int | None = None,
        prob: float = math.nan,
        origin: str = "explore",
        train: bool = True,
        meta: Mapping[str, Any] | None = None,
    ):
        if meta:
            check_requests(meta)
        meta = {} if meta is None else meta
        self.__dict__.update(id=id, task=task, n=n, prob=prob, origin=origin, train=train, meta=meta)


@dataclass(frozen=True, eq=False, init=False)
class Outcome:
    """The result of one proposal: the whole group of its episodes at once.

    Attributes:
        id: the proposal's id.
        task: the proposal's task, for logs only; outcomes are matched by id.
        returns: one finite return per valid episode. An empty sequence (no valid episode) teaches nothing.
        successes: one flag per return, or None if the environment does not report success.
        cost: environment steps or tokens spent, or None.
        extras: further measurements by name, one number per return (see `Teacher.needs`).
        done: request name -> the learner's reply to a request in the proposal's ``meta``: "used" for a rewritten prompt
            that was shown, another word for a refused one. Empty if the learner does not report it.

    Raises:
        InputError: a return, cost or extra is not finite, or lengths differ.
    """

    id: int
    task: Any
    returns: Sequence[float]
    successes: Sequence[bool] | None = None
    cost: float | None = None
    extras: Mapping[str, Sequence[float]] = field(default_factory=dict)
    done: Mapping[str, str | float] = field(default_factory=dict)

    def __init__(
        self,
        id: int,
        task: Any,
        returns: Sequence[float],
        successes: Sequence[bool] | None = None,
        cost: float | None = None,
        extras: Mapping[str, Sequence[float]] | None = None,
        done: Mapping[str, str | float] | None = None,
    ):
        returns = check_numbers("a return", returns)
        flags = None if successes is None else tuple(map(bool, successes))
        measured = {name: check_numbers(f"extra {name!r}", values) for name, values in extras.items()} if extras else {}
        self.__dict__.update(id=id, task=task, returns=returns, successes=flags, cost=cost, extras=measured)
        self.__dict__["done"] = dict(done or {})
        if cost is not None:
            check_numbers("a cost", [cost])
        if flags is not None:
            self._same_length("successes", flags)
        for name, values in measured.items():
            self._same_length(f"extra {name!r}", values)

    def _same_length(self, what: str, values: Sequence[Any]) -> None:
        if len(values) != len(self.returns):
            raise InputError(
                f"outcome {self.id} has {len(self.returns)} returns but {len(values)} values in {what}; "
                "give one per return."
            )


@dataclass(eq=False, slots=True)  # made for every task and seen by nobody else: freezing would cost more than it guards
class Draw:
    """One proposal as `Teacher._draw` returns it: the public fields and `record`.

    ``record`` is a JSON-able value that comes back in `Evidence` with the outcome (a point of the unit cube as a list,
    an arm's index ...). With None, the record is `Teacher._record` of the task.
    """

    record: Any
    task: Any
    prob: float = math.nan
    origin: str = "explore"
    n: int | None = None
    train: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Evidence:
    """One outcome as `Teacher._learn` receives it.

    Attributes:
        record: the value that `_draw` stored with the proposal; `_record(task)` where it stored none, and for
            `Teacher.update`.
        returns: float64[n], n >= 1, mapped affinely from the declared range to [0, 1].
        outcome: the outcome as observed, for `successes`, `cost` and `extras`.
    """

    record: Any
    returns: np.ndarray
    outcome: Outcome

    @property
    def mean(self) -> float:
        """The group's mean return."""
        # A single return is the common case, and asking NumPy for its mean takes thirty times as long.
        return self.returns.item() if len(self.returns) == 1 else float(self.returns.mean())
