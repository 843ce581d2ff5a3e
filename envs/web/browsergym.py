"""palaestra/BrowserGym-v0: tasks of BrowserGym, run by BrowserGym's packages, with the interface of our environments.

BrowserGym runs in a worker process under a separate interpreter, because it needs another version of Playwright.
Differences from BrowserGym itself: success means full reward (BrowserGym's MiniWoB counts any raw reward above 0); an
action's error is ``action_error``; a failed browser, task or process gives an invalid reward (``info["reward_valid"]``
False), not 0. The environment has no solver and no snapshots; its id is therefore not among `palaestra.envs.ids`.
"""

from __future__ import annotations

import sys
import weakref
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError, MissingExtra, shorten
from ..param_space import ChoiceAxis, ParamSpace
from ..peer_worker import PeerFailure, PeerWorker
from ..registration import register
from ..task_env import TaskEnv
from ..unicode import Unicode

_SEEDS = 1 << 20
_MOST = 60_000
_WORKER = Path(__file__).with_name("browsergym_worker.py")


class BrowserGym(TaskEnv):
    """Do what a task of BrowserGym asks for, in BrowserGym's browser and with BrowserGym's actions.

    Description:
        A task of the benchmark, made by BrowserGym from a random seed.

    Parameters:
        task: the name of a task of the benchmark, such as "click-test"; ``axes={"task": [...]}`` restricts the draw to
            a list of tasks.

    Observation:
        The goal, the address, BrowserGym's accessibility tree and the last message of the chat; at first also
        BrowserGym's description of the actions.

    Actions:
        BrowserGym's actions, such as ``click('12')`` and ``fill('7', 'text')``.

    Reward:
        1 for success, which is a task reward of at least ``success_at``; 0 otherwise. ``info["raw_reward"]`` is the
        task's reward, and ``info["progress"]`` is this reward, in [0, 1], at the end.

    Termination:
        When the task ends; truncated after ``turns`` turns.

    Source:
        BrowserGym (arXiv 2412.05467), packages browsergym-core and browsergym-miniwob and so on.

    Args:
        benchmark: the part of a package's name after "browsergym-": "miniwob", "webarena" and so on.
        python: path of the interpreter that has the packages; None: the running one.
        options: further arguments of BrowserGym's environment, such as ``{"pre_observation_delay": 0.1}``.
        success_at: least task reward of a success, above 0 and at most 1.
        turns: most actions of an episode.
        **kwargs: arguments of `TaskEnv`.

    Raises:
        InputError: the interpreter lacks the benchmark's package, or an argument is out of range.
    """

    answer_form = "program"
    max_answer = 8_192

    def __init__(
        self,
        *,
        benchmark: str = "miniwob",
        python: str | None = None,
        options: dict[str, Any] | None = None,
        success_at: float = 1.0,
        turns: int = 20,
        **kwargs: Any,
    ):
        try:
            from .browsers.chromium_engine import find_chromium
        except ModuleNotFoundError:
            raise MissingExtra("palaestra/BrowserGym-v0", "web") from None

        self.benchmark, self.python, self.options = benchmark, python or sys.executable, dict(options or {})
        self.success_at = check_number("success_at", success_at, high=1.0, above=0.0)
        self.turns = check_count("turns", turns, 1)
        self._chromium = find_chromium()
        self._worker: PeerWorker | None = None
        try:
            tasks = self._ask(do="tasks", benchmark=benchmark)["tasks"]
        except (PeerFailure, OSError) as failure:
            raise InputError(
                f"{self.python!r} has no tasks of BrowserGym's benchmark {benchmark!r} ({failure}); make an "
                "environment for it, as it needs another Playwright than this package (python -m venv gym; "
                f"gym/bin/pip install browsergym-{benchmark}), and give python=gym/bin/python."
            ) from None
        if not tasks:
            raise InputError(f"BrowserGym's benchmark {benchmark!r} has no tasks; choose another.")
        self.param_space = ParamSpace([ChoiceAxis("task", tuple(tasks), harder=None)])
        super().__init__(**kwargs)
        self.observation_space, self.action_space = Unicode(2 * _MOST), Unicode(self.max_action)
        self._seen: dict[str, Any] = {}
        self._turn = 0

    def _ask(self, **request: Any) -> dict[str, Any]:
        if self._worker is None:
            self._worker = PeerWorker(self.python, _WORKER)
            self._closing = weakref.finalize(self, self._worker.close)
        try:
            return self._worker.ask(**request)
        except PeerFailure:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker = None
            self._closing()

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> tuple[str, int]:
        return params["task"], int(rng.integers(_SEEDS))

    def content_of(self, episode: tuple[str, int]) -> str:
        return f"{self.benchmark} {episode[0]} {episode[1]}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        task, task_seed = self.begin(seed, options)
        if self._worker is None:  # lost in the episode before
            self._ask(do="tasks", benchmark=self.benchmark)
        begin = {"benchmark": self.benchmark, "task": task, "seed": task_seed}
        self._seen = self._ask(do="reset", chromium=self._chromium, options=self.options, **begin)
        self._turn = 0
        return f"{self._show()}\n{shorten(self._seen['actions'], 20_000)}", self.task_info()

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        self._turn += 1
        found, error = self.read_action(action)
        valid, reward, done = True, 0.0, False
        if not error:
            try:
                self._seen = self._ask(do="step", action=found[0])
                error, done = shorten(" ".join(self._seen["error"].split()), 500) or None, self._seen["terminated"]
                # MiniWoB's page has the raw reward, which BrowserGym rounds up to 1.
                raw = (self._seen["info"] or {}).get("RAW_REWARD_GLOBAL")
                reward = float(self._seen["reward"] if raw is None else raw)
                # Leaving the page ends the episode with an error; that is the agent's fault.
                error = error or (self._seen["info"] or {}).get("error")
            except PeerFailure as failure:
                valid, error = False, f"BrowserGym failed: {failure}."
        success = valid and done and reward >= self.success_at
        truncated = not done and (not valid or self._turn >= self.turns or bool(self._seen.get("truncated")))
        self._ended = done or truncated
        progress = 1.0 if success else min(max(reward, 0.0), 1.0) if done else 0.0
        info = self.step_info(
            None,
            {"success": float(success)},
            success=success,
            progress=progress,
            valid=valid,
            error=error,
            feedback=error or "",
        )
        info["raw_reward"] = reward
        shown = self._show()
        return f"{error}\n{shown}" if error else shown, float(success), done, truncated, info

    def _show(self) -> str:
        seen = self._seen
        said = f"\nChat: {seen['said']}" if seen["said"] and seen["said"] != seen["goal"] else ""
        return shorten(f"Task: {seen['goal']}\nPage: {seen['url']}{said}\n{seen['tree']}", _MOST)

    def here(self) -> Any:
        if not self._seen:
            raise gym.error.ResetNeeded("BrowserGym has no page yet; call reset() first.")
        return self._seen

    def get_state(self) -> dict[str, Any]:
        raise InputError("a task of BrowserGym cannot be saved; choose a rollout that does not branch.")

    def render(self) -> str | None:  # type: ignore[override]
        return self._show() if self.render_mode == "ansi" else None

    def close(self) -> None:
        self._drop()
        super().close()


register("palaestra/BrowserGym-v0", f"{__name__}:BrowserGym", listed=False)
