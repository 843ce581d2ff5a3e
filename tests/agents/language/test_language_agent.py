"""A language model as an agent: its budgets, and the settings that a run brings."""

from __future__ import annotations

import json

import palaestra
import pytest
from palaestra.agents import Agent, EndEpisode, LanguageAgent
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


class Together(Agent):
    """The same agent, asked for all slots at once."""

    name = "language"

    def __init__(self, agent: LanguageAgent):
        self.act, self.reset, self.prompt_form = agent.act, agent.reset, agent.prompt_form


def play(agent: Agent, env: str = "palaestra/GuessNumber-v0", **options) -> palaestra.agents.Report:
    return palaestra.evaluate(agent, env, episodes=12, num_envs=4, **options)


def count_steps(agent: LanguageAgent) -> list[int]:
    """Sizes of the batches that the engine decodes from now on."""
    runner, sizes = agent._engine._runner, []
    step = runner.step

    def counted(ids, *args):
        sizes.append(len(ids))
        return step(ids, *args)

    runner.step = counted
    return sizes


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_actions_are_the_same_however_slots_are_asked(small, temperature):
    def agent():
        return LanguageAgent(small, temperature=temperature, max_new_tokens=6)

    assert play(agent()) == play(Together(agent()))


def test_rows_are_refilled_as_replies_end(small):
    # Sampled replies of an untrained model end after any number of tokens.
    together, apart = (LanguageAgent(small, max_new_tokens=30, context=700) for _ in range(2))
    steps_together, steps_apart = count_steps(together), count_steps(apart)
    play(Together(together), seed=2)
    play(apart, seed=2)
    assert sum(steps_apart) / len(steps_apart) > 1.05 * sum(steps_together) / len(steps_together)


def test_sampled_episodes_are_the_same_from_run_to_run(small):
    one, two = (play(LanguageAgent(small, max_new_tokens=6)).to_json(results=True) for _ in range(2))
    assert one == two


@pytest.mark.parametrize("env", ["palaestra/GuessNumber-v0", "palaestra/PythonTool-v0"])
def test_sampled_episodes_are_the_same_however_many_are_played_at_once(small, env, tmp_path):
    files = [tmp_path / f"{slots}.jsonl" for slots in (1, 3, 12)]
    for slots, file in zip((1, 3, 12), files, strict=True):
        agent = LanguageAgent(small, max_new_tokens=6, context=1024)
        palaestra.evaluate(agent, env, episodes=12, num_envs=slots, samples=2, out=file)
    assert files[0].read_bytes() == files[1].read_bytes() == files[2].read_bytes()
    said = [turn["action"] for line in files[0].read_text().splitlines() for turn in json.loads(line)["turns"]]
    assert len(set(said)) > len(said) / 2


def test_samples_of_one_task_are_drawn_apart(small):
    agent = LanguageAgent(small, max_new_tokens=8)
    first, second = (agent.act(["1+1?"], [{"episode_seed": seed}])[0] for seed in (1, 2))
    agent.reset([0])
    again = agent.act(["1+1?"], [{"episode_seed": 1}])[0]
    assert first == again
    assert first != second
