"""Our web sites as tasks of BrowserGym, so that its agents, such as AgentLab's, play them in BrowserGym's own browser.

    import gymnasium as gym
    from palaestra.integrations import browsergym_tasks  # registers browsergym/palaestra.Shop and so on

    browsergym_tasks.use_chromium()  # the installed one; else `playwright install chromium`
    env = gym.make("browsergym/palaestra.Shop", task_kwargs={"split": "test", "options": {"difficulty": 0.3}})
    observation, info = env.reset(seed=7)

A seed gives the same task as the environment palaestra/Shop-v0 with the same options. The site is served on a loopback
port for the length of the episode. The episode ends with ``send_msg_to_user``, the answer ("done" where none is asked
for): then our judge compares the database with the goal of the task. ``report_infeasible`` ends it without success, as
every task can be done. The turns are BrowserGym's to limit, and nothing keeps the agent on the site. Of templates on
papers, whose files BrowserGym does not show, there are no tasks: a seed that draws one gives the task of a later draw.
`make_benchmark` makes a benchmark of these tasks, which AgentLab's studies take.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from ..checks import check_choice, check_count
from ..envs import ids
from ..errors import InputError, needs_extra

with needs_extra("palaestra.integrations.browsergym_tasks", "browsergym"):
    from browsergym.core.registration import register_task  # pyright: ignore[reportMissingImports]
    from browsergym.core.task import AbstractBrowserTask  # pyright: ignore[reportMissingImports]

with needs_extra("palaestra.integrations.browsergym_tasks", "web"):
    from werkzeug.serving import make_server

    from ..envs.web.browsergym_worker import use_chromium as start_program
    from ..envs.web.browsers.accessibility import CONTROLS, Page
    from ..envs.web.browsers.chromium_engine import QuietHandler, find_chromium
    from ..envs.web.browsers.commands import Command, read_command
    from ..envs.web.sites.databases import connect, release
    from ..envs.web.sites.site import SITES
    from ..envs.web.tasks.paper_tasks import PapersTemplate
    from ..envs.web.tasks.plan import plan_from_start
    from ..envs.web.tasks.template import TEMPLATES, judge, judged_rows, make_task_start, reached_by_rows
    from ..envs.web.web_task import WebTaskEnv

_ALL = ",".join(CONTROLS)


class SiteTask(AbstractBrowserTask):
    """A task of a web environment, as BrowserGym's environment plays it.

    Args:
        seed: the seed of the task; None: a random one.
        env_id: the id of a web environment.
        split: "train", "test" or "all".
        options: options of ``reset``, such as ``{"difficulty": 0.3}`` or ``{"params": {"intent": "cart"}}``.
        env_options: arguments of the environment, such as ``{"templates": "count-products"}``.

    Raises:
        InputError: the id is none of a web environment, or an option is invalid.
    """

    @classmethod
    def get_task_id(cls) -> str:
        return "palaestra"

    def __init__(
        self,
        seed: int | None,
        env_id: str,
        split: str = "all",
        options: Mapping[str, Any] | None = None,
        env_options: Mapping[str, Any] | None = None,
    ):
        super().__init__(seed)  # type: ignore[arg-type]
        # Nothing on our pages moves, so that there is nothing to slow down for.
        self.slow_mo = 0
        with contextlib.closing(gym.make(env_id, split=split, disable_env_checker=True, **(env_options or {}))) as env:
            maker = env.unwrapped
            if not isinstance(maker, WebTaskEnv):
                raise InputError(f"{env_id!r} is no web environment; take one of {', '.join(TASKS)}.")
            for _ in range(100):
                drawn = int(self.random.randint(1 << 31)) if seed is None else seed
                _, self._info = maker.reset(seed=drawn, options=dict(options or {}))
                self.task = maker.here().task
                if not isinstance(TEMPLATES[f"{self.task.site}/{self.task.template}"], PapersTemplate):
                    break
                seed = None
            else:
                raise InputError(f"{env_id!r} draws templates on papers alone here; name others with templates=.")
        self.start = make_task_start(self.task)
        self._server: Any = None

    def setup(self, page: Any) -> tuple[str, dict[str, Any]]:
        """Serve the site, open its start page, and return (goal, info on the task)."""
        self.site = SITES[self.task.site](self.start.database)
        self._server = make_server("127.0.0.1", 0, self.site, threaded=True, request_handler=QuietHandler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self._pages: set[str] = set()
        page.goto(f"{self.origin}/")
        return self.start.instruction, {name: self._info[name] for name in ("task_id", "params", "difficulty")}

    def validate(self, page: Any, chat_messages: list[Any]) -> tuple[float, bool, str, dict[str, Any]]:
        """Return (reward, True if the episode is over, message for the chat, info), judged by the state of the database
        and the answer, which is the last message after the goal."""
        content = self.site.state()
        database = connect(content)
        rows, reached = judged_rows(self.task.site, database), reached_by_rows(self.start, database)
        release(database)
        if page.url.startswith(f"{self.origin}/"):
            self._pages.add(page.url.removeprefix(self.origin).partition("?")[0])
        pages = {("page", path) for path in self._pages}.intersection(self.start.milestones)
        progress = len(pages | {one for one in reached if one[0] != "page"}) / (len(self.start.milestones) + 1)
        asked = next(place for place, one in enumerate(chat_messages) if one["role"] == "user")
        answers = [one for one in chat_messages[asked + 1 :] if one["role"] in ("assistant", "infeasible")]
        if not answers:
            return 0.0, False, "", {"success": False, "progress": progress, "feedback": ""}
        success, why = judge(self.start, rows, answers[-1]["message"])
        if answers[-1]["role"] == "infeasible":
            success, why = False, "The task can be done."
        info = {"success": success, "progress": 1.0 if success else progress, "feedback": why}
        return float(success), True, "", info

    def plan(self) -> tuple[str, ...]:
        """Return the scripted solver's actions from the start to the answer, with the ids of our observations."""
        return plan_from_start(self.task)

    def cheat(self, page: Any, chat_messages: list[Any]) -> None:
        """Do what the scripted solver does, in the page, and write its answer into the chat."""
        for action in self.plan():
            command = read_command(action)
            assert isinstance(command, Command), command
            if command.verb == "answer":
                chat_messages.append({"role": "assistant", "message": command.text})
            elif command.verb == "goto":
                page.goto(f"{self.origin}{command.text}")
            elif command.verb == "back":
                page.go_back()
            elif command.number:
                _act(self.locate(page, command.number), command)

    def locate(self, page: Any, number: int) -> Any:
        """Return Playwright's locator of the control with this id on the open page."""
        control = Page(page.content()).controls[number - 1]
        return page.locator(_ALL).nth(control.place)

    def teardown(self) -> None:
        """Stop the server and release the site."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self.site.close()
            self._server = None


def _act(control: Any, command: Command) -> None:
    match command.verb:
        case "click":
            control.click()
        case "fill":
            control.fill(command.text)
        case "press":
            control.press(command.text)
        case "select":
            control.select_option(label=[part.strip() for part in command.text.split('", "')])


def use_chromium(program: str | None = None) -> None:
    """Let Playwright start every browser from an executable; None: the one that the backend "chromium" finds.

    Raises:
        InputError: Chromium is not installed.
    """
    start_program(program or find_chromium())


def make_benchmark(
    *env_ids: str, episodes: int = 10, seed: int = 0, split: str = "test", max_steps: int = 60, **task_kwargs: Any
) -> Any:
    """Return a ``Benchmark`` of BrowserGym with tasks of our web environments, for `agentlab.experiments.study`.

    Its agents have all actions by ids, tabs and the chat, in which they answer. Processes that play it must import this
    module first, as it registers the tasks; ``parallel_backend="sequential"`` plays in the process that made it.

    Args:
        env_ids: ids of web environments; none: all of `TASKS`.
        episodes: number of tasks of each environment; their seeds go up from ``seed``.
        seed: the seed of the first task.
        split: "train", "test" or "all".
        max_steps: most actions of an episode.
        **task_kwargs: further arguments of `SiteTask`, such as ``options={"difficulty": 0.3}``.

    Raises:
        InputError: an id is none of a web environment.
        MissingExtra: browsergym-experiments is not installed.
    """
    with needs_extra("palaestra.integrations.browsergym_tasks.make_benchmark", "browsergym"):
        from browsergym.experiments.benchmark import (  # pyright: ignore[reportMissingImports]
            Benchmark,
            HighLevelActionSetArgs,
        )
        from browsergym.experiments.loop import EnvArgs  # pyright: ignore[reportMissingImports]

    check_count("episodes", episodes, 1)
    arguments = {"split": split, **task_kwargs}
    tasks = [
        EnvArgs(
            TASKS[check_choice("env_id", env_id, TASKS)].removeprefix("browsergym/"),
            task_seed=seed + number,
            max_steps=max_steps,
            task_kwargs=arguments,
        )
        for env_id in env_ids or TASKS
        for number in range(episodes)
    ]
    actions = HighLevelActionSetArgs(subsets=("chat", "infeas", "nav", "tab", "bid"), strict=False)
    return Benchmark(
        name="palaestra",
        high_level_action_set_args=actions,
        is_multi_tab=True,
        supports_parallel_seeds=True,
        env_args_list=tasks,
        backends=[],
    )


def _register() -> dict[str, str]:
    """Register a task of BrowserGym for each web environment. Return id of the environment -> id of the task."""
    found = {}
    for env_id in ids():
        entry = gym.spec(env_id).entry_point
        kind = load_env_creator(entry) if isinstance(entry, str) and ".envs.web." in entry else None
        if isinstance(kind, type) and issubclass(kind, WebTaskEnv):
            name = env_id.removeprefix("palaestra/").rpartition("-v")[0]
            register_task(f"palaestra.{name}", SiteTask, task_kwargs={"env_id": env_id})
            found[env_id] = f"browsergym/palaestra.{name}"
    return found


TASKS = _register()
"""Id of a web environment -> id of its task in BrowserGym."""
