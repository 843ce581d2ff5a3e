"""Facts of environments in ``measured.json``, and of families that state their own."""

from __future__ import annotations

import json
from typing import ClassVar

import gymnasium as gym
import palaestra  # noqa: F401 - registers the environments
from palaestra.envs.baselines import DIFFICULTIES, PLAYERS
from palaestra.envs.measured import FILE, Measured, find_measured


def test_every_row_belongs_to_an_environment_and_says_more_than_the_defaults():
    for env_id, row in json.loads(FILE.read_text("utf-8")).items():
        assert env_id in gym.registry, env_id
        facts = Measured(**row)
        assert facts != Measured(), env_id
        assert set(facts.baselines) <= set(PLAYERS), env_id
        assert all(len(rates) == len(DIFFICULTIES) for rates in facts.baselines.values()), env_id


def test_a_family_states_what_differs_from_the_defaults():
    class Own:
        measured: ClassVar = {"chance": 0.5}

    assert find_measured("mine/Own-v0", Own) == Measured(chance=0.5)
    assert find_measured("palaestra/2048-v0", object).chance == 0.27
