from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.calibration import brier_reward, confidence_of

Maker = Callable[..., Episode]


@pytest.mark.parametrize(("correct", "q", "value"), [(True, 1.0, 1.0), (False, 0.0, 0.0), (False, 1.0, -1.0)])
def test_the_corners(correct: bool, q: float, value: float):
    assert brier_reward(correct, q) == value


def test_honest_confidence_is_best_and_worth_p_squared():
    grid = [i / 100 for i in range(101)]
    expected = [0.3 * brier_reward(True, q) + 0.7 * brier_reward(False, q) for q in grid]
    best = max(range(101), key=expected.__getitem__)
    assert grid[best] == 0.3
    assert expected[best] == pytest.approx(0.09)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0.8", 0.8),
        (" .5\n", 0.5),
        ("1", 1.0),
        ("1.0", 1.0),
        ("0", 0.0),
        ("1.1", None),
        ("-0.1", None),
        ("80%", None),
        ("1e-1", None),
        ("nan", None),
        ("٠.٨", None),
        ("0_1", None),
        (".", None),
        ("1.", None),
        ("", None),
        ("0." + "1" * 10_000, None),
    ],
)
def test_only_a_plain_decimal_between_zero_and_one_is_a_confidence(written: str, read: float | None):
    assert confidence_of(f"so 4 <confidence>{written}</confidence>") == read


def test_several_confidences_are_none():
    one = "<confidence>0.5</confidence>"
    assert confidence_of(one + one) is confidence_of("0.5") is None


def test_the_released_scale_pays_format_outcome_and_calibration_by_halves(episode: Maker):
    reward = make("rlcr", variant="code")
    assert reward(episode(True, text="<confidence>1</confidence>")).reward == 1.5
    assert reward(episode(False, text="<confidence>0.5</confidence>")).reward == 0.5 + 0.5 * 0.75
    assert reward(episode(True, text="<confidence>1.5</confidence>")).reward == 0.0  # format 0, so all is 0
    assert not reward.ranks_success


def test_the_papers_scale_puts_zero_between_failures_and_successes(episode: Maker):
    reward = make("rlcr")
    assert reward(episode(True, text="<confidence>0</confidence>")).reward == 0.0
    assert reward(episode(False, text="<confidence>0.5</confidence>")).reward == -0.25
    assert reward(episode(False, text="4")).reward == 0.0


def test_the_log_score_is_refused():
    with pytest.raises(InputError, match="unbounded"):
        make("rlcr", rule="log")


def test_confidence_can_come_from_elsewhere(episode: Maker):
    assert make("rlcr", confidence=lambda _: 0.5)(episode(True)).reward == 0.75
    assert make("rlcr", confidence=lambda _: 5.0)(episode(True)).reward == 0.0
    assert make("rlcr", confidence=lambda _: None)(episode(True)).valid
    assert not make("rlcr", confidence=lambda _: float("nan"))(episode(True)).valid
