"""Ready-made groups: which answers stand together, and what they say of themselves."""

from __future__ import annotations

from palaestra.benchmarks.ready_made import make_batch, make_groups

ANSWERS = [([1, 2], [3] * size, [-0.5] * size, reward) for size, reward in ((2, 0.0), (3, 1.0), (4, 0.25), (1, 0.25))]


def test_answers_side_by_side_are_a_group_that_belongs_to_no_proposal():
    first, second = make_groups(ANSWERS, 2)
    assert (first.proposal, first.has_variance, second.has_variance) == (-1, True, False)
    assert [trajectory.success for trajectory in first.trajectories] == [False, True]
    assert [trajectory.max_tokens for trajectory in first.trajectories] == [2, 3]
    assert {
        trajectory.max_tokens for group in make_groups(ANSWERS, 2, most=9) for trajectory in group.trajectories
    } == {9}


def test_a_batch_scores_the_tokens_of_the_answers():
    batch = make_batch(ANSWERS, 2)
    assert batch.rows == 4
    assert int(batch.action.sum()) == 2 + 3 + 4 + 1
