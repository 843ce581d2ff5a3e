"""The model of the environment's answers: it learns what repeats, and scores levels for TRACED."""

from __future__ import annotations

import pytest
from palaestra.agents.grpo.measures.transitions import TransitionModel

from ..conftest import group, trajectory  # isort: skip


@pytest.fixture
def model():
    made = TransitionModel()
    made.attach(None)
    return made


def loss(model, *episodes):
    return [row["transition_loss"] for row in model([group(*episodes)], None)[0]]


def test_the_first_loss_is_the_squared_length_of_what_came(model):
    silent = trajectory(0.5, [([1], [2])], texts=["a"])
    # No words come back; the reward is 0.5 and the episode ends.
    assert loss(model, silent) == [pytest.approx(0.25 + 1.0)]


def test_what_repeats_is_foreseen_and_what_is_new_is_not(model):
    known = trajectory(1.0, [([1], [2]), ([3], [4])], texts=["open", "go"])
    for _ in range(30):
        loss(model, known)
    again, other = loss(model, known, trajectory(-1.0, [([5], [6]), ([7], [8])], texts=["look", "fly"]))
    assert again < 0.05 < 1.0 < other


def test_its_state_restores_it(model):
    episode = trajectory(1.0, [([1], [2])], texts=["a"])
    loss(model, episode)
    other = TransitionModel()
    other.attach(None)
    other.load(model.state())
    assert loss(other, episode) == loss(model, episode)


def test_levels_of_a_run_are_scored_by_it(train):
    step = train({"teacher": "traced", "steps": 2})
    assert step.metrics[-1]["teacher/score_max"] > 0.2
    assert step.learner.parts.objective.copies[0].target.state()["weights"].abs().sum() > 0
