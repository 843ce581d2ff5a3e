"""AgentLab plays a study of our benchmark, in the environment of scripts/peers.sh: its generic agent, asking a scripted
endpoint of OpenAI's protocol."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.web.browsers.commands import Command, read_command

from ..envs.web.browsers.pages import missing_chromium  # isort: skip
from ..rewards.judges.chat_server import serving  # isort: skip

TRIAL = Path(__file__).with_name("agentlab_trial.py")
IDS, SEED, OPTIONS = ("palaestra/Shop-v0", "palaestra/Forum-v0"), 34, {"difficulty": 0.0}


def find_steps(env_id: str) -> tuple[str, list[tuple[str, str, str, int, str]]]:
    """Return the goal of a task, and the solver's actions as (verb, role, name, index, text)."""
    env: Any = gym.make(env_id, split="test", disable_env_checker=True).unwrapped
    env.reset(seed=SEED, options=OPTIONS)
    observation, steps = env.observe(env.here()), []
    goal = observation.removeprefix("Task: ").partition("\n")[0]
    for action in env.plan(env.here()):
        command = read_command(action)
        assert isinstance(command, Command)
        role = name = ""
        index = 0
        if command.number:
            controls = env._open.browser.page.controls
            control = controls[command.number - 1]
            role, name = control.role, control.name
            index = [one for one in controls if (one.role, one.name) == (role, name)].index(control)
        steps.append((command.verb, role, name, index, command.text))
        env.step(action)
    env.close()
    return goal, steps


def write_call(step: tuple[str, str, str, int, str], prompt: str) -> str:
    """Return BrowserGym's call of an action on the control that has the role and name in a prompt."""
    verb, role, name, index, text = step
    if verb == "answer":
        return f"send_msg_to_user({text!r})"
    shown = re.findall(rf"\[(\w+)\] {role} {re.escape(repr(name))}", prompt)
    call = {"press": "press", "fill": "fill", "select": "select_option", "click": "click"}[verb]
    return f"{call}({shown[index]!r}{f', {text!r}' if text else ''})"


@pytest.fixture(scope="module")
def study(peer_home: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Any]:
    """Results of the study: (task, model) -> result."""
    if missing_chromium():
        pytest.skip(missing_chromium())
    python = str(peer_home(".venv-agentlab") / "bin" / "python")
    steps, turns = dict(find_steps(env_id) for env_id in IDS), Counter[str]()

    def reply(request: dict[str, Any], _: int) -> dict[str, Any]:
        prompt = json.dumps([message["content"] for message in request["messages"]], ensure_ascii=False)
        prompt = prompt.replace("\\n", "\n").replace('\\"', '"')
        goal = next(one for one in steps if one in prompt)
        call = "send_msg_to_user('no idea')"
        if request["model"] == "solver":
            call = write_call(steps[goal][turns[goal]], prompt)
            turns[goal] += 1
        usage = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        return {"content": f"<think>\nnext\n</think>\n<action>\n{call}\n</action>", "usage": usage}

    environment = {**os.environ, "PYTHONPATH": str(Path(palaestra.__file__).parents[1])}
    benchmark = {"ids": IDS, "episodes": 1, "seed": SEED, "options": OPTIONS, "max_steps": 12}
    with serving(reply) as server:
        command = [python, TRIAL, tmp_path_factory.mktemp("agentlab"), server.url, json.dumps(benchmark)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {(one["env.task_name"], one["agent.chat_model.model_name"]): one for one in lines}


def test_a_study_with_the_solvers_calls_succeeds_and_one_without_fails(study):
    tasks = ("palaestra.Shop", "palaestra.Forum")
    assert set(study) == {(task, model) for task in tasks for model in ("solver", "idle")}
    for task in tasks:
        solved, idle = study[task, "solver"], study[task, "idle"]
        assert (solved["cum_reward"], solved["terminated"], solved["error"]) == (1.0, True, None)
        assert (idle["cum_reward"], idle["terminated"], idle["error"], idle["steps"]) == (0.0, True, None, 1)
        assert solved["steps"] == 6
