"""Filters: functions that select the groups to train on, and the episodes of each group.

Dropped episodes count in no denominator. Filters that keep part of a group store the outcomes of the whole group in
`Group.drawn`. Results do not depend on the order of episodes: ties are broken by a checksum of the episodes' tokens,
which stands in for a random draw.
"""

from __future__ import annotations

import math
import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

from ....errors import InputError
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import FILTERS


@FILTERS.register("mixed_outcomes")
def mixed_outcomes(groups: Sequence[Group]) -> list[Group]:
    """Keep groups whose outcomes differ (DAPO's dynamic sampling, arXiv 2503.14476, section 3.2)."""
    return [group for group in groups if group.has_variance]


@FILTERS.register("pass_rate")
def keep_pass_rates(groups: Sequence[Group], low: float = 0.2, high: float = 0.8) -> list[Group]:
    """Keep groups whose success rate lies within [low, high] (PRIME's online filter, arXiv 2502.01456).

    Raises:
        InputError: ``low`` exceeds ``high``.
    """
    if low > high:
        raise InputError(f"the pass rates low={low} and high={high} leave nothing; low must not exceed high.")
    rates = [sum(t.success for t in group.valid) / max(len(group.valid), 1) for group in groups]
    return [group for group, rate in zip(groups, rates, strict=True) if low - 1e-9 <= rate <= high + 1e-9]


@FILTERS.register("untruncated")
def drop_truncated(groups: Sequence[Group]) -> list[Group]:
    """Drop episodes that a limit ended, before any baseline; the mask of this name leaves them in the baseline."""
    return _keep_episodes(groups, lambda members: [t for t in members if not t.truncated])


@FILTERS.register("sound")
def drop_unsound(groups: Sequence[Group]) -> list[Group]:
    """Drop episodes with an invalid action (`Turn.action_error`) and those without any action token."""
    return _keep_episodes(
        groups,
        lambda members: [t for t in members if t.action_tokens and all(turn.action_error is None for turn in t.turns)],
    )


