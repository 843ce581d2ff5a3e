"""Filters decide which groups are trained. A group that is dropped here leaves every denominator as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...registry import Registry
from .types import Group

Filter = Callable[..., list[Group]]
"""``(groups, **params) -> groups``"""

FILTERS: Registry[Filter] = Registry("filter")


@FILTERS.register("mixed_outcomes")
def mixed_outcomes(groups: Sequence[Group]) -> list[Group]:
    """Keep groups whose outcomes differ (DAPO's dynamic sampling, arXiv 2503.14476, section 3.2)."""
    return [group for group in groups if group.has_variance]
