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


def test_a_system_prompt_and_a_temperature_are_given_to_a_model_folder(small, tmp_path):
    small.save(tmp_path)
    plain = LanguageAgent(tmp_path, max_new_tokens=2, context=60)
    assert isinstance(act(plain, "x" * 30), str)
    # The prompt takes its place in the conversation: with it the same text leaves no room.
    assert act(LanguageAgent(tmp_path, max_new_tokens=2, context=60, system="s" * 40), "x" * 30) == EndEpisode(False)
    with pytest.raises(InputError, match="a LanguageModel has its system prompt"):
        LanguageAgent(small, system="Be short.")


def test_a_large_model_has_room_for_thoughts_by_default(small, monkeypatch):
    monkeypatch.setattr("palaestra.agents.language.language_agent.LARGE", 10)
    agent = LanguageAgent(small)
    limit = min(4096, small.model.config.max_position_embeddings)
    assert (agent._context, agent._max_new_tokens, agent.max_slots) == (limit, min(limit // 2, 1024), 32)
