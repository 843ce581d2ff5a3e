"""A critic's measurements of an episode, for teachers that need more than its return.

Pass an `EpisodeCritic` as ``TeacherWrapper(..., measure=)``; the measurements become the `Outcome.extras`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import Declared, keyword_declared, option
from .levels.trajectories import trajectory_extras
from .wrapper import WrappedEpisode


@keyword_declared
class EpisodeCritic(Declared):
    """Callable that computes the extras of an actor-critic learner: "value_l1", "one_step_td", "mean_value" ...

        TeacherWrapper(env, "plr", measure=EpisodeCritic(lambda observations: my_network.value(observations)))

    Raises:
        InputError: gamma or lam out of range. When called: values or probabilities of a wrong shape.
    """

    value: Callable[[list[Any]], Any] = option(
        kw_only=False, says="a list of T + 1 observations -> float[T + 1], the learner's value estimates."
    )
    policy: Callable[[list[Any]], Any] | None = option(
        default=None,
        kw_only=False,
        says="a list of T observations -> float[T, actions], the probabilities of its actions, for scores by entropy "
        "and confidence; None omits those scores.",
    )
    gamma: float = option(default=0.99, low=0, high=1, says="discount of the learner.")
    lam: float = option(default=0.95, low=0, high=1, says="lambda of its generalised advantage estimates.")

    def __call__(self, played: WrappedEpisode) -> dict[str, float]:
        """Return the episode's extras. A truncated episode is bootstrapped from the value of its last observation."""
        ends = np.zeros(len(played.rewards), dtype=bool)
        ends[-1] = played.terminated
        probabilities = None if self.policy is None else self.policy(played.observations[:-1])
        return trajectory_extras(
            played.rewards, self.value(played.observations), ends, self.gamma, self.lam, probabilities
        )
