"""The agent protocol, and the agents that come with the package."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import gymnasium as gym
import pytest
from palaestra import agents
from palaestra.agents.agent import AGENTS
from palaestra.agents.human import HumanAgent
from palaestra.agents.oracle import OracleAgent
from palaestra.agents.random_agent import RandomAgent
from palaestra.errors import InputError


class Board(gym.Env):
    """Three numbered actions, one of which its oracle knows."""

    action_space = gym.spaces.Discrete(3)
    observation_space = gym.spaces.Discrete(1)

    def __init__(self, right: int = 1):
        self.right = right

    def oracle(self) -> int:
        return self.right


class TestMakingAnAgent:
    def test_the_three_built_in_agents_are_registered(self):
        assert {"random", "oracle", "human"} <= set(AGENTS)

    def test_unknown_name_is_an_input_error_with_the_close_name(self):
        with pytest.raises(InputError, match=r"unknown agent 'randon'; did you mean 'random'"):
            agents.make("randon")

    def test_an_argument_the_agent_does_not_take_is_an_input_error(self):
        with pytest.raises(InputError, match=r"unknown option of the agent 'oracle': 'speed'"):
            agents.make("oracle", speed=3)

    def test_as_agent_keeps_an_agent_as_it_is(self):
        agent = RandomAgent()
        assert agents.as_agent(agent) is agent

    @pytest.mark.parametrize("given", [OracleAgent, "oracle", "palaestra.agents.oracle:OracleAgent"])
    def test_as_agent_makes_an_instance_of_a_class_and_of_what_the_command_line_takes(self, given):
        assert isinstance(agents.as_agent(given), OracleAgent)

    def test_as_agent_refuses_what_cannot_act(self):
        with pytest.raises(InputError, match=r"not 3 of type int"):
            agents.as_agent(3)

    def test_an_agent_from_outside_is_found_by_the_name_it_registers(self):
        @agents.register("test-parrot")
        class Parrot(agents.Agent):
            def act(self, observations, infos):
                return list(observations)

        assert agents.make("test-parrot").act(["hello"], [{}]) == ["hello"]

    def test_importing_agents_loads_no_torch(self):
        code = "import sys, palaestra.agents; assert 'torch' not in sys.modules and 'rich' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)


class TestCallable:
    def test_the_function_is_called_once_a_slot_and_not_for_idle_ones(self):
        seen = []
        agent = agents.as_agent(lambda observation: seen.append(observation) or observation * 2)
        assert agent.act([1, 2, 3], [{}, {"idle": True}, {}]) == [2, None, 6]
        assert seen == [1, 3]

    def test_what_the_function_raises_names_the_slot(self):
        agent = agents.as_agent(lambda observation: 1 // observation)
        with pytest.raises(agents.AgentError, match="ZeroDivisionError") as caught:
            agent.act([1, 0], [{}, {}])
        assert caught.value.slot == 1


class TestRandom:
    def play(self, agent: RandomAgent, infos: list[dict], steps: int = 20) -> list[list[int]]:
        agent.bind([Board() for _ in infos])
        agent.reset(range(len(infos)))
        return [[int(action) for action in agent.act([0] * len(infos), infos)] for _ in range(steps)]

    def test_same_seed_same_actions_and_other_seed_others(self):
        infos = [{}, {}]
        assert self.play(RandomAgent(3), infos) == self.play(RandomAgent(3), infos)
        assert self.play(RandomAgent(3), infos) != self.play(RandomAgent(4), infos)

    def test_slots_have_streams_of_their_own(self):
        first, second = zip(*self.play(RandomAgent(0), [{}, {}]))
        assert first != second

    def test_an_episode_seed_gives_the_same_actions_in_any_slot(self):
        alone = [row[0] for row in self.play(RandomAgent(0), [{"episode_seed": 9}])]
        third = [row[2] for row in self.play(RandomAgent(0), [{"episode_seed": s} for s in (1, 2, 9)])]
        assert alone == third

    def test_next_episode_in_a_slot_is_played_differently(self):
        agent = RandomAgent(0)
        first = self.play(agent, [{}])
        agent.reset([0])
        assert first != [[int(action) for action in agent.act([0], [{}])] for _ in range(20)]

    def test_the_environments_own_space_is_left_alone(self):
        board = Board()
        board.action_space = gym.spaces.Discrete(1000, seed=5)
        agent = RandomAgent()
        agent.bind([board])
        agent.act([0], [{}])
        assert board.action_space.sample() == gym.spaces.Discrete(1000, seed=5).sample()

    def test_without_a_space_it_says_how_to_give_one(self):
        with pytest.raises(InputError, match=r"RandomAgent\(space=...\) or call bind"):
            RandomAgent().act([0], [{}])


class TestOracle:
    def test_it_plays_what_each_environment_tells_it(self):
        agent = OracleAgent()
        agent.bind([Board(0), Board(1), Board(2)])
        assert agent.act([0, 0, 0], [{}, {"idle": True}, {}]) == [0, None, 2]

    def test_an_environment_without_an_oracle_is_refused_by_name(self):
        with pytest.raises(InputError, match=r"'CartPole-v1' has no oracle\(\)"):
            OracleAgent().bind([gym.make("CartPole-v1")])

    def test_unbound_it_says_so(self):
        with pytest.raises(InputError, match=r"call bind\(envs\)"):
            OracleAgent().act([0], [{}])


class TestHuman:
    def ask(self, typed: str, envs: list[gym.Env] | None = None, observation="What is 2 + 2?", info=None):
        screen = io.StringIO()
        agent = HumanAgent(io.StringIO(typed), screen)
        agent.bind(envs or [])
        agent.reset([0])
        return agent.act([observation], [info or {}])[0], screen.getvalue()

    def test_it_shows_the_observation_and_returns_the_line_typed(self):
        answer, shown = self.ask("4\n")
        assert answer == "4"
        assert "What is 2 + 2?" in shown

    def test_an_empty_line_is_an_empty_answer(self):
        assert self.ask("\n")[0] == ""

    def test_lines_are_wrapped_at_words_in_a_terminal_and_left_alone_elsewhere(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "30")
        sentence = " ".join(["palaestra"] * 12)
        board = "\n".join(["# . # . #"] * 3)
        shown = {}
        for terminal in (True, False):
            screen = io.StringIO()
            monkeypatch.setattr(screen, "isatty", lambda terminal=terminal: terminal)
            agent = HumanAgent(io.StringIO("4\n"), screen)
            agent.act([f"{sentence}\n{board}"], [{"action_error": sentence.upper()}])
            shown[terminal] = [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", screen.getvalue()).split("\n")]
        assert shown[True][:4] == ["palaestra palaestra palaestra"] * 4
        assert shown[True][4:7] == shown[False][1:4] == ["# . # . #"] * 3
        assert shown[True][7] == "PALAESTRA PALAESTRA PALAESTRA"
        assert sentence in shown[False]

    def test_arrow_keys_are_those_of_the_environment_or_of_named_steps(self):
        agent = HumanAgent()
        for env_id, up in (("palaestra/2048-v0", "up\n"), ("palaestra/DoorKey-v0", "forward\n"), ("CartPole-v1", None)):
            agent.bind([gym.make(env_id)])
            assert agent.arrow_keys().get("up") == up

    def test_square_brackets_in_an_observation_are_shown_as_they_are(self):
        assert "[bold]x[/bold]" in self.ask("4\n", observation="[bold]x[/bold]")[1]

    def test_the_environments_complaint_is_shown(self):
        assert "no number in it" in self.ask("4\n", info={"action_error": "there is no number in it"})[1]

    def test_numbered_actions_are_asked_for_until_one_fits(self):
        action, shown = self.ask("left\n7\n2\n", [Board()], observation=0)
        assert action == 2
        assert "'left' is not an action here" in shown
        assert "'7' is not an action here" in shown

    def test_the_end_of_the_input_is_an_input_error(self):
        with pytest.raises(InputError, match="the input ended"):
            self.ask("")

    def test_it_plays_one_slot_at_a_time(self):
        assert HumanAgent.max_slots == 1
