"""Environment of `WebTask`s: an agent acts on a site through a browser, and the final state of the database is judged.

A family is a subclass with the name of a site, axes and a docstring; see `site_tasks`. The state of an episode is a
snapshot of site and browser. If the open site and browser are already in that state, the environment reuses them;
otherwise it restores the snapshot.
"""

from __future__ import annotations

import importlib.util
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...checks import check_choice, check_count
from ...errors import InputError, MissingExtra
from ..game import Game, Transition
from ..splits import split_of
from ..task_env import TaskEnv
from .web_state import MilestoneCount, OpenSite, SolverPlan, WebState

if TYPE_CHECKING:
    from ..tools.tool_function import ToolFunction
    from .browsers.browser import Browser
    from .browsers.commands import Command
    from .browsers.layout import Box
    from .sites.databases import Content
    from .sites.site import WebSite
    from .tasks.template import JudgedRows, WebTemplate

# Number of seeds for the contents of a site, and maximum number of draws of a task.
SEEDS, MOST_DRAWS = 4_096, 400
MOST_CHARACTERS = 12_000
_HELP = (
    'Write one action a turn: click [ID], fill [ID] "text", select [ID] "option", press [ID] Enter, scroll down, '
    'back, goto /path. When all is done, write answer "text": the answer, or "done" where none is asked for. '
    "Change nothing else."
)
_LIBRARIES = ("werkzeug", "jinja2", "lxml")


