"""Agreement of the answers that the episodes of a group gave."""

from __future__ import annotations

from collections.abc import Sequence

from ..batch.trajectory import Group
from ..components.credit.peers import answer_dispersion
from .producer import Found, ProducerTools, produces


@produces("answer_dispersion")
def dispersion_of_groups(groups: Sequence[Group], tools: ProducerTools, choices: int | None = None) -> Found:
    """Dispersion of the answers of each group, the same number for all its episodes (see
    `components.credit.peers.answer_dispersion`).

    Args:
        choices: number of answers that a task admits; None uses the task's number.
    """
    found = [{"answer_dispersion": answer_dispersion(group.valid, choices)} for group in groups]
    return [[value] * len(group.trajectories) for group, value in zip(groups, found, strict=True)]
