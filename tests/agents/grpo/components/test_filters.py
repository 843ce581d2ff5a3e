"""Filters against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.agents.grpo.components.filters import (
    drop_truncated,
    drop_unsound,
    fewer_failures,
    high_variance,
    keep_balanced,
    keep_pass_rates,
    largest_advantage,
    max_variance,
    one_of_each,
    shortest,
)
from palaestra.errors import InputError

from ..conftest import group, trajectory  # isort: skip


def sampled(*outcomes, lengths=None, **changes):
    counts = lengths or [1] * len(outcomes)
    rows = (
        trajectory(r, [([5], [6 + i] * n)], **changes) for i, (r, n) in enumerate(zip(outcomes, counts, strict=True))
    )
    return group(*rows)


def outcomes_of(groups):
    return [[t.outcome for t in g.trajectories] for g in groups]


def test_pass_rates_outside_the_bounds_are_dropped():
    groups = [sampled(*[1] * wins, *[0] * (5 - wins)) for wins in range(6)]
    assert keep_pass_rates(groups) == groups[1:5]
    assert keep_pass_rates(groups, low=0.5, high=1.0) == groups[3:]


def test_truncated_and_void_episodes_leave_the_group_and_are_remembered():
    cut = trajectory(0, [([5], [6])], truncated=True)
    bad = trajectory(0, [([5], [6])])
    bad = replace(bad, turns=(replace(bad.turns[0], action_error="no"),))
    silent = trajectory(0, [([5], [])])
    fine = trajectory(1, [([5], [6])])
    assert drop_truncated([group(cut, fine)])[0].trajectories == (fine,)
    assert drop_truncated([group(cut)]) == []
    (kept,) = drop_unsound([group(bad, fine, silent)])
    assert kept.trajectories == (fine,)
    assert kept.drawn == (0, 1, 0)


def test_three_of_four_groups_with_the_highest_variance_stay():
    groups = [sampled(1, 0), sampled(0.6, 0.4), sampled(0.9, 0.1), sampled(0.5, 0.5)]
    assert high_variance(groups) == groups[:3]
    assert high_variance(groups, share=0.25) == groups[:1]
    assert high_variance(groups, share=1.0) == groups[:3]


def test_the_shortest_or_the_most_efficient_are_kept():
    rows = [sampled(1, 1, 0, 0.5, lengths=[4, 2, 3, 1])]
    assert outcomes_of(shortest(rows, keep=2)) == [[1, 0.5]]
    # efficiencies 1/4, 1/2, 0, 1/2
    assert outcomes_of(shortest(rows, keep=2, by="efficiency")) == [[1, 0.5]]
    assert [t.action_tokens for t in shortest(rows, keep=2)[0].trajectories] == [2, 1]
    with pytest.raises(InputError, match="by='speed'"):
        shortest(rows, by="speed")


def test_the_subset_of_highest_variance_has_both_ends():
    assert outcomes_of(max_variance([sampled(0, 1, 1, 1, 0.9, 0.1)], keep=4)) == [[0, 1, 1, 0.1]]
    # the best subset among all of them, by brute force
    assert outcomes_of(max_variance([sampled(5, 0, 4.5, 4)], keep=2)) == [[5, 0]]
    assert outcomes_of(max_variance([sampled(1, 0)], keep=4)) == [[1, 0]]


def test_the_largest_advantages_are_kept_and_the_mean_is_that_of_all():
    (kept,) = largest_advantage([sampled(1, 0, 0, 0.3)], share=0.5)
    # mean 0.325: distances 0.675, 0.325, 0.325, 0.025
    assert sorted(t.outcome for t in kept.trajectories) == [0, 1]
    assert kept.drawn == (1, 0, 0, 0.3)


def test_one_success_and_one_failure_are_kept():
    assert sorted(outcomes_of(one_of_each([sampled(1, 0, 1, 0), sampled(1, 1)]))[0]) == [0, 1]
    assert len(one_of_each([sampled(1, 0, 1, 0), sampled(1, 1)])) == 1


@pytest.mark.parametrize(("wins", "expected"), [(4, 2), (1, 1), (7, 3), (8, 4), (0, 0)])
def test_half_are_successes_where_there_are_enough_of_both(wins, expected):
    (kept,) = keep_balanced([sampled(*[1] * wins, *[0] * (8 - wins))], keep=4)
    assert len(kept.trajectories) == 4
    assert sum(t.success for t in kept.trajectories) == expected


def test_failures_are_dropped_until_there_are_no_more_than_successes():
    assert sorted(outcomes_of(fewer_failures([sampled(1, 0, 0, 0)]))[0]) == [0, 1]
    assert outcomes_of(fewer_failures([sampled(1, 1, 0)])) == [[1, 1, 0]]
    assert outcomes_of(fewer_failures([sampled(0, 0)])) == [[0, 0]]


@pytest.mark.parametrize(
    "choose",
    [one_of_each, lambda g: keep_balanced(g, keep=2), lambda g: max_variance(g, keep=3), lambda g: shortest(g, keep=2)],
)
def test_the_choice_does_not_depend_on_the_order_of_episodes(choose):
    rows = sampled(1, 1, 1, 0, 0, 0)
    turned = replace(rows, trajectories=rows.trajectories[::-1])
    chosen = {t.turns[0].act_ids for t in choose([rows])[0].trajectories}
    assert chosen == {t.turns[0].act_ids for t in choose([turned])[0].trajectories}


def test_invalid_episodes_are_neither_chosen_nor_remembered():
    lost = trajectory(1, [([5], [6])], valid=False)
    (kept,) = shortest([group(lost, trajectory(0, [([5], [6, 6])]))], keep=2)
    assert outcomes_of([kept]) == [[0]]
    assert kept.drawn == (0,)


def test_a_number_of_episodes_may_follow_a_schedule():
    for choose in (keep_balanced, max_variance, shortest):
        assert len(choose([sampled(1, 0, 1, 0)], keep=1.7)[0].trajectories) == 2


@pytest.mark.parametrize("choose", [keep_balanced, max_variance, shortest])
def test_nothing_to_keep_is_refused(choose):
    with pytest.raises(InputError, match="at least 1"):
        choose([sampled(1, 0)], keep=0)
