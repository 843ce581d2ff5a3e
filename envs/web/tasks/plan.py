"""Action sequences that solve a task, from the start or from any state; and random actions for a baseline."""

from __future__ import annotations

import functools

import numpy as np

from ..browsers.accessibility import Page
from ..browsers.browser import Tab
from ..browsers.commands import Command
from ..browsers.in_process import InProcessBrowser
from ..browsers.observations import WINDOW
from ..sites.databases import Content
from ..sites.site import SITES
from .template import TEMPLATES, WebTask, make_task_start
from .walk import NotThere, Walk


@functools.lru_cache(maxsize=512)
def plan_from_start(task: WebTask, lines: int = WINDOW) -> tuple[str, ...]:
    """Return the actions that solve a task, ending with an answer. ``lines`` is the number of lines of a page shown at
    once."""
    return _plan(task, lines, make_task_start(task).database, None)


def plan_from(task: WebTask, lines: int, database: Content, tab: Tab) -> tuple[str, ...]:
    """Return the actions that solve a task from the given state of site and browser, ending with an answer. They may
    fail if earlier actions have made the task unsolvable."""
    return _plan(task, lines, database, tab)


def _plan(task: WebTask, lines: int, database: Content, tab: Tab | None) -> tuple[str, ...]:
    site = SITES[task.site](database)
    browser, start = InProcessBrowser(site, lines), make_task_start(task)
    if tab is None:
        browser.open("/")
        browser.files = start.files
    else:
        browser.restore(tab)
    walk, goal = Walk(browser), start.goal
    try:
        if walk.find("button", "Keep as it is") is not None:
            # An open dialog hides the rest of the page.
            walk.click("button", "Keep as it is")
        TEMPLATES[f"{task.site}/{task.template}"].solve(walk, dict(task.slots), goal)
    except NotThere:
        # A plan from the start always exists; earlier actions may have made the task unsolvable.
        if tab is None:
            raise
    finally:
        site.close()
    return (*walk.actions, str(Command("answer", 0, goal.answer or "done")))


def random_command(page: Page, rng: np.random.Generator) -> str:
    """Return a random action on a control of a page or, with probability 0.03, a text of the page as the answer."""
    usable = [one for one in page.controls if not one.disabled and one.role not in ("unsupported", "file")]
    if not usable or rng.random() < 0.03:
        return str(Command("answer", 0, page.lines[int(rng.integers(len(page.lines)))].name[:100] or "done"))
    control = usable[int(rng.integers(len(usable)))]
    if control.role in ("textbox", "searchbox"):
        words = page.lines[int(rng.integers(len(page.lines)))].name.split() or ["lamp"]
        return str(Command("fill", control.number, words[int(rng.integers(len(words)))][:40]))
    if control.role == "spinbutton":
        return str(Command("fill", control.number, str(int(rng.integers(1, 10)))))
    if control.role in ("combobox", "listbox") and control.options:
        return str(Command("select", control.number, control.options[int(rng.integers(len(control.options)))]))
    return str(Command("click", control.number))
