"""The contract of every registered environment: a new family is covered here by being registered."""

from __future__ import annotations

import gymnasium as gym
import palaestra
from palaestra.envs.testing import *  # noqa: F403
from palaestra.envs.testing import interface

IDS = [name for name in palaestra.envs.ids() if name.startswith("palaestra/")]
ONE_OF_EACH = {str(gym.spec(name).entry_point).rpartition(".")[0]: name for name in IDS}
"""Package of environments -> one of them."""


def test_synchronous_and_asynchronous_vectors_agree(env_id: str):
    interface.test_synchronous_and_asynchronous_vectors_agree(env_id)


# The wrapper and its processes are Gymnasium's, and the same for all environments of a package.
test_synchronous_and_asynchronous_vectors_agree.suits = set(ONE_OF_EACH.values()).__contains__


def test_the_six_families_are_registered():
    names = {"Arithmetic", "LinearEquation", "Countdown", "GuessNumber", "DoorKey", "DoorKeyText"}
    assert {f"palaestra/{name}-v0" for name in names} <= set(IDS)
