from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_the_cube_of_the_normalised_objective_times_five(episode: Maker):
    reward = make("bounded-power", low=0.0, high=2.635)
    assert reward(episode(objective=2.4)).reward == pytest.approx(3.778, abs=1e-3)
    assert reward(episode(objective=2.635)).reward == reward(episode(objective=1e300)).reward == 5.0
    assert reward(episode(objective=-1.0)).reward == 0.0


def test_failures_form_a_strict_ladder_below_zero(episode: Maker):
    names = ("no-diff", "no-change", "error", "invalid")
    values = [make("bounded-power")(episode(objective=name)).reward for name in names]
    assert values == [-0.4, -0.3, -0.2, -0.1]


def test_minimising_turns_the_scale(episode: Maker):
    reward = make("bounded-power", low=1.0, high=3.0, maximise=False, exponent=1.0)
    assert [reward(episode(objective=x)).reward for x in (1.0, 2.0, 3.0, 9.0)] == [5.0, 2.5, 0.0, 0.0]


def test_a_verifier_that_failed_makes_it_invalid_and_unknown_failures_are_refused(episode: Maker):
    assert not make("bounded-power")(episode(objective=None)).valid
    with pytest.raises(InputError, match="'error'"):
        make("bounded-power")(episode(objective="eror"))


@pytest.mark.parametrize("wrong", [{"low": 1.0}, {"exponent": 0}, {"scale": -1}])
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("bounded-power", **wrong)
