"""Rewards as objects: one call judges one episode, `group` judges siblings (several episodes of the same task)
together.

A reward that needs something only the learner has (log-probabilities, entropy) names it in ``needs``. Classes register
by name; other packages contribute through the entry-point group ``palaestra.rewards``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..registry import Registry
from .episode import Episode
from .verdict import Verdict

R = TypeVar("R", bound="type[Reward]")


class Reward:
    """Base class; a subclass implements ``__call__``, or ``group`` as well where siblings matter."""

    needs: frozenset[str] = frozenset()

    def __call__(self, episode: Episode) -> Verdict:
        """Judge one episode."""
        raise NotImplementedError(f"{type(self).__name__} must implement __call__(episode) -> Verdict.")

    def group(self, episodes: Sequence[Episode]) -> list[Verdict]:
        """Judge several episodes of one task, in order; the default judges each alone."""
        return [self(episode) for episode in episodes]


REWARDS: Registry[type[Reward]] = Registry("reward", group="palaestra.rewards")


def register(name: str) -> Callable[[R], R]:
    """Class decorator: ``@palaestra.rewards.register("my-reward")``."""
    return REWARDS.register(name)


def make(name: str, **kwargs: Any) -> Reward:
    """The reward registered under ``name``, built with ``kwargs``.

    Raises:
        InputError: unknown name, or arguments that its constructor does not take.
    """
    return REWARDS.make(name, **kwargs)
