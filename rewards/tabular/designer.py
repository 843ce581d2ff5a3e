"""Base class and registry of reward designers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...checks import Declared
from ...registry import Registry
from .problem import RewardProblem

TabularTrajectory = tuple[Sequence[int], Sequence[int], Sequence[float]]
"""States, actions and primary rewards of the steps of one episode, as three sequences."""


class Designer(Declared):
    """Base class of designers of a reward [S, A] that replaces the primary reward while a learner trains.

    A subclass implements `design`, and `redesign` if the reward follows the learner. Its options are declared (see
    `checks.declared`).

    Attributes:
        effect: effect on the optimal policies, as the end of a sentence.
        adaptive: True if the reward changes with the learner.
    """

    name: ClassVar[str] = "designer"
    paper: ClassVar[str] = ""
    effect: ClassVar[str] = ""
    adaptive: ClassVar[bool] = False

    def design(self, problem: RewardProblem) -> np.ndarray:
        """Return the reward [S, A] that a learner begins with.

        Raises:
            InputError: the problem has no design of this kind.
            MissingExtra: scipy or torch is needed and absent.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement design(problem) -> [S, A].")

    def redesign(
        self, problem: RewardProblem, policy: np.ndarray, trajectories: Sequence[TabularTrajectory]
    ) -> np.ndarray | None:
        """Return a new reward [S, A], or None to keep the present one.

        Args:
            problem: the problem.
            policy: action probabilities of the learner, [S, A].
            trajectories: the episodes that the learner has played since the last call.
        """
        return None

    def visit(self, state: int) -> float:
        """Return the exploration bonus for reaching a state, and count the visit."""
        return 0.0

    def state_dict(self) -> dict[str, Any]:
        """Return the state that changes during use, as plain JSON data."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""


_HOMES = ("adaptive", "bilevel", "explicable", "exploration", "potential")
DESIGNERS: Registry[type[Designer]] = Registry(
    "reward designer",
    group="palaestra.designers",
    modules=[f"{__package__}.{home}" for home in _HOMES],
    table="designers",
)


def make_designer(name: str, /, **options: Any) -> Designer:
    """Build the designer registered under ``name``.

    Raises:
        InputError: unknown name, or unknown options.
    """
    return DESIGNERS.make(name, **options)
