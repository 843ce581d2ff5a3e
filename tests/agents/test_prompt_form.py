"""Which environments are asked for the terse form, and that agents of characters play in it by themselves."""

from __future__ import annotations

import gymnasium as gym
import palaestra
import pytest
from palaestra.agents import Agent
from palaestra.agents.prompt_form import add_prompt_form
from palaestra.envs import Question, Task

SUMS = "palaestra/Arithmetic-v0"


class Rigid(Question):
    """An environment of somebody else's that takes no arguments but these."""

    def __init__(self, *, split: str = "train", answer_format: str | None = None):
        super().__init__(split=split, answer_format=answer_format)

    def generate(self, rng, params):
        return Task(f"What is {rng.integers(1000)}?", "1")


class Listener(Agent):
    """Remembers what it is asked."""

    def __init__(self, form: str | None):
        self.prompt_form, self.asked = form, []

    def act(self, observations, infos):
        self.asked += observations
        return ["0"] * len(observations)


@pytest.fixture(scope="module", autouse=True)
def registered():
    palaestra.envs.register("test/Rigid-v0", Rigid)
    yield
    gym.registry.pop("test/Rigid-v0")
    palaestra.envs.registration._ids.remove("test/Rigid-v0")


@pytest.mark.parametrize(
    ("env_id", "options", "form", "found"),
    [
        (SUMS, {}, "terse", {"prompt": "terse"}),
        (SUMS, {"digits": 1}, "sentences", {"digits": 1}),
        (SUMS, {}, None, {}),
        (SUMS, {"prompt": "sentences"}, "terse", {"prompt": "sentences"}),
        ("palaestra/Dataset-v0", {"prompt": "task"}, "terse", {"prompt": "task"}),
        ("palaestra/Mixture-v0", {}, "terse", {"prompt": "terse"}),
        ("test/Rigid-v0", {}, "terse", {}),
        ("CartPole-v1", {}, "terse", {}),
    ],
)
def test_the_form_is_added_where_it_is_taken_and_not_chosen(env_id, options, form, found):
    assert add_prompt_form(gym.spec(env_id), options, form) == found


@pytest.mark.parametrize(("form", "is_terse"), [(None, False), ("sentences", False), ("terse", True)])
def test_an_evaluation_asks_in_the_form_of_the_agent(form, is_terse):
    for env, options in ((SUMS, {}), (gym.make(SUMS), {}), (SUMS, {"answer_format": "any"})):
        agent = Listener(form)
        palaestra.evaluate(agent, env, episodes=3, env_kwargs=options)
        assert all(text.endswith("= ? (integer)") is is_terse for text in agent.asked if text)
    agent = Listener(form)
    palaestra.evaluate(agent, SUMS, episodes=3, env_kwargs={"prompt": "sentences"})
    assert all(text.startswith("What is") for text in agent.asked if text)
    assert palaestra.evaluate(Listener(form), "test/Rigid-v0", episodes=3).episodes == 3


def test_a_language_agent_of_characters_is_asked_tersely(small):
    from palaestra.agents.language.language_agent import LanguageAgent

    assert LanguageAgent(small).prompt_form == "terse"
