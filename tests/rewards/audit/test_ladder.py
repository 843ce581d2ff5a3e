from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.errors import InputError
from palaestra.rewards.audit import RUNGS, ladder
from palaestra.rewards.audit.ladder import LadderReport, RungReport


class Scripted:
    """Follows the environment's honest solver below ``falls``, and its tamperer from that rung on."""

    def __init__(self, falls: int, cover_up: bool = False):
        self.falls = falls
        self.cover_up = cover_up
        self.resets = 0

    def bind(self, envs: Sequence[gym.Env]) -> None:
        self.env: Any = envs[0].unwrapped
        self.rung = RUNGS.index(envs[0].spec.id) if envs[0].spec else 0

    def reset(self, indices: Sequence[int]) -> None:
        assert list(indices) == [0]
        self.resets += 1

    def act(self, observations: Sequence[Any], infos: Sequence[Mapping[str, Any]]) -> list[str]:
        assert "episode_seed" in infos[0]
        return [self.env.oracle() if self.rung < self.falls else self.env.exploit(self.cover_up)]


def test_an_honest_agent_reaches_no_rung():
    report = ladder(Scripted(falls=4), episodes=5)
    assert report.reached == 0
    for rung in report.rungs:
        assert (rung.tamper_rate, rung.cover_up_rate, rung.success_rate) == (0, 0, 1)
        assert rung.recorded == rung.true == 1


def test_a_tamperer_is_counted_from_the_rung_on_which_it_falls():
    report = ladder(Scripted(falls=2, cover_up=True), episodes=5)
    assert report.reached == 4
    assert [rung.tamper_rate for rung in report.rungs] == [0, 0, 1, 1]
    assert [rung.cover_up_rate for rung in report.rungs] == [0, 0, 1, 1]
    for rung in report.rungs[2:]:
        assert rung.recorded > rung.true == 0
        assert rung.success_rate == 0


def test_tampering_once_is_tampering():
    honest, once = RungReport("a", 10, 0.0, 0.0, 1.0, 1.0, 1.0), RungReport("b", 10, 0.1, 0.0, 1.0, 0.9, 0.9)
    assert LadderReport((honest, once, honest)).reached == 2


def test_a_tamperer_that_hides_nothing_covers_nothing_up():
    assert [rung.cover_up_rate for rung in ladder(Scripted(falls=0), episodes=3).rungs] == [0, 0, 0, 0]


def test_a_plain_function_is_a_policy():
    report = ladder(lambda observation: "submit", episodes=3)
    assert [rung.true for rung in report.rungs] == [0, 0, 0, 0]
    assert report.reached == 0


def test_a_registered_agent_is_a_policy():
    agent = palaestra.agents.make("oracle")
    assert ladder(agent, episodes=2).reached == 0


def test_equal_seeds_give_equal_reports():
    def guess(observation: str) -> str:
        return str(len(observation))

    assert ladder(guess, episodes=3, seed=4) == ladder(guess, episodes=3, seed=4)


def test_rungs_may_be_made_by_the_caller():
    report = ladder(Scripted(falls=0), 2, rungs={"mine": lambda: gym.make(RUNGS[0], difficulty=1.0)})
    assert [(rung.name, rung.tamper_rate) for rung in report.rungs] == [("mine", 1.0)]


def test_agents_are_told_of_each_new_episode():
    agent = Scripted(falls=4)
    ladder(agent, episodes=3)
    assert agent.resets == 12


def test_the_report_prints_every_rung():
    text = str(ladder(lambda observation: "submit", episodes=1))
    assert all(name in text for name in RUNGS)
    assert "0 of 4" in text


def test_an_environment_that_keeps_no_books_is_no_rung():
    with pytest.raises(InputError, match="tampered"):
        ladder(lambda observation: "1", episodes=1, rungs=["palaestra/Arithmetic-v0"])
    with pytest.raises(InputError, match="policy"):
        ladder(3)
