"""Auto MC-Reward's scale: of a dense reward that nobody vouches for, only the sign counts, and only a tenth."""

from __future__ import annotations

from ...checks import check_number
from ..episode import Episode
from ..reward import Reward, register
from .scored import Score, Scorer


def sign(x: float) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)


def sign_scaled(sparse: float, dense: float, scale: float = 0.1) -> float:
    """sign(sparse) + scale * sign(dense)."""
    return sign(sparse) + scale * sign(dense)


@register("sign-scaled")
class SignScaled(Reward):
    """The whole worth of an episode: 1 for success, and a tenth for the sign of a dense reward of any size.

    Args:
        scorer: the dense reward, such as a written program's; None reads the extra named by ``key``.
        key: name of that extra.
        scale: what the sign of the dense reward is worth, in [0, 0.5], so that it cannot outweigh success.
        failure: the sparse part of a failure, in [-1, 0].

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Auto MC-Reward, arXiv 2312.09238"
    needs = frozenset({"dense_reward"})
    complete = True
    ranks_success = True

    def __init__(
        self, scorer: Scorer | None = None, key: str = "dense_reward", scale: float = 0.1, failure: float = 0.0
    ):
        # Only the sign is used: clipping keeps it, and lets an infinite reward through.
        self.score = Score(scorer, key, -1.0, 1.0)
        self.needs = self.score.needs
        self.scale = check_number("scale", scale, low=0.0, high=0.5)
        self.failure = check_number("failure", failure, low=-1.0, high=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return sign(self.failure) - self.scale, 1.0 + self.scale

    def value(self, episode: Episode) -> float | None:
        dense = self.score(episode)
        return None if dense is None else sign_scaled(1.0 if episode.success else self.failure, dense, self.scale)
