"""Tasks that need widgets, played by a visitor who opens nothing: menus, dialogs and tabs stay as they were loaded,
frames are empty, and links to files and new tabs lead nowhere.

The visitor follows the solver. Where an answer is asked for, it counts as known if every part of it was in the text of
some page on the way, so that the visitor is never judged worse than an agent that reads all that is shown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from ...envs.web.browsers.accessibility import Control
from ...envs.web.browsers.commands import Command
from ...envs.web.browsers.in_process import InProcessBrowser
from ...envs.web.sites.site import SITES
from ...envs.web.tasks.template import TEMPLATES, WebTask, judge, judged_rows, make_task_start
from ...envs.web.tasks.walk import NotThere, Walk
from ...envs.web.tasks.widget_tasks import DetailsTemplate


class PlainBrowser(InProcessBrowser):
    """Browser without widgets, frames, files and new tabs. ``seen`` is all text that was shown."""

    seen = ""

    def operate(self, control: Control | None, event: str) -> None:
        """Do nothing."""

    def _fetch_frame(self, address: str, base: str) -> None:
        """Show nothing."""

    def download(self, path: str, name: str) -> None:
        """Keep nothing."""

    def open_tab(self, address: str, element: Any = None, name: str = "") -> None:
        """Do nothing."""

    def perform(self, command: Command) -> str | None:
        error = super().perform(command)
        self.seen += "\n".join(line.name for line in self.page.lines)
        return error


def succeeds_without_widgets(task: WebTask) -> bool:
    """Return True if the visitor who opens nothing succeeds in a task."""
    start = make_task_start(task)
    site = SITES[task.site](start.database)
    browser = PlainBrowser(site)
    try:
        browser.open("/")
        # The visitor gives up where the solver would open something.
        with contextlib.suppress(NotThere):
            TEMPLATES[f"{task.site}/{task.template}"].solve(Walk(browser), dict(task.slots), start.goal)
        answer = start.goal.answer or "done"
        parts = answer.split(", ") if start.goal.kind == "list" else [answer]
        known = start.goal.answer is None or all(part in browser.seen for part in parts)
        return judge(start, judged_rows(task.site, site.database), answer if known else "")[0]
    finally:
        site.close()


@dataclass(frozen=True)
class TemplateCount:
    """Successes of the visitor on the tasks of one template."""

    env_id: str
    template: str
    tasks: int
    successes: int


def widget_templates(env_id: str) -> list[str]:
    """Return the names of the templates of an environment that need widgets, files, frames or tabs, but no pictures."""
    site = gym.make(env_id, disable_env_checker=True).unwrapped.site  # type: ignore[attr-defined]
    found = [one for _, one in TEMPLATES.items() if one.site == site and isinstance(one, DetailsTemplate)]
    return [one.name for one in found if not one.needs_picture]


def count_successes(env_ids: Sequence[str], number: int, seed: int = 0) -> Iterator[TemplateCount]:
    """Yield the successes on ``number`` tasks of each template of these environments that needs widgets."""
    for env_id in env_ids:
        for name in widget_templates(env_id):
            env: Any = gym.make(env_id, templates=name, disable_env_checker=True).unwrapped
            successes = 0
            for place in range(number):
                env.reset(seed=seed + place)
                successes += succeeds_without_widgets(env.here().task)
            env.close()
            yield TemplateCount(env_id, name, number, successes)
