"""Episodes of our sites in BrowserGym's environment, played by its actions: one line of JSON for each."""

from __future__ import annotations

import json
from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
from palaestra.envs.web.browsers.commands import Command, read_command
from palaestra.errors import InputError
from palaestra.integrations import browsergym_tasks


def write_call(env: Any, action: str) -> str:
    """The call of BrowserGym's action for an action of our solver."""
    command, task, page = read_command(action), env.unwrapped.task, env.unwrapped.page
    assert isinstance(command, Command)
    bid = repr(task.locate(page, command.number).get_attribute("bid")) if command.number else ""
    return {
        "click": f"click({bid})",
        "fill": f"fill({bid}, {command.text!r})",
        "press": f"press({bid}, {command.text!r})",
        "select": f"select_option({bid}, {command.text!r})",
        "scroll": "scroll(0, 400)",
        "back": "go_back()",
        "answer": f"send_msg_to_user({command.text!r})",
    }[command.verb]


def play(env_id: str, seed: int, how: str, **options: Any) -> None:
    task_kwargs = {"split": "test", "options": {"difficulty": 0.0, "params": options}}
    env: Any = gym.make(browsergym_tasks.TASKS[env_id], task_kwargs=task_kwargs)
    observation, info = env.reset(seed=seed)
    task = env.unwrapped.task
    seen: dict[str, Any] = {"how": how, "goal": observation["goal"], "task_id": info["task_info"]["task_id"]}
    if how == "cheat":
        task.cheat(env.unwrapped.page, env.unwrapped.chat.messages)
        calls = ["noop(1)"]
    else:
        calls = {"solver": task.plan(), "wrong": ["send_msg_to_user('no idea')"], "idle": ["noop(1)"]}.get(how) or [
            "report_infeasible('why')"
        ]
    seen["steps"] = []
    for action in calls:
        call = write_call(env, action) if how == "solver" else action
        observation, reward, terminated, _, info = env.step(call)
        told = info["task_info"]
        seen["steps"].append([reward, terminated, told["success"], told["progress"], observation["last_action_error"]])
    seen["feedback"] = told["feedback"]
    env.close()
    print(json.dumps(seen), flush=True)


def refuse_papers() -> None:
    """Print what is said of a template whose files BrowserGym does not show, and the templates of seven seeds."""
    told = ""
    try:
        browsergym_tasks.SiteTask(1, "palaestra/Tracker-v0", env_options={"templates": "hand-in-sheet"})
    except InputError as error:
        told = str(error)
    names = [browsergym_tasks.SiteTask(seed, "palaestra/Tracker-v0").task.template for seed in range(50, 57)]
    print(json.dumps({"how": "papers", "told": told, "templates": names}), flush=True)


if __name__ == "__main__":
    browsergym_tasks.use_chromium()
    refuse_papers()
    play("palaestra/Shop-v0", 3, "solver", intent="account")
    play("palaestra/Forum-v0", 4, "cheat", intent="write")
    for way in ("wrong", "infeasible", "idle"):
        play("palaestra/WikiSite-v0", 5, way, intent="report")
