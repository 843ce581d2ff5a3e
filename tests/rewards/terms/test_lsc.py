from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.lsc import conjunction, log_sigmoid, lsc, reference_quantile

Maker = Callable[..., Episode]


def test_values_at_the_reference_and_two_above():
    assert lsc(1.0, 1.0) == pytest.approx(-0.6931, abs=1e-4)
    assert lsc(3.0, 1.0) == pytest.approx(-0.1269, abs=1e-4)


def test_gains_diminish():
    values = [lsc(x / 2, 0.0) for x in range(-10, 11)]
    gains = [b - a for a, b in pairwise(values)]
    assert all(0 < later < earlier for earlier, later in pairwise(gains))


def test_balance_beats_excellence_in_one_respect():
    balanced, torn = conjunction([lsc(0, 0), lsc(0, 0)]), conjunction([lsc(-5, 0), lsc(5, 0)])
    assert balanced == pytest.approx(-1.386, abs=1e-3)
    assert torn == pytest.approx(-5.01, abs=0.01)


def test_extreme_scores_do_not_overflow():
    assert log_sigmoid(1e300) == 0.0
    assert log_sigmoid(-1e300) == -1e300


def test_the_reference_is_a_quantile_of_the_policys_scores():
    assert reference_quantile(range(101)) == pytest.approx(85.0)


def test_the_term_adds_up_all_models(episode: Maker):
    reward = make("lsc", scorers={"helpful": lambda _: 2.0, "safe": lambda _: 1.0}, references={"safe": 1.0})
    assert reward(episode()).reward == pytest.approx(-0.1269 - 0.6931, abs=1e-4)
    assert reward(episode(references={"helpful": 2.0})).reward == pytest.approx(-2 * 0.6931, abs=1e-3)


def test_one_silent_model_makes_it_invalid(episode: Maker):
    assert not make("lsc", scorers={"a": lambda _: 1.0, "b": lambda _: None})(episode()).valid


def test_an_unknown_reference_makes_it_invalid(episode: Maker):
    for unknown in (None, float("nan")):
        judged = episode(reward_model_score=1.0, references={"reward_model_score": unknown})
        assert not make("lsc")(judged).valid


@pytest.mark.parametrize(
    "wrong", [{"scorers": {}}, {"references": {"b": 1.0}}, {"references": {"reward_model_score": float("nan")}}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("lsc", **wrong)
