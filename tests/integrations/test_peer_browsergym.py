"""BrowserGym itself plays our sites, in the environment of scripts/peers.sh: its actions, our tasks and our judge."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.web.tasks.paper_tasks import PapersTemplate
from palaestra.envs.web.tasks.template import TEMPLATES

from ..envs.web.browsers.pages import missing_chromium  # isort: skip

TRIAL = Path(__file__).with_name("browsergym_trial.py")


@pytest.fixture(scope="module")
def episodes(peer_home: Callable[[str], Path]) -> dict[str, dict[str, Any]]:
    """Results of the ways of playing it, by name."""
    if missing_chromium():
        pytest.skip(missing_chromium())
    environment = {**os.environ, "PYTHONPATH": str(Path(palaestra.__file__).parents[1])}
    python = str(peer_home(".venv-peers") / "bin" / "python")
    done = subprocess.run([python, TRIAL], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return {one["how"]: one for one in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("how", ["solver", "cheat"])
def test_a_solution_by_browsergyms_actions_or_in_its_page_is_a_success(episodes, how: str):
    steps = episodes[how]["steps"]
    assert steps[-1] == [1.0, True, True, 1.0, ""]
    assert all(step[:3] == [0.0, False, False] and step[4] == "" for step in steps[:-1])
    assert sorted(step[3] for step in steps) == [step[3] for step in steps]
    assert episodes[how]["feedback"] == "Done."


def test_a_wrong_answer_and_a_report_end_the_episode_without_success_and_nothing_else_does(episodes):
    assert episodes["wrong"]["steps"] == [[0.0, True, False, 0.0, ""]]
    assert episodes["wrong"]["feedback"] == "The answer is not right."
    assert episodes["infeasible"]["steps"] == [[0.0, True, False, 0.0, ""]]
    assert episodes["infeasible"]["feedback"] == "The task can be done."
    assert episodes["idle"]["steps"] == [[0.0, False, False, 0.0, ""]]


def test_there_are_no_tasks_on_papers_whose_files_browsergym_does_not_show(episodes):
    assert "draws templates on papers alone" in episodes["papers"]["told"]
    drawn = [TEMPLATES[f"tracker/{name}"] for name in episodes["papers"]["templates"]]
    assert not any(isinstance(template, PapersTemplate) for template in drawn)
    # Without the rule one of these seeds would draw them.
    env = gym.make("palaestra/Tracker-v0", split="all", disable_env_checker=True).unwrapped
    own = []
    for seed in range(50, 57):
        env.reset(seed=seed)
        own.append(TEMPLATES[f"tracker/{env.here().task.template}"])
    assert any(isinstance(template, PapersTemplate) for template in own)
    assert [a.name for a, b in zip(drawn, own, strict=True) if not isinstance(b, PapersTemplate)] == [
        b.name for b in own if not isinstance(b, PapersTemplate)
    ]


def test_a_seed_is_the_same_task_as_in_our_environment(episodes):
    env = gym.make("palaestra/WikiSite-v0", split="test", disable_env_checker=True)
    page, info = env.reset(seed=5, options={"difficulty": 0.0, "params": {"intent": "report"}})
    assert page.startswith(f"Task: {episodes['wrong']['goal']}\n")
    assert info["task_id"] == episodes["wrong"]["task_id"]
