"""A language model as an agent: its budgets, and the settings that a run brings."""

from __future__ import annotations

import palaestra
import pytest
from palaestra.agents import EndEpisode, LanguageAgent
from palaestra.errors import InputError


def act(agent: LanguageAgent, text: str) -> object:
    (action,) = agent.act([text], [{}])
    return action


def test_an_episode_ends_when_its_budget_of_tokens_is_spent(small):
    agent = LanguageAgent(small, max_new_tokens=2, max_episode_tokens=3, slots=1)
    said = [act(agent, "1+1?") for _ in range(3)]
    assert [isinstance(action, str) for action in said[:2]] == [True, True]
    assert said[2] == EndEpisode(valid=True)
    assert isinstance(act(agent, "a new conversation"), str)


def test_an_observation_that_leaves_no_room_ends_the_episode_as_invalid_only_if_nothing_was_played(small):
    agent = LanguageAgent(small, max_new_tokens=4, context=40, slots=1)
    assert act(agent, "x" * 60) == EndEpisode(valid=False)
    assert isinstance(act(agent, "x"), str)
    assert act(agent, "x" * 60) == EndEpisode(valid=True)


def test_evaluate_counts_both_kinds(small):
    agent = LanguageAgent(small, max_new_tokens=2, max_episode_tokens=3)
    report = palaestra.evaluate(agent, "palaestra/GuessNumber-v0", episodes=6)
    assert (report.success.mean, report.truncated, report.invalid) == (0.0, 1.0, 0)
    assert report.length.mean <= 3
    agent = LanguageAgent(small, max_new_tokens=2, context=300)
    assert palaestra.evaluate(agent, "palaestra/GSM8K-v0", episodes=20).invalid > 0


def test_a_checkpoint_is_of_runs_alone(small, tmp_path):
    small.save(tmp_path)
    with pytest.raises(InputError, match="no run, so that it has no checkpoint 'best'"):
        LanguageAgent(tmp_path, checkpoint="best")
