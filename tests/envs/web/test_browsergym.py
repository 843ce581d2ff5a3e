"""BrowserGym through its own packages, which need another Playwright than ours: what needs them runs where
PALAESTRA_BROWSERGYM_PYTHON names an interpreter that has browsergym-miniwob and miniwob."""

from __future__ import annotations

import os
import re

import gymnasium as gym
import palaestra
import pytest
from palaestra.errors import InputError

BROWSERGYM = "palaestra/BrowserGym-v0"
PYTHON = os.environ.get("PALAESTRA_BROWSERGYM_PYTHON")


def test_it_is_an_adapter_and_no_family():
    assert gym.spec(BROWSERGYM).id == BROWSERGYM
    assert BROWSERGYM not in palaestra.envs.ids()


def test_an_interpreter_without_the_package_is_one_sentence_with_the_remedy():
    with pytest.raises(InputError, match="has no tasks of BrowserGym's benchmark 'none'") as raised:
        gym.make(BROWSERGYM, disable_env_checker=True, benchmark="none")
    assert "gym/bin/pip install browsergym-none" in str(raised.value)
    with pytest.raises(InputError, match="has no tasks of BrowserGym's benchmark 'miniwob'"):
        gym.make(BROWSERGYM, disable_env_checker=True, python="/nowhere/python")


if PYTHON:

    def test_a_task_is_played_with_the_contract():
        env = gym.make(BROWSERGYM, disable_env_checker=True, python=PYTHON, options={"pre_observation_delay": 0.05})
        begin = {"params": {"task": "click-test"}}
        page, _ = env.reset(seed=1, options=begin)
        _, reward, over, _, info = env.step("click('nope')")
        assert (reward, over, info["reward_valid"]) == (0.0, False, True)
        assert info["action_error"].startswith("ValueError: Could not find element")
        button = re.findall(r"\[(\w+)\] button", page)[0]
        _, reward, over, _, info = env.step(f"```python\nclick('{button}')\n```")
        assert (reward, over, info["is_success"], info["action_error"]) == (1.0, True, True, None)

        page, _ = env.reset(seed=1, options=begin)
        env.unwrapped._worker._process.kill()
        _, reward, over, cut, info = env.step("noop()")
        assert (reward, over, cut, info["reward_valid"]) == (0.0, False, True, False)
        assert "button" in env.reset(seed=1, options=begin)[0]
        env.close()