class WebTaskEnv(Game):
    """Base of tasks on a site. A subclass sets ``site``, ``size_axis`` and ``param_space``, with an axis "intent".

    Args:
        backend: "inprocess" (no browser is started) or "chromium".
        observation: "tree" (the accessibility tree), "html" (simplified HTML), "dom" (the document's HTML with the ids
            of controls as ``bid``), or "controls" (the tree's controls and messages only: a third of the text, but not
            enough for tasks that need the text of pages).
        boxes: True: the box of each control in pixels of the viewport, and "unseen" for those out of it; see `Box`.
        marks: True: pictures have a frame and the id on each visible control.
        lines: lines of a page shown at once, at least 6; ``scroll down`` shows more.
        prompt: as in `TaskEnv`, or "compact": without the instructions on actions, for models that learn actions from
            solutions.
        templates: names of the templates to draw tasks from, a list or a comma-separated text; None: all but those on
            request. Unless given, the axes are restricted to values with which these templates have tasks, such
            as their intents.
        **kwargs: arguments of `TaskEnv`.

    Raises:
        MissingExtra: the optional dependencies [web] are not installed.
        InputError: an unknown backend, observation, prompt or template; too few lines; pictures or boxes with a backend
            that makes none; a template that needs a picture without ``render_mode="rgb_array"``; or no Chromium.
    """

    site: ClassVar[str]
    # Name of the axis that is the size of the site.
    size_axis: ClassVar[str]
    supplies = frozenset({"milestones", "safe", "solution_steps"})
    prompts = (*TaskEnv.prompts, "compact")
    keeps_states = True
    max_answer = 4_096

    def __init__(
        self,
        *,
        backend: str = "inprocess",
        observation: str = "tree",
        boxes: bool = False,
        marks: bool = False,
        lines: int = 60,
        templates: Sequence[str] | str | None = None,
        **kwargs: Any,
    ):
        if any(importlib.util.find_spec(name) is None for name in _LIBRARIES):
            raise MissingExtra("A task on a web site", "web")
        from .browsers.browser import BROWSERS
        from .browsers.observations import OBSERVATIONS

        self.lines = check_count("lines", lines, 6)
        self.backend, self.observation = backend, check_choice("observation", observation, OBSERVATIONS)
        self._browser = BROWSERS[backend]
        self._browser.check()
        self.boxes, self.marks = boxes, marks
        if (boxes or marks) and not self._browser.has_boxes:
            named = "boxes" if boxes else "marks"
            raise InputError(f"the backend {backend!r} has no layout, so {named} needs backend='chromium'.")
        if not self._browser.has_pictures:
            if kwargs.get("render_mode") == "rgb_array":
                raise InputError(f"the backend {backend!r} makes no pictures; use backend='chromium'.")
            self.metadata = {**self.metadata, "render_modes": ["ansi"]}
        self._templates: Sequence[WebTemplate] | None = None
        if templates is None:
            super().__init__(**kwargs)
        else:
            from .tasks.template_choice import find_templates, narrowed_axes, nearest_values

            name, family, given = type(self).__name__, self.param_space, kwargs.get("axes")
            self._templates = find_templates(name, self.site, getattr(family["intent"], "choices", ()), templates)
            blind = [one.name for one in self._templates if one.needs_picture]
            if blind and kwargs.get("render_mode") != "rgb_array":
                raise InputError(
                    f"templates={', '.join(blind)} ask for what only a picture shows; make the environment with "
                    "backend='chromium' and render_mode='rgb_array', and show the agent what render() returns."
                )
            narrow = narrowed_axes(self._templates, family)
            if given is None or isinstance(given, Mapping):
                kwargs["axes"] = {**{k: v for k, v in narrow.items() if k not in kwargs}, **(given or {})}
            super().__init__(**kwargs)
            if not nearest_values({}, {}, self._templates, self.param_space):
                axes = ", ".join(str(self.param_space[axis]) for axis in narrow)
                raise InputError(f"none of the templates chosen for {name} fits {axes}; choose others, or other axes.")
        self._open: OpenSite | None = None
        # The last plan of the solver.
        self._solver_plan: SolverPlan | None = None

    # Drawing a task.

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> WebState:
        from .browsers.browser import BrowserFailure
        from .sites.databases import connect, release
        from .tasks.template import WebTask, make_task_start
        from .tasks.template_choice import fitting_templates

        size, choices = params[self.size_axis], fitting_templates(self.site, params, self._templates)
        if not choices:
            raise InputError(f"no template of {type(self).__name__} fits {params}; choose other parameters.")
        for _ in range(MOST_DRAWS):
            seed = int(rng.integers(SEEDS))
            template = choices[int(rng.integers(len(choices)))]
            task = WebTask(self.site, size, seed, template.name, ())
            if self.split != "all" and split_of(task.origin) != self.split:
                continue
            database = connect(template.generate(size, seed))
            slots = template.draw(rng, database, params)
            release(database)
            if slots is not None:
                break
        else:
            raise InputError(f"{type(self).__name__} with {params} has no task in {MOST_DRAWS} draws.")
        task = replace(task, slots=tuple(sorted(slots.items())))
        begun = make_task_start(task)
        content = begun.database
        try:
            site, browser = self._make(content)
            browser.open("/")
        except BrowserFailure:
            # The browser may have been lost in the last episode. With any other cause, the second try raises.
            self._drop()
            site, browser = self._make(content)
            browser.open("/")
        browser.files = begun.files
        state = WebState(task, content, browser.tab(), boxes=self._boxes_of(browser))
        self._open = OpenSite(state, site, browser)
        return state

    def _choose_params(self, rng: np.random.Generator, options: dict[str, Any] | None) -> dict[str, Any]:
        """Choose parameters with which one of the templates has tasks."""
        params = super()._choose_params(rng, options)
        if self._templates is None:
            return params
        from .tasks.template_choice import nearest_values

        asked = (options or {}).get("params") or {}
        return {**params, **nearest_values(params, asked, self._templates, self.param_space)}

    def _make(self, content: Content) -> tuple[WebSite, Browser]:
        """Return (site with this content, browser without cookies), reusing the open pair if there is one."""
        from .sites.site import SITES

        if self._open is None:
            site = SITES[self.site](content)
            browser = self._browser(site, self.lines)
            # Runs if the environment is garbage-collected without `close`.
            self._finalizer = weakref.finalize(self, browser.start_closing)
            self._finalizer.atexit = False
            return site, browser
        site, browser = self._open.site, self._open.browser
        self._open = OpenSite(None, site, browser)
        site.restore(content)
        browser.clear_cookies()
        browser.files, browser.opened = (), ""
        return site, browser

    def _resume(self, state: WebState) -> tuple[WebSite, Browser]:
        """Return (site, browser), both in this state."""
        if self._open is not None and self._open.state is state:
            return self._open.site, self._open.browser
        site, browser = self._make(state.database)
        browser.restore(state.tab)
        self._open = OpenSite(state, site, browser)
        return site, browser

    def content_of(self, episode: WebState) -> str:
        task = episode.task
        return f"{task.origin} {task.template} {task.slots}"

    def split_key(self, episode: WebState) -> str:
        """Return a key of the site's contents, so that held-out tasks are on sites never seen in training."""
        return episode.task.origin

    def turn_limit(self, state: WebState) -> int:
        return 2 + math.ceil(len(self.plan(state)) * (1 + self._slack))

    def least_turn_limit(self, state: WebState) -> int:
        """Return a lower bound of the turn limit without running the solver, which needs at least one action for each
        page to visit and one for the answer."""
        from .tasks.template import make_task_start

        goal = make_task_start(state.task).goal
        least = 1 + max(len({*goal.milestone_pages} - {"/"}), 1 if goal.added or goal.removed else 0)
        return 2 + math.ceil(least * (1 + self._slack))

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        episode = super().begin(seed, options)
        self._slack = self._params["slack"]
        return episode

    # Playing.

    def observe(self, state: WebState) -> str:
        from .browsers.layout import add_boxes
        from .browsers.observations import OBSERVATIONS, quote, show_window
        from .browsers.page_cache import parse_page
        from .browsers.stored_files import describe_files
        from .tasks.template import make_task_start

        tab, page = state.tab, parse_page(state.tab.html)
        lines = OBSERVATIONS[self.observation](page, dict(tab.edits))
        if self.boxes:
            # A snapshot of an environment without boxes has none.
            lines = add_boxes(page, lines, state.boxes or self._boxes_of(self._resume(state)[1]))
        shown = show_window(lines, tab.scrolled, self.lines)
        about = "" if state.actions or self.prompt == "compact" else f"{_HELP}\n"
        about += describe_files(tab.files, tab.opened)
        if tab.others:
            pages = [*tab.others[: tab.place], tab, *tab.others[tab.place :]]
            titles = (f"{place} {quote(parse_page(one.html).title)}" for place, one in enumerate(pages))
            about += f"Tabs: {', '.join(titles)}; this is tab {tab.place}; tab N, close_tab\n"
        head = f"Task: {make_task_start(state.task).instruction}\n{about}Page {quote(page.title)} at {tab.path}"
        return f"{head}\n{shown}"[:MOST_CHARACTERS]

    def _boxes_of(self, browser: Browser) -> tuple[Box, ...]:
        return browser.boxes() if self.boxes else ()

    def tool_functions(self) -> tuple[ToolFunction, ...]:
        """Return the actions as functions; see `palaestra.envs.tools.tool_function.OffersFunctions`."""
        from .browsers.commands import FUNCTIONS

        return FUNCTIONS

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the action for a call of one of `tool_functions`. Raise InputError if the name or the arguments are
        invalid."""
        from .browsers.commands import write_command

        return write_command(name, arguments)

    def read_action(self, action: Any, form: Any = None) -> tuple[list[str], str | None]:
        """Return the readings as `TaskEnv.read_action` does, with a fast path for actions that have only one."""
        from .browsers.commands import PLAIN

        if type(action) is str and self.answer_format in ("any", "last_line") and PLAIN.fullmatch(action):
            return [action], None
        return super().read_action(action, form)

    def act(self, state: WebState, action: str) -> Transition:
        from .browsers.browser import BrowserFailure
        from .browsers.commands import read_command
        from .tasks.template import make_task_start, reached_by_rows

        command, start = read_command(action), make_task_start(state.task)
        number = len(start.milestones)
        if isinstance(command, str):
            return Transition(state, progress=state.progress(number), action_error=command)
        if command.verb in ("answer", "infeasible"):
            return self._judge(state, command)
        try:
            site, browser = self._resume(state)
            error = browser.perform(command)
            if error:
                return Transition(state, progress=state.progress(number), action_error=error)
            tab, content, boxes = browser.tab(), site.state(), self._boxes_of(browser)
        except BrowserFailure as failure:
            self._drop()
            error = f"The browser failed: {failure}."
            return Transition(state, progress=state.progress(number), action_error=error[:300], valid=False)
        except BaseException:
            # An interruption may have come after the action took effect.
            self._drop()
            raise
        reached = state.reached
        if content is not state.database:
            seen = {one for one in reached if one[0] == "page"}
            reached = frozenset(seen | reached_by_rows(start, site.database))
        page = ("page", tab.path.partition("?")[0])
        if page not in reached and page in start.milestones:
            reached = reached | {page}
        after = WebState(state.task, content, tab, (*state.actions, str(command)), reached, boxes=boxes)
        self._open = OpenSite(after, site, browser)
        return Transition(after, progress=after.progress(number))

    def _judge(self, state: WebState, command: Command) -> Transition:
        from .tasks.template import judge, make_task_start

        start = make_task_start(state.task)
        success, why = judge(start, self._changed_rows(state), command.text)
        if command.verb == "infeasible":
            success, why = False, "The task can be done."
        progress = 1.0 if success else state.progress(len(start.milestones))
        over = replace(state, answer=command.text)
        return Transition(over, done=True, success=success, progress=progress, feedback=why)

    def _changed_rows(self, state: WebState) -> JudgedRows:
        """Return the rows by which an episode in this state is judged."""
        from .tasks.template import make_task_start

        having = None if self._open is None else self._open.database_with(state.database)
        return make_task_start(state.task).rows_at(state.database, having)

    def step_info(self, *args: Any, success: bool, extras: Mapping[str, Any] | None = None, **kwargs: Any) -> Any:
        from .tasks.template import is_safe, make_task_start

        if self._ended:
            state = self.here()
            safe = success or is_safe(make_task_start(state.task), self._changed_rows(state))
            extras = {**(extras or {}), "safe": safe}
        return super().step_info(*args, success=success, extras=extras, **kwargs)

    # Solving.

    def plan(self, state: WebState) -> tuple[str, ...]:
        """Return the scripted solver's actions from this state to the end of the episode: the rest of the last plan if
        the agent has followed it, else a new plan. A new plan does not undo wrong changes of the agent."""
        from .tasks.plan import plan_from, plan_from_start

        from_start = SolverPlan(state.task, (), plan_from_start(state.task, self.lines))
        if self._solver_plan is None or state.task != self._solver_plan.task:
            self._solver_plan = from_start
        for one in (self._solver_plan, from_start):
            if state.actions[: len(one.before)] == one.before:
                since = state.actions[len(one.before) :]
                if since == one.plan[: len(since)]:
                    return one.plan[len(since) :]
        self._solver_plan = SolverPlan(
            state.task, state.actions, plan_from(state.task, self.lines, state.database, state.tab)
        )
        return self._solver_plan.plan

    def oracle(self, state: WebState) -> str:
        return self.plan(state)[0]

    def solver_cost(self, episode: WebState) -> float:
        return float(len(self.plan(episode)))

    def random_action(self, episode: WebState, rng: np.random.Generator) -> str:
        """Return an action on a random control of the page."""
        from .browsers.page_cache import parse_page
        from .tasks.plan import random_command

        return random_command(parse_page(episode.tab.html), rng)

    def draw_html(self, action: Any = None) -> str:
        """Return the present page as it looks in a browser, without scripts; the control of the action is marked."""
        from .sites.page_look import draw_tab

        return draw_tab(self.here().tab, *self.read_action(action)[0][:1])

    def trace_of(self, state: WebState) -> MilestoneCount:
        return MilestoneCount(state.task, len(state.reached))

    def measure_states(self, states: Sequence[MilestoneCount], name: str) -> Any:
        from .tasks.plan import plan_from_start
        from .tasks.template import make_task_start

        task = states[0].task
        match name:
            case "milestones":
                return [states[-1].reached, len(make_task_start(task).milestones)]
            case "solution_steps":
                return list(plan_from_start(task, self.lines))
        return None

    def draw(self, episode: WebState) -> np.ndarray:
        browser = self._resume(episode)[1]
        if not self.marks:
            return browser.picture()
        from .browsers.layout import draw_marks

        return draw_marks(browser.picture(), browser.boxes())

    def _drop(self) -> None:
        if self._open is not None:
            lost, self._open = self._open, None
            self._finalizer.detach()
            lost.browser.close()
            lost.site.close()

    def close(self) -> None:
        self._drop()
        super().close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the open site and browser: a copy opens new ones."""
        return {name: value for name, value in self.__dict__.items() if name != "_finalizer"} | {"_open": None}
