from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_a_failure_is_paid_a_tenth_for_each_milestone(episode: Maker):
    reward = make("milestones")
    assert reward(episode(success=False, milestones=[0, 7])).reward == -10.0
    assert reward(episode(success=False, milestones=(3, 7))).reward == pytest.approx(-9.7)
    assert reward(episode(success=False, milestones=None)).reward == -10.0


def test_milestones_never_outrank_a_score(episode: Maker):
    reward = make("milestones")
    most = reward(episode(success=False, milestones=[50, 50])).reward
    assert most == pytest.approx(-9.3)
    assert reward(episode(progress=0.0, milestones=[0, 7])).reward == 0.0
    assert reward(episode(milestones=[0, 7])).reward == 1.0
    with pytest.raises(InputError, match=r"failure must be a finite number of at most -0\.7"):
        make("milestones", failure=-0.5)


@pytest.mark.parametrize("found", [3, [1], [2, 1], [-1, 2], "ab"])
def test_other_extras_are_refused(found: Any, episode: Maker):
    with pytest.raises(InputError, match=r"must be \(reached, of how many\), or None, not"):
        make("milestones")(episode(success=False, milestones=found))
