"""Worker process of palaestra/BrowserGym-v0: runs BrowserGym and answers requests as lines of JSON (`peer_worker`).

This file imports nothing of palaestra, because the interpreter that runs it may lack palaestra.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer requests from standard input, one JSON line each, until it ends."""
    # Send text printed by libraries to standard error, so that it does not mix with the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    env: Any = None
    try:
        for line in sys.stdin:
            try:
                env, answer = respond(env, json.loads(line))
            except Exception as error:
                answer = {"failure": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"}
            print(json.dumps(answer), file=answers, flush=True)
    finally:
        if env is not None:
            env.close()


def respond(env: Any, request: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Answer a request by its field "do": "tasks" returns the tasks of a benchmark, "reset" starts a task from a seed,
    "step" plays an action. Return (environment to use from now on, answer)."""
    import gymnasium as gym

    if request["do"] == "tasks":
        importlib.import_module(f"browsergym.{request['benchmark']}")
        prefix = f"browsergym/{request['benchmark']}."
        tasks = sorted(name.removeprefix(prefix) for name in gym.registry if name.startswith(prefix))
        pages = importlib.util.find_spec("miniwob")
        if pages is not None and pages.submodule_search_locations and "MINIWOB_URL" not in os.environ:
            folder = Path(next(iter(pages.submodule_search_locations))) / "html" / "miniwob"
            os.environ["MINIWOB_URL"] = f"{folder.as_uri()}/"
        return env, {"tasks": tasks}
    if request["do"] == "reset":
        if env is not None:
            env.close()
        use_chromium(request["chromium"])
        name = f"browsergym/{request['benchmark']}.{request['task']}"
        env = gym.make(name, disable_env_checker=True, **request["options"])
        observation, info = env.reset(seed=request["seed"])
        actions = env.unwrapped.action_mapping.__self__.describe(with_long_description=False, with_examples=True)
        return env, {**read(observation), "actions": actions, "info": plain(info.get("task_info"))}
    observation, reward, terminated, truncated, info = env.step(request["action"])
    ends = {"reward": float(reward), "terminated": bool(terminated), "truncated": bool(truncated)}
    return env, {**read(observation), **ends, "info": plain(info.get("task_info"))}


def use_chromium(program: str) -> None:
    """Let Playwright start every browser from the executable ``program``: BrowserGym cannot be told the path of the
    second browser that it starts, for its chat."""
    from playwright.sync_api import BrowserType

    launch = getattr(BrowserType.launch, "of_playwright", BrowserType.launch)

    def launch_program(self: Any, **options: Any) -> Any:
        return launch(self, **{"executable_path": program, **options})

    launch_program.of_playwright = launch  # type: ignore[attr-defined]
    BrowserType.launch = launch_program  # type: ignore[method-assign]


def read(observation: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of an observation that the agent reads, and the error of the last action."""
    tree = importlib.import_module("browsergym.utils.obs").flatten_axtree_to_str(
        observation["axtree_object"],
        extra_properties=observation["extra_element_properties"],
        filter_visible_only=False,
    )
    said = [message["message"] for message in observation["chat_messages"] if message["role"] in ("user", "assistant")]
    return {
        "goal": observation["goal"],
        "url": observation["url"],
        "tree": tree,
        "said": said[-1] if said else "",
        "error": observation["last_action_error"],
    }


def plain(value: Any) -> Any:
    """Convert the data of a task to JSON types."""
    return json.loads(json.dumps(value, default=str))


if __name__ == "__main__":
    main()
