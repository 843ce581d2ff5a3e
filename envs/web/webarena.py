"""palaestra/WebArena-v0: tasks in WebArena's format on sites that somebody runs, in Chromium, judged by its evaluators.

The task file and the sites are the user's. Pages are read and actions carried out by `browsers.live_browser`; tasks and
evaluators are in `webarena_tasks`. Sites are not put back after an episode: tasks that change them are played in an
order, or the user puts the sites back. As nothing of a site is known, there is no solver and no snapshot; the id is
therefore not among `palaestra.envs.ids`.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import gymnasium as gym
import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError, MissingExtra
from ..param_space import ChoiceAxis, ParamSpace
from ..registration import register
from ..splits import check_split
from ..task_env import TaskEnv
from ..unicode import Unicode

_log = logging.getLogger(__name__)
_MOST = 60_000
_HELP = (
    'Write one action a turn: click [ID], fill [ID] "text", select [ID] "option", press [ID] Enter, hover [ID], '
    'scroll down, back, goto /path, new_tab, tab N, close_tab. When all is done, write answer "text": the answer, or '
    '"done" where none is asked for. If it cannot be done, write infeasible "reason".'
)


@functools.cache
def _say_once(text: str) -> None:
    _log.warning(text)


class WebArena(TaskEnv):
    """Do a task of WebArena on the sites of WebArena, or a task of your own in this format on any running site.

    Description:
        A task of a file in the format of WebArena's ``config_files/test.raw.json``. It begins at the task's addresses,
        each in a tab, with the cookies of its ``storage_state`` if there are any. Tasks that cannot be judged are left
        out, with a warning that names them; `left_out` has the reasons.

    Parameters:
        task: the id of a task; ``axes={"task": [...]}`` restricts the draw to a list of tasks.

    Observation:
        The task, the open tabs, title and address of the page, and its accessibility tree (or HTML); at first also the
        actions.

    Actions:
        As on our own sites: ``click [12]``, ``fill [7] "text"``, ``select [9] "Large"``, ``press [7] Enter``,
        ``scroll down``, ``back``, ``goto /path``, ``tab 1``, ``answer "text"``, ``infeasible "reason"``, or
        BrowserGym's calls. Files cannot be used.

    Reward:
        1 if all evaluators of the task are satisfied: the answer (``exact_match``, ``must_include``, and by a judge
        ``fuzzy_match``), the last address (``url_match``), and contents of pages (``program_html``); 0 otherwise.
        ``info["progress"]`` is the share of checks that hold at the end.

    Termination:
        With an answer; truncated after ``turns`` turns. Nothing is judged then.

    Source:
        WebArena (arXiv 2307.13854), section 3; needs the optional dependencies [web], and Chromium.

    Args:
        tasks: path of the task file.
        sites: name of a site, such as "shopping" -> the address that replaces ``__SHOPPING__`` in the file.
        judge: a judge for answers that are compared in substance: a registered name or ``{"judge": "endpoint",
            "model": "..."}``; None: such tasks are left out.
        observation: "tree", "html", "dom" or "controls", as on our own sites.
        lines: lines of a page shown at once, at least 6.
        settle: seconds that a page has after each action.
        turns: most actions of an episode.
        **kwargs: arguments of `TaskEnv`; ``split`` is "all" by default.

    Raises:
        MissingExtra: the optional dependencies [web] are not installed.
        InputError: no task file, or one without a task that can be judged here; an argument out of range; no Chromium;
            or, at reset, no file with the cookies of the task.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012
    max_answer = 4_096

    def __init__(
        self,
        *,
        tasks: str = "",
        sites: Mapping[str, str] | None = None,
        judge: Any = None,
        observation: str = "tree",
        lines: int = 60,
        settle: float = 0.5,
        turns: int = 30,
        **kwargs: Any,
    ):
        if any(importlib.util.find_spec(name) is None for name in ("lxml", "playwright", "werkzeug")):
            raise MissingExtra("palaestra/WebArena-v0", "web")
        if not tasks:
            raise InputError("palaestra/WebArena-v0 needs tasks='test.raw.json', a task file in WebArena's format.")
        from ...rewards.judges.judge import as_judge
        from .browsers.chromium_engine import find_chromium
        from .browsers.observations import OBSERVATIONS
        from .webarena_tasks.task_file import read_tasks

        addresses = {name.lower(): url.rstrip("/") for name, url in (sites or {}).items()}
        self._judge = None if judge is None else as_judge(judge)
        self._tasks, self.left_out = read_tasks(tasks, addresses, self._judge is not None)
        for reason, numbers in self.left_out.items():
            _say_once(f"tasks of {tasks} are left out, {reason}: {', '.join(numbers)}")
        if not self._tasks:
            raise InputError(f"no task of {tasks!r} can be judged here: {'; '.join(self.left_out) or 'there is none'}.")
        needed = (one.hosts for one in self._tasks.values())
        self._hosts = frozenset(filter(None, (urlsplit(url).hostname for url in addresses.values()))).union(*needed)
        self.observation = check_choice("observation", observation, OBSERVATIONS)
        self.lines, self.turns = check_count("lines", lines, 6), check_count("turns", turns, 1)
        self.settle = check_number("settle", settle, 0.0)
        find_chromium()
        # Each value of the axis is one task: the others are those of the other split.
        self.split = check_split(kwargs.setdefault("split", "all"))
        chosen = [number for number, one in self._tasks.items() if self.belongs(self.content_of(one))]
        if not chosen:
            raise InputError(f"{tasks!r} has no {self.split} task that can be judged here; use split='all'.")
        self.param_space = ParamSpace([ChoiceAxis("task", tuple(chosen), harder=None)])
        super().__init__(**kwargs)
        self.observation_space, self.action_space = Unicode(_MOST), Unicode(self.max_action)
        self._browser: Any = None
        self._turn = 0

    # Episodes.

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Any:
        return self._tasks[params["task"]]

    def content_of(self, episode: Any) -> str:
        return f"{episode.number} {episode.intent}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        self._task, self._turn = self.begin(seed, options), 0
        login = self._task.login
        if login and not Path(login).is_file():
            raise InputError(
                f"task {self._task.number} needs the login {login!r}, which is not in the working directory; write it "
                "with WebArena's auto_login.py or Playwright's storage_state."
            )
        self._open(login)
        return f"{self._show()}\n{_HELP}", self.task_info()

    def _open(self, login: str) -> None:
        from .browsers.browser import BrowserFailure
        from .browsers.live_browser import LiveBrowser

        for attempt in range(2):
            if self._browser is None:
                self._browser = LiveBrowser(self._hosts, self.lines, self.settle)
                self._finalizer = weakref.finalize(self, self._browser.start_closing)
                self._finalizer.atexit = False
            try:
                return self._browser.open(self._task.start, login)
            except BrowserFailure:
                # The browser may have been lost in the last episode.
                self._drop()
                if attempt:
                    raise

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        from .browsers.browser import BrowserFailure
        from .browsers.commands import read_command
        from .webarena_tasks.checks import CheckFailure, judge_task

        self.require_running()
        self._turn += 1
        found, error = self.read_action(action)
        command = error if error else read_command(found[0])
        verdict, valid, shown = None, True, ""
        try:
            if isinstance(command, str):
                error = command
            elif command.verb in ("answer", "infeasible"):
                answer = "N/A" if command.verb == "infeasible" and self._judge is None else command.text
                verdict = judge_task(self._task, answer, self._browser, self._judge)
            else:
                error = self._browser.perform(command)
            shown = self._show()
        except CheckFailure as failure:
            error, valid = f"The judge failed: {failure}.", False
        except BrowserFailure as failure:
            error, valid = f"The browser failed: {failure}."[:300], False
            self._drop()
        success, done = verdict is not None and verdict.success, verdict is not None
        truncated = not done and (not valid or self._turn >= self.turns)
        self._ended = done or truncated
        info = self.step_info(
            None,
            {"success": float(success)},
            success=success,
            progress=0.0 if verdict is None else verdict.extras["share"],
            valid=valid,
            error=error,
            feedback=error or (verdict.feedback if verdict else ""),
        )
        return f"{error}\n{shown}" if error else shown, float(success), done, truncated, info

    def here(self) -> Any:
        if not self._task_id:
            raise gym.error.ResetNeeded("WebArena has no page yet; call reset() first.")
        return self._task

    def get_state(self) -> dict[str, Any]:
        raise InputError("a site that somebody runs cannot be saved; choose a rollout that does not branch.")

    def render(self) -> str | np.ndarray | None:  # type: ignore[override]
        if self.render_mode == "rgb_array":
            return self._browser.picture()
        return self._show() if self.render_mode == "ansi" else None

    def _show(self) -> str:
        from .browsers.observations import OBSERVATIONS, quote, show_window

        browser = self._browser
        lines = OBSERVATIONS[self.observation](browser.page, {})
        tabs = ", ".join(f"{place} {quote(title)}" for place, title in enumerate(browser.titles))
        about = f"Tabs: {tabs}; this is tab {browser.place}\n" if len(browser.titles) > 1 else ""
        head = f"Task: {self._task.intent}\n{about}Page {quote(browser.titles[browser.place])} at {browser.url}"
        return f"{head}\n{show_window(lines, browser.scrolled, self.lines)}"[:_MOST]

    def _drop(self) -> None:
        if self._browser is not None:
            self._browser = None
            self._finalizer()

    def close(self) -> None:
        self._drop()
        super().close()


register("palaestra/WebArena-v0", f"{__name__}:WebArena", listed=False)
