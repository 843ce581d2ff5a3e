"""The agent that searches, as an evaluation plays it."""

from __future__ import annotations

import copy

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents import LanguageAgent
from palaestra.agents.language.model import LanguageModel
from palaestra.agents.search.search_agent import EnvironmentCopies, SearchAgent
from palaestra.errors import InputError
from palaestra.scripts.cli import main

ARITHMETIC, GUESS = "palaestra/Arithmetic-v0", "palaestra/GuessNumber-v0"


@pytest.fixture(scope="module")
def agent():
    return LanguageAgent(LanguageModel.tiny(seed=3), max_new_tokens=3, context=200, max_episode_tokens=9)


def played(agent, env, search="mcts(budget=20, leaves=2, at='token', every=1)", **options):
    return palaestra.evaluate(SearchAgent(agent, search), env, episodes=6, **options)


@pytest.mark.parametrize("env", [ARITHMETIC, GUESS])
def test_the_result_does_not_depend_on_the_number_of_slots(agent, env, tmp_path):
    for number in (1, 4):
        played(agent, env, num_envs=number, out=tmp_path / f"{number}.jsonl")
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "4.jsonl").read_bytes()


def test_the_report_has_the_tokens_of_the_searches(agent):
    report = played(agent, ARITHMETIC)
    assert report.usage
    assert 6 * 20 <= report.usage.completion_tokens < 6 * (20 + 2 * 3)
    assert "written" in str(report)


def test_a_search_leaves_the_environment_of_its_slot_alone(agent):
    env = gym.make(GUESS)
    observation, info = env.reset(seed=1)
    before = copy.deepcopy(env.get_wrapper_attr("get_state")())
    searching = SearchAgent(agent, "mcts(budget=30)")
    searching.bind([env])
    searching.reset([0])
    (action,) = searching.act([observation], [info])
    assert isinstance(action, str)
    assert env.get_wrapper_attr("get_state")() == before


def test_an_environment_that_answers_differently_is_searched_again(agent):
    env = gym.make(GUESS)
    observation, info = env.reset(seed=1)
    searching = SearchAgent(LanguageAgent(agent.language, max_new_tokens=1), "independent(budget=9)")
    searching.bind([env])
    first = searching.start(0, observation, info)
    assert searching.advance()
    assert isinstance(first.result(), str)
    second = env.step(first.result())[0]
    assert isinstance(searching.start(0, second, info), str)  # as planned
    again = searching.start(0, "something else", info)
    assert not again.done()
    assert searching.advance()
    assert isinstance(again.result(), str)
    trace = searching.trace(0)
    assert trace
    assert trace.usage
    assert trace.usage.completion_tokens >= 9
    assert searching.trace(0) is None


def test_an_episode_ends_where_the_token_budgets_ended_the_search(agent):
    report = palaestra.evaluate(SearchAgent(agent, "independent(budget=9)"), GUESS, episodes=2)
    assert report.truncated == 1.0
    assert report.length.mean <= 9


def test_a_killed_evaluation_goes_on_to_the_same_bytes(agent, tmp_path):
    played(agent, ARITHMETIC, out=tmp_path / "whole.jsonl", num_envs=1)
    whole = (tmp_path / "whole.jsonl").read_bytes()
    lines = whole.splitlines(keepends=True)
    (tmp_path / "cut.jsonl.partial").write_bytes(b"".join(lines[:4]) + lines[4][:7])
    played(agent, ARITHMETIC, out=tmp_path / "cut.jsonl", num_envs=2, resume=True)
    assert (tmp_path / "cut.jsonl").read_bytes() == whole


def test_copies_of_an_environment_are_used_again():
    env = gym.make(ARITHMETIC)
    env.reset(seed=0)
    pool = EnvironmentCopies(env)
    one, other = pool.take(), pool.take()
    assert len({id(one), id(other), id(env)}) == 3
    pool.give_back(one)
    assert pool.take() is one


def test_what_cannot_be_searched_is_refused(agent):
    with pytest.raises(InputError, match="'random' does not offer"):
        SearchAgent("random")
    with pytest.raises(InputError, match="has no get_state"):
        SearchAgent(agent).bind([gym.make("CartPole-v1")])


def test_the_command_line_searches(tmp_path, capsys):
    LanguageModel.tiny(seed=3).save(tmp_path / "model")
    words = ["eval", ARITHMETIC, "--agent", str(tmp_path / "model"), "--episodes", "2", "--max-new-tokens", "2"]
    assert main([*words, "--search", "mcts(budget=8)"]) == 0
    assert "mcts(budget=8)" in (shown := capsys.readouterr().out)
    assert "written" in shown
    assert main([*words, "--search", "mcst"]) == 2
    assert "did you mean 'mcts'" in capsys.readouterr().err
