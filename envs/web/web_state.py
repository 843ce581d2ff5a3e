"""State of a web task, and the objects that `WebTaskEnv` keeps beside it: open site, plan of the solver, milestones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .browsers.browser import Browser
    from .browsers.layout import Box
    from .browsers.tab import Tab
    from .sites.databases import Content
    from .sites.site import WebSite
    from .tasks.template import WebTask


@dataclass(frozen=True, slots=True)
class WebState:
    """State of an episode. It is immutable, and copies of an environment share it.

    Args:
        task: the task.
        database: snapshot of the site's database.
        tab: snapshot of the browser.
        actions: the actions so far.
        reached: the milestones reached so far, among those of `tasks.template.milestones`.
        answer: the agent's answer, once the episode is over.
        boxes: the boxes of the controls, if the environment shows them.
    """

    task: WebTask
    database: Content
    tab: Tab
    actions: tuple[str, ...] = ()
    reached: frozenset[tuple[str, ...]] = frozenset()
    answer: str | None = None
    boxes: tuple[Box, ...] = ()

    def progress(self, milestones: int) -> float:
        """Return the share of the task's ``milestones`` and of the end, which counts as one more, that is reached."""
        return len(self.reached) / (milestones + 1)

    def __deepcopy__(self, memo: dict[int, Any]) -> WebState:
        return self


@dataclass(frozen=True, slots=True)
class MilestoneCount:
    """Part of a `WebState` from which extras are computed: the task and the number of milestones reached."""

    task: WebTask
    reached: int


@dataclass(frozen=True, slots=True)
class OpenSite:
    """An open site with its browser, and the state that both are in (None: unknown)."""

    state: WebState | None
    site: WebSite
    browser: Browser

    def database_with(self, content: Content) -> Any:
        """Return the site's database if it is known to have this content, else None."""
        return None if self.state is None or self.state.database is not content else self.site.database


@dataclass(frozen=True, slots=True)
class SolverPlan:
    """A plan of the solver for a task, made after the actions ``before`` of the agent."""

    task: WebTask
    before: tuple[str, ...]
    plan: tuple[str, ...]
