"""The contract of every registered environment: a new family is covered here by being registered."""

from __future__ import annotations

import palaestra
from palaestra.envs.testing import *  # noqa: F403

IDS = [name for name in palaestra.envs.ids() if name.startswith("palaestra/")]


def test_the_six_families_are_registered():
    names = {"Arithmetic", "LinearEquation", "Countdown", "GuessNumber", "DoorKey", "DoorKeyText"}
    assert {f"palaestra/{name}-v0" for name in names} <= set(IDS)
