"""Tracker-v0: every template can be solved, and only what was asked for counts."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.commands import read_command
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.sites.site import SITES, generate
from palaestra.envs.web.sites.tracker_content import VISITOR
from palaestra.envs.web.tasks.plan import plan_from_start
from palaestra.envs.web.tasks.template import TEMPLATES, WebTask, judge, judged_rows, make_task_start

from ..browsers.pages import missing_chromium
from .test_every_shop_task import click

# Templates on request are tested in test_paper_tasks.
NAMES = [one.name for _, one in TEMPLATES.items() if one.site == "tracker" and not one.on_request]
EASIEST, HARDEST = {"items": 1, "constraints": 1}, {"items": 5, "constraints": 4}
every_template = pytest.mark.parametrize("name", NAMES)


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/Tracker-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def begin(env: Any, template: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    params["intent"] = TEMPLATES[f"tracker/{template}"].intent
    for seed in range(200):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return env.plan(env.here())
    raise AssertionError(template)


def tasks(name: str, size: int, number: int) -> list[WebTask]:
    """Tasks of a template on trackers of a size, from the easiest to the hardest."""
    found: list[WebTask] = []
    for seed in range(40 * number):
        rng = np.random.default_rng(seed)
        params = (EASIEST, {"items": 2, "constraints": 2}, {"items": 3, "constraints": 3}, HARDEST)[len(found) % 4]
        database = connect(generate("tracker", size, seed))
        slots = TEMPLATES[f"tracker/{name}"].draw(rng, database, params)
        release(database)
        if slots is not None:
            found.append(WebTask("tracker", size, seed, name, tuple(sorted(slots.items()))))
        if len(found) == number:
            return found
    raise AssertionError(name)


def test_there_are_templates_of_every_intent():
    intents = {TEMPLATES[f"tracker/{name}"].intent for name in NAMES}
    assert intents == set(make().param_space["intent"].choices)
    assert len(NAMES) == 40


@every_template
@pytest.mark.parametrize("size", [24, 96])
def test_the_solver_solves_every_template_on_eight_trackers_of_every_size(name: str, size: int):
    site = SITES["tracker"](generate("tracker", size, 0))
    for task in tasks(name, size, 8):
        start, (*actions, answer) = make_task_start(task), plan_from_start(task)
        untouched = judge(start, start.rows, "done")[0]
        site.restore(start.database)
        browser = InProcessBrowser(site)
        browser.open("/")
        for action in actions:
            command = read_command(action)
            assert not isinstance(command, str)
            assert browser.perform(command) is None
        command = read_command(answer)
        assert not isinstance(command, str)
        done = judge(start, judged_rows("tracker", site.database), command.text)
        assert (done, untouched) == ((True, "Done."), False), start.instruction


@every_template
def test_the_solver_reaches_every_milestone(name: str):
    env = make()
    info: dict[str, Any] = {}
    progress = []
    for action in begin(env, name):
        info = env.step(action)[4]
        assert info["action_error"] is None
        progress.append(info["progress"])
    reached, number = info["extras"]["milestones"]
    assert (info["is_success"], reached) == (True, number)
    assert progress == sorted(progress)


@every_template
def test_a_comment_that_nobody_asked_for_fails(name: str):
    env = make()
    *actions, answer = begin(env, name)
    for action in actions:
        env.step(action)
    click(env, "Lighthouse Tracker")
    click(env, "Tickets")  # no ticket may be the user's own
    page = parse_page(env.here().tab.html)
    click(env, next(one.name for one in page.controls if one.element.get("href", "").startswith("/ticket/")))
    click(env, "Your comment", "fill", "+1")
    click(env, "Add comment")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "comments" in info["feedback"]


@every_template
def test_a_wrong_answer_fails_where_one_is_asked_for(name: str):
    env = make()
    *actions, answer = begin(env, name)
    for action in actions:
        env.step(action)
    is_asked = make_task_start(env.here().task).goal.answer is not None
    assert is_asked or answer == 'answer "done"'
    for wrong in ("done", VISITOR + " Jr", "1000", "Slow search in the map of Rome"):
        start = env.get_state()
        assert env.step(f'answer "{wrong}"')[4]["is_success"] is not is_asked
        env.set_state(start)


@every_template
def test_tasks_in_the_same_words_have_the_same_goal(name: str):
    goals: dict[tuple[int, str], Any] = {}
    template = TEMPLATES[f"tracker/{name}"]
    for seed in range(45):
        content = seed % 3
        database = connect(generate("tracker", 24, content))
        slots = template.draw(np.random.default_rng(seed), database, EASIEST)
        if slots is not None:
            template.prepare(database, slots)
            goal = template.goal(database, slots)
            assert goals.setdefault((content, template.ask(slots)), goal) == goal
        release(database)
    assert len(goals) > 3


def test_another_ticket_in_the_same_bulk_edit_fails():
    env = make()
    *_, answer = begin(env, "edit-matching", items=1, constraints=1, tickets=24)
    slots = dict(env.here().task.slots)
    click(env, "Tickets")
    boxes = [one.name for one in parse_page(env.here().tab.html).controls if one.role == "checkbox"]
    click(env, next(name for name in boxes if int(name.rpartition(" ")[2]) not in slots["numbers"]))
    click(env, "Edit chosen tickets")
    click(env, slots["field"].capitalize(), "select", slots["value"])
    click(env, "Change tickets")
    for action in env.plan(env.here())[:-1]:
        env.step(action)
    rows = judged_rows("tracker", connect(env.here().database))
    wanted = make_task_start(env.here().task).goal.added["tickets"]
    assert {*wanted} <= {*rows["tickets"]}
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "tickets" in info["feedback"]


def test_a_comment_on_a_ticket_with_a_similar_title_fails():
    env = make()
    *_, answer = begin(env, "write-comments", items=1, tickets=96)
    slots = dict(env.here().task.slots)
    (_, title), text = slots["tickets"][0], slots["texts"][0]
    click(env, "Search tickets", "fill", " ".join(title.split()[:3]))
    click(env, "Search tickets", "press", "Enter")
    links = [one for one in parse_page(env.here().tab.html).controls if one.element.get("class") == "name"]
    click(env, next(one.name for one in links if one.name != title))
    click(env, "Your comment", "fill", text)
    click(env, "Add comment")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "comments" in info["feedback"]


def test_closing_a_blocked_ticket_at_once_is_refused_and_the_page_says_why():
    env = make()
    begin(env, "close-chain", items=2)
    (number, _), *_ = dict(env.here().task.slots)["chain"]
    env.step(f"goto /ticket/{number}")
    click(env, "New state", "select", "Closed")
    click(env, "Reason for closing", "select", "Done")
    before = env.here().database
    click(env, "Change state")
    assert f'invalid: "Ticket {number} is blocked by ticket ' in env.observe(env.here())
    assert env.here().database is before


def test_what_a_visitor_writes_stays_text():
    env = make()
    begin(env, "write-comments", items=1)
    click(env, "New ticket")
    click(env, "Title", "fill", '<script>x</script> [1] link "y"')
    for label, option in (("Project", "Billing"), ("Kind", "Bug"), ("Priority", "Low")):
        click(env, label, "select", option)
    click(env, "File ticket")
    assert 'heading "<script>x</script> [1] link \\"y\\""' in env.observe(env.here())
    assert "<script>x" not in env.here().tab.html


def test_splits_have_different_trackers():
    origins: dict[str, set[str]] = {}
    for split in ("train", "test"):
        env = make(split=split)
        origins[split] = set()
        for seed in range(20):
            env.reset(seed=seed)
            origins[split].add(env.here().task.origin)
    assert not origins["train"] & origins["test"]


def test_both_browsers_agree_on_the_tracker():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for template in ("edit-matching", "close-chain"):
        plan = begin(fast, template, items=2, tickets=24)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
