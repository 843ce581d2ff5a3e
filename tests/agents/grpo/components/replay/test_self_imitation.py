"""Self imitation against numbers worked out by hand."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.components.replay.self_imitation import SelfImitation, group_advantages

from .conftest import make_groups, rng  # isort: skip


def test_the_recalibrated_advantage_is_the_return_above_the_median_of_group_means():
    replay = SelfImitation(threshold=0.5, good=0)
    # Two groups of mean 0.6; the best of each is more than half a standard deviation above.
    replay.remember(make_groups(1, (1.0, 0.6, 0.2)) + make_groups(1, (0.9, 0.6, 0.3)), 1)
    recalled = [g.trajectories[0] for g in replay.recall(99, 2, rng())]
    assert [t.outcome for t in recalled] == [1.0, 0.9]
    assert [t.advantage for t in recalled] == pytest.approx([0.4, 0.3])


def test_what_is_no_longer_above_the_median_is_not_replayed():
    replay = SelfImitation(threshold=0.5, good=0)
    replay.remember(make_groups(1, (0.5, 0.0)), 1)
    replay.remember(make_groups(2, (0.6, 0.6)) + make_groups(2, (0.6, 0.6)), 2)
    assert replay.recall(99, 3, rng()) == []


def test_only_episodes_more_than_the_threshold_above_their_group_are_remembered():
    assert group_advantages(make_groups(1, (1.0, 0.0, 0.0, 0.0))[0])[0] == pytest.approx(1.5, abs=1e-3)
    replay = SelfImitation(threshold=1.0, good=1)
    replay.remember(make_groups(1, (1.0, 0.0)), 1)  # 0.707
    assert len(replay) == 0
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 1


def test_a_group_needs_two_successes():
    replay = SelfImitation()
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 0
    replay.remember(make_groups(1, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay) == 2


def test_an_episode_expires_after_ten_updates():
    replay = SelfImitation(good=0)
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert len(replay.recall(9, 11, rng())) == 1
    assert replay.recall(9, 12, rng()) == []


def test_the_alternative_calibration_decays_the_old_advantage():
    replay = SelfImitation(good=0, calibration="decay")
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0)), 1)
    assert replay.recall(9, 2, rng())[0].trajectories[0].advantage == pytest.approx(0.9 * 1.5, abs=1e-3)


def test_with_normalisation_the_gain_is_divided_by_the_median_deviation():
    replay = SelfImitation(good=0, normalise=True)
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0)), 1)  # mean 1/4, standard deviation 1/2
    assert replay.recall(9, 2, rng())[0].trajectories[0].advantage == pytest.approx(1.5)


def test_no_more_is_replayed_than_is_fresh():
    replay = SelfImitation(good=0)
    replay.remember(make_groups(1, (1.0, 0.0, 0.0, 0.0), groups=5), 1)
    assert len(replay.recall(3, 2, rng())) == 3
