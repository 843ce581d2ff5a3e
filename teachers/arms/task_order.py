"""Order of a sequence of tasks by the distances of their embeddings, for continual training."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..registration import register
from .stages import SequentialStages

MOST = 7
"""Largest number of tasks of which all orders are compared; beyond it the order is built greedily."""


def order_score(distance: np.ndarray, order: Sequence[int]) -> float:
    """Return the sum of the distances between tasks that follow each other; ``distance`` is [n, n], symmetric."""
    return float(sum(distance[a, b] for a, b in itertools.pairwise(order)))


def rank_orders(distance: np.ndarray) -> list[tuple[float, tuple[int, ...]]]:
    """Return all orders of n <= `MOST` tasks with their `order_score`, the smallest first; of equal scores, to nine
    decimals, the order that begins with earlier tasks first."""
    orders = itertools.permutations(range(len(distance)))
    return sorted((round(order_score(distance, order), 9), order) for order in orders)


def choose_order(distance: np.ndarray, sign: float = 1.0) -> tuple[int, ...]:
    """Return the order with the smallest sum of ``sign`` x distance; with more than `MOST` tasks, the best of those
    that go from each task to the best one that is left."""
    if len(distance) <= MOST:
        return rank_orders(sign * distance)[0][1]
    found = []
    for first in range(len(distance)):
        order, left = [first], set(range(len(distance))) - {first}
        while left:
            order.append(min(left, key=lambda task: (sign * distance[order[-1], task], task)))
            left.remove(order[-1])
        found.append((round(sign * order_score(distance, order), 9), tuple(order)))
    return min(found)[1]


def _check_embeddings(name: str, value: Any) -> list[list[float]] | None:
    if value is None:
        return None
    rows = np.asarray(value, dtype=float)
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"{name} must be one list of finite numbers for each task, all of one length, not {value!r}.")
    return rows.tolist()


@register("task-order")
class TaskOrder(SequentialStages):
    """One task after another, in the order of the smallest sum of distances between the embeddings of neighbours.

    Each arm is a stage (see "sequential"). The distances are Euclidean, so that the order depends neither on the order
    of the list nor on a rotation of the embeddings; among equal orders, such as the two ends of a line, the one that
    begins with earlier tasks is taken. The paper's score of an order is not known.

    Attributes:
        order: index of each task, in the order in which they are practised.
    """

    paper = "Curriculum Designer, arXiv 2211.15470"
    when = "Several tasks are learned one after another, and their likeness is known, but not which is harder."
    asks_embeddings = True
    embeddings: list[list[float]] | None = option(
        default=None,
        check=_check_embeddings,
        says="embedding of each task; by default its features, and in a run on several environments the mean counts of "
        "the words of their prompts.",
    )
    near: Literal["first", "last"] = option(
        default="first", says='"first": like follows like; "last": the largest sum of distances instead.'
    )

    def setup(self) -> None:
        super().setup()
        points = self.arms.features if self.embeddings is None else np.array(self.embeddings)
        if len(points) != self.arms.n:
            raise InputError(f"embeddings has {len(points)} rows for {self.arms.n} tasks; give one for each.")
        distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
        self.order = choose_order(distance, 1.0 if self.near == "first" else -1.0)
        self.stage_of, self.stages = np.argsort(self.order), self.arms.n
        self._sizes = np.ones(self.stages, dtype=np.int64)