@FILTERS.register("high_variance")
def high_variance(groups: Sequence[Group], share: float = 0.75) -> list[Group]:
    """Keep the share of groups with the highest variance of outcomes, at least one (StarPO-S, arXiv 2504.20073, which
    has 0.25 to 0.75; SPEAR, arXiv 2509.22601). Groups that tie with the last one kept are kept too; groups without
    variance are dropped.

    Raises:
        InputError: ``share`` is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise InputError(f"share={share} of the groups must be in (0, 1].")
    spread = [_variance([t.outcome for t in group.valid]) for group in groups]
    if not spread:
        return []
    border = sorted(spread, reverse=True)[max(math.ceil(share * len(spread) - 1e-9), 1) - 1]
    return [group for group, own in zip(groups, spread, strict=True) if own >= border and own > 1e-12]


@FILTERS.register("shortest")
def shortest(groups: Sequence[Group], keep: int = 8, by: str = "length") -> list[Group]:
    """Keep ``keep`` episodes of each group: the shortest, or those with the highest return per token (GFPO, arXiv
    2508.09726). Baselines and deviations are computed over the kept episodes.

    Args:
        by: "length" or "efficiency" (return per action token).

    Raises:
        InputError: ``by`` has another value, or ``keep`` is less than 1.
    """
    keep = _check_keep(keep)
    keys: dict[str, Callable[[Trajectory], float]] = {
        "length": lambda t: t.action_tokens,
        "efficiency": lambda t: -t.outcome / max(t.action_tokens, 1),
    }
    if by not in keys:
        raise InputError(f"by={by!r} is no way to choose episodes; take 'length' or 'efficiency'.")
    return _keep_episodes(groups, lambda members: sorted(members, key=lambda t: (keys[by](t), _draw_key(t)))[:keep])


@FILTERS.register("max_variance")
def max_variance(groups: Sequence[Group], keep: int = 4) -> list[Group]:
    """Keep the ``keep`` episodes of each group whose outcomes have the highest variance: some of the best and some of
    the worst (PODS, arXiv 2504.13818, algorithm 2).

    Raises:
        InputError: ``keep`` is less than 1.
    """
    keep = _check_keep(keep)

    def choose(members: list[Trajectory]) -> list[Trajectory]:
        if len(members) <= keep:
            return members
        ordered = sorted(members, key=lambda t: (t.outcome, _draw_key(t)))
        choices = [ordered[:low] + ordered[len(ordered) - keep + low :] for low in range(keep + 1)]
        # Of choices with equal variance, the most balanced.
        return max(
            enumerate(choices),
            key=lambda c: (round(_variance([t.outcome for t in c[1]]), 12), -abs(c[0] - keep / 2), c[0]),
        )[1]

    return _keep_episodes(groups, choose)


@FILTERS.register("largest_advantage")
def largest_advantage(groups: Sequence[Group], share: float = 0.5) -> list[Group]:
    """Keep the ceil(share x n) episodes of each group of n whose outcomes are farthest from the group's mean (CPPO,
    arXiv 2503.22342).

    The paper computes advantages over the whole group: use the baseline "drawn_mean" and the scale "drawn_std".

    Raises:
        InputError: ``share`` is not in (0, 1].
    """
    if not 0 < share <= 1:
        raise InputError(f"share={share} of the episodes must be in (0, 1].")

    def choose(members: list[Trajectory]) -> list[Trajectory]:
        mean = sum(t.outcome for t in members) / len(members)
        far = sorted(members, key=lambda t: (-round(abs(t.outcome - mean), 9), _draw_key(t)))
        return far[: math.ceil(share * len(members) - 1e-9)]

    return _keep_episodes(groups, choose)


@FILTERS.register("one_of_each")
def one_of_each(groups: Sequence[Group]) -> list[Group]:
    """Keep one random success and one random failure of each group; drop groups without either (OREAL, arXiv
    2502.06781)."""

    def choose(members: list[Trajectory]) -> list[Trajectory]:
        won, lost = _split_by_success(members)
        return [won[0], lost[0]] if won and lost else []

    return _keep_episodes(groups, choose)


@FILTERS.register("balanced")
def keep_balanced(groups: Sequence[Group], keep: int = 4) -> list[Group]:
    """Keep ``keep`` random episodes of each group, half successes and half failures; if one kind is too rare, the other
    fills up (Reinforce-Ada's balanced choice, arXiv 2510.04996).

    Raises:
        InputError: ``keep`` is less than 1.
    """
    keep = _check_keep(keep)

    def choose(members: list[Trajectory]) -> list[Trajectory]:
        won, lost = _split_by_success(members)
        wins = min(len(won), max(keep - keep // 2, keep - len(lost)))
        return won[:wins] + lost[: keep - wins]

    return _keep_episodes(groups, choose)


@FILTERS.register("fewer_failures")
def fewer_failures(groups: Sequence[Group]) -> list[Group]:
    """Drop random failures until a group has no more failures than successes; groups without a success stay whole
    (RED-Drop, arXiv 2509.24203).
    """

    def choose(members: list[Trajectory]) -> list[Trajectory]:
        won, lost = _split_by_success(members)
        return won + lost[: len(won)] if won else members

    return _keep_episodes(groups, choose)


def _keep_episodes(groups: Sequence[Group], choose: Callable[[list[Trajectory]], list[Trajectory]]) -> list[Group]:
    """Return the groups with only the valid episodes that ``choose`` selects, in original order; drop empty groups."""
    kept = []
    for group in groups:
        chosen = {id(t) for t in choose(list(group.valid))} if group.valid else set()
        if chosen:
            members = tuple(t for t in group.valid if id(t) in chosen)
            kept.append(
                replace(group, trajectories=members, drawn=group.drawn or tuple(t.outcome for t in group.valid))
            )
    return kept


def _split_by_success(members: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
    """Return successes and failures, each in a pseudo-random order that depends on their tokens alone."""
    ordered = sorted(members, key=_draw_key)
    return [t for t in ordered if t.success], [t for t in ordered if not t.success]


def _draw_key(trajectory: Trajectory) -> tuple[int, float]:
    """Return a sort key that orders episodes as if at random, from their action tokens alone."""
    ids = [i for turn in trajectory.turns for i in turn.act_ids]
    return zlib.crc32(array("q", ids).tobytes()), trajectory.outcome


def _variance(values: Sequence[float]) -> float:
    mean = sum(values) / max(len(values), 1)
    return sum((v - mean) ** 2 for v in values) / max(len(values), 1)


def _check_keep(keep: float) -> int:
    """Round the number of episodes, which a schedule may set, and raise InputError if it is less than 1."""
    if keep < 1:
        raise InputError(f"keep={keep} episodes of a group must be at least 1.")
    return round(keep)
