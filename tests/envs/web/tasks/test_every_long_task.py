"""WebLong-v0: every template can be solved, doing nothing fails, and most solutions are long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
from palaestra.envs.web.browsers.commands import Command, read_command
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.sites.site import SITES
from palaestra.envs.web.tasks.across_clues import ClueTemplate
from palaestra.envs.web.tasks.long_tasks import CollectTemplate
from palaestra.envs.web.tasks.parts import PartsTemplate, join_goals
from palaestra.envs.web.tasks.plan import plan_from_start
from palaestra.envs.web.tasks.template import TEMPLATES, Goal, TaskStart, WebTask, is_safe, judge, make_task_start

NAMES = [name.removeprefix("long/") for name in TEMPLATES if name.startswith("long/")]


def draw_task(site: str, name: str, seed: int) -> WebTask:
    """A task of a template, of a size and with parameters that depend on the seed."""
    template, rng = TEMPLATES[f"{site}/{name}"], np.random.default_rng(seed)
    # Few tasks with many objects, as each page takes its time.
    params, size = {"items": 1 + (seed % 6 == 5), "constraints": 1 + seed % 3, "sites": 3}, 24 + 24 * (seed % 2)
    for number in range(seed, seed + 40):
        database = connect(template.generate(size, number))
        slots = next((found for _ in range(8) if (found := template.draw(rng, database, params)) is not None), None)
        release(database)
        if slots is not None:
            return WebTask(site, size, number, name, tuple(sorted(slots.items())))
    raise AssertionError(name)


def rows_after(task: WebTask, actions: Sequence[str]) -> tuple[TaskStart, Any, set[str]]:
    """Take the actions. Return the start of the task, the judged rows, and the pages seen."""
    start = make_task_start(task)
    site = SITES[task.site](start.database)
    browser, seen = InProcessBrowser(site), {"/"}
    browser.open("/")
    for action in actions:
        command = read_command(action)
        assert isinstance(command, Command)
        assert browser.perform(command) is None
        seen.add(browser.path.partition("?")[0])
    rows = start.rows_at(site.state())
    site.close()
    return start, rows, seen


def test_the_solver_solves_every_template_and_doing_nothing_fails():
    long, three = 0, 0
    for seed, name in enumerate(NAMES):
        task = draw_task("long", name, seed)
        *actions, answer = plan_from_start(task)
        start, rows, seen = rows_after(task, actions)
        command = read_command(answer)
        assert isinstance(command, Command)
        assert judge(start, rows, command.text) == (True, "Done."), start.instruction
        assert not judge(start, start.rows, "done")[0], name
        assert is_safe(start, rows)
        assert seen >= {*start.goal.milestone_pages}, name
        template: Any = TEMPLATES[f"long/{name}"]
        assert isinstance(template, PartsTemplate | ClueTemplate)
        assert {page.split("/")[1] for page in start.goal.milestone_pages} <= {*template.sites}
        long, three = long + (len(actions) >= 20), three + (len(template.sites) == 3)
    assert (len(NAMES), three) == (73, 25)
    assert long >= 30


def test_a_deed_left_out_or_done_twice_fails():
    task = draw_task("long", "errands-present", 1)
    start, rows, _ = rows_after(task, plan_from_start(task)[:-1])
    for name, wanted in start.goal.added.items():
        less = {**rows, name: [row for row in rows[name] if row not in wanted]}
        assert not judge(start, less, "done")[0]
        assert is_safe(start, less)
        twice = {**rows, name: [*rows[name], wanted[0]]}
        assert not judge(start, twice, "done")[0]
        assert not is_safe(start, twice)


def test_goals_are_joined_in_their_order():
    """By hand: a row that one goal adds and the next one removes is in neither list; pages are named once."""
    first = Goal(removed={"a": ((1,),)}, added={"a": ((2,), (2,))}, milestone_pages=("/x", "/y"))
    second = Goal("7", "number", removed={"a": ((2,),)}, added={"a": ((1,),), "b": ((3,),)}, milestone_pages=("/y",))
    assert join_goals([first, second]) == Goal("7", "number", {}, {"a": ((2,),), "b": ((3,),)}, ("/x", "/y"))


def test_an_answer_written_elsewhere_has_to_be_the_one_that_was_found():
    task = draw_task("long", "carry-price-and-value", 4)
    start, rows, _ = rows_after(task, plan_from_start(task)[:-1])
    (row,) = start.goal.added["forum posts"]
    assert row[2] == "; ".join(dict(task.slots)["answers"])
    assert row[2] not in start.instruction
    other = [one if one != row else (*row[:2], "13.01; Somebody", *row[3:]) for one in rows["forum posts"]]
    assert not judge(start, {**rows, "forum posts": other}, "done")[0]


def test_the_limit_of_turns_follows_the_length_of_the_solution():
    env: Any = gym.make("palaestra/WebLong-v0", disable_env_checker=True, templates="errands-shop", slack=0.5).unwrapped
    env.reset(seed=0)
    length = len(env.plan(env.here()))
    assert length > 25
    assert env.turn_limit(env.here()) == 2 + -(-3 * length // 2)
    assert env.param_space["intent"].choices == ("errands",)


def test_figures_are_drawn_until_there_are_enough():
    drawn: list[int] = []

    class Counted:
        """Part whose answer is the number of its draws."""

        def draw(self, *_: Any) -> dict[str, Any]:
            drawn.append(len(drawn))
            return {"figure": len(drawn)}

        def goal(self, _: Any, slots: dict[str, Any]) -> Goal:
            return Goal(str(slots["figure"]))

        def ask(self, slots: dict[str, Any]) -> str:
            return str(slots["figure"])

    template: Any = CollectTemplate("figures", Counted(), 3)  # type: ignore[arg-type]
    slots = template.draw(np.random.default_rng(0), None, {"items": 2})
    assert slots["figures"] == ("1", "2", "3", "4", "5")
    assert len(drawn) == 5
