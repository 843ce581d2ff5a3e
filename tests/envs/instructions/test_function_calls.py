"""Calls of tools: the reward of ToolRL on the environment's own tasks, and requests that no tool serves."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the environment
import pytest
from palaestra.rewards import Episode, Step
from palaestra.rewards import make as make_reward

CALL = "<think>so</think>\n<tool_call>\n{}\n</tool_call>"


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/FunctionCalls-v0", disable_env_checker=True, **kwargs).unwrapped


def toolrl(env: Any, reply: str) -> float:
    extras = {"expected_calls": env.compute_extra(env.here(), "expected_calls")}
    steps = (Step("", reply, 0.0, {}, len(reply)),)
    return make_reward("toolrl")(Episode("", {}, steps, False, 0.0, True, False, None, extras)).reward


def test_the_environment_supplies_what_toolrl_reads():
    env = make()
    assert "expected_calls" in env.supplies
    for seed in range(10):
        env.reset(seed=seed)
        assert toolrl(env, env.oracle()) == 4.0  # format 1, correctness 3
        (call, *_) = env.here().reference
        assert toolrl(env, CALL.format(json.dumps({"name": "no_such_tool", "parameters": {}}))) == 1.0 - 3.0
        assert call["name"] in env.oracle()


def test_one_wrong_value_of_two_is_worth_one_and_a_half():
    env = make()
    for seed in range(100):
        env.reset(seed=seed, options={"params": {"calls": 1, "tools": 14}})
        (call,) = env.here().reference
        if len(call["parameters"]) == 2:
            break
    name = next(iter(call["parameters"]))
    wrong = {"name": call["name"], "parameters": {**call["parameters"], name: "elsewhere"}}
    assert toolrl(env, CALL.format(json.dumps(wrong))) == 1.0 + 1.5
    _, reward, _, _, info = env.step(CALL.format(json.dumps(wrong)))
    assert (reward, info["progress"]) == (0.0, pytest.approx((1.5 + 3) / 6))


def test_calls_count_in_any_order_and_a_missing_one_is_a_failure():
    env = make()
    env.reset(seed=2, options={"params": {"calls": 3, "tools": 10}})
    state, calls = env.get_state(), env.here().reference
    for given, success in ((calls[::-1], True), (calls[1:], False), ([*calls, calls[0]], False)):
        env.set_state(state)
        assert env.step(CALL.format("\n".join(map(json.dumps, given))))[4]["is_success"] is success


def test_a_request_that_no_tool_serves_has_an_answer_without_calls():
    env = make(unserved=1.0)
    env.reset(seed=3)
    assert env.here().reference == []
    assert toolrl(env, env.oracle()) == 1.0  # the format alone
    state = env.get_state()
    assert env.step("<think>so</think><response>No tool.</response>")[4]["is_success"]
    env.set_state(state)
    assert not env.step(CALL.format(json.dumps({"name": "set_alarm", "parameters": {}})))[4]["is_success"]
