"""Likeness to a goal in words, as a potential."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, Step, make
from palaestra.rewards.embedding import HashedNgrams, goal_projection
from palaestra.rewards.terms.goals import COLUMNS, GoalText

GOAL, BASELINE = "You carry a red key.", "You carry nothing."


def walk(*observations: str) -> Episode:
    steps = tuple(Step(seen, "", 0.0, {}, 1) for seen in observations)
    return Episode("t", {}, steps, False, 0.0, True, False, None)


def test_a_text_is_projected_as_its_vector():
    text = "You carry a blue key."
    rows = HashedNgrams(columns=COLUMNS)([text, GOAL, BASELINE])
    likeness = GoalText(GOAL, BASELINE, 0.5, HashedNgrams(columns=COLUMNS))
    assert likeness(text) == pytest.approx(goal_projection(*rows, 0.5))
    assert likeness(GOAL) == pytest.approx(1.0)
    assert likeness(GOAL) > likeness(text) > likeness(BASELINE)


def test_the_steps_are_differences_that_sum_to_minus_the_first_likeness():
    reward = make("goal-text", goal=GOAL, baseline=BASELINE, weight=2.0)
    first, second, third = reward.values(walk(BASELINE, "You carry a blue key.", GOAL))  # type: ignore[attr-defined]
    assert first > 0
    assert second > 0
    assert third == pytest.approx(-2.0)
    assert first + second + third == pytest.approx(-2 * GoalText(GOAL, BASELINE, 0.5, reward_embedder())(BASELINE))


def reward_embedder() -> HashedNgrams:
    return HashedNgrams(columns=COLUMNS)


def test_bad_texts_and_embedders_are_refused():
    for goal, baseline, words in (("", BASELINE, "goal must be text"), (GOAL, " ", "baseline must be text")):
        with pytest.raises(InputError, match=words):
            make("goal-text", goal=goal, baseline=baseline)
    with pytest.raises(InputError, match="alpha"):
        make("goal-text", goal=GOAL, baseline=BASELINE, alpha=1.5)
    with pytest.raises(InputError, match="not finite"):
        make("goal-text", goal=GOAL, baseline=BASELINE, embedder=lambda texts: np.full((len(texts), 2), np.nan))
