"""WebAcross-v0: every template can be solved, only what was asked for counts on any site, and the sites stay apart."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.sites.portal import TITLES
from palaestra.envs.web.tasks.across_clues import ClueTemplate
from palaestra.envs.web.tasks.template import TEMPLATES, make_task_start

from ..browsers.pages import missing_chromium
from .test_every_shop_task import click
from .test_every_wiki_task import play

NAMES = [name.removeprefix("across/") for name in TEMPLATES if name.startswith("across/")]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/WebAcross-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def template_of(name: str) -> ClueTemplate:
    template = TEMPLATES[f"across/{name}"]
    assert isinstance(template, ClueTemplate)
    return template


def begin(env: Any, name: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    template = template_of(name)
    params = {"records": 24, "intent": template.intent, "sites": len(template.sites)} | params
    for seed in range(100):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == name:
            return env.plan(env.here())
    raise AssertionError(name)


def test_there_are_templates_of_every_intent_with_every_number_of_sites():
    found = {(template_of(name).intent, len(template_of(name).sites)) for name in NAMES}
    assert found == {(intent, number) for intent in ("report", "act") for number in (2, 3)}
    assert len(NAMES) == 12


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_and_acts_on_every_site(name: str):
    env = make()
    for constraints in (1, 3):
        plan, seen = begin(env, name, constraints=constraints), set()
        info: dict[str, Any] = {}
        for action in plan:
            info = play(env, [action])
            seen.add(env.here().tab.path.split("/")[1])
        reached, number = info["extras"]["milestones"]
        assert (info["is_success"], reached) == (True, number)
        assert seen >= {*template_of(name).sites}


@pytest.mark.parametrize("name", NAMES)
def test_the_task_alone_does_not_say_what_the_clues_name(name: str):
    env = make()
    begin(env, name)
    task = env.here().task
    assert dict(task.slots)["name"] not in make_task_start(task).instruction


@pytest.mark.parametrize("name", NAMES)
def test_nothing_done_and_a_change_on_another_site_fail(name: str):
    env = make()
    *actions, answer = begin(env, name)
    assert not env.step('answer "done"')[4]["is_success"]
    begin(env, name)
    play(env, actions)
    site = template_of(name).clue_sites[0]
    click(env, f"Go to the {TITLES[site]}")
    if site == "tracker":
        click(env, "Tickets")
        click(env, next(one.name for one in _controls(env) if "/ticket/" in one.element.get("href", "")))
        click(env, "Your comment", "fill", "Nobody asked")
        click(env, "Add comment")
    else:
        click(env, {"forum": "Bookmarks", "wiki": "Watch list"}[site])
        click(env, next(one.name for one in _controls(env) if one.name.startswith("Remove ")))
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert f": {site} " in info["feedback"]


def _controls(env: Any) -> list[Any]:
    return parse_page(env.here().tab.html).controls


def test_a_price_of_somebody_else_is_not_the_right_one():
    env = make()
    plan = begin(env, "compare-prices")
    play(env, plan[:-1])
    difference = float(make_task_start(env.here().task).goal.answer or "nan")
    assert not env.step(f'answer "{abs(difference - 1.5):.2f}"')[4]["is_success"]


def test_addresses_stay_below_the_site_and_others_are_errors():
    env = make()
    begin(env, "buy-ticket-product")
    sites = {"forum", "shop", "tracker"}
    for path in ("/forum/search", "/shop/", "/shop/search?q=lamp", "/tracker/tickets"):
        assert env.step(f"goto {path}")[4]["action_error"] is None
        for control in _controls(env):
            address = control.element.get("href") or control.element.get("formaction") or ""
            if address.startswith("/") and address != "/":
                assert address.split("/")[1] in sites, address
    for address in ("http://shop.test/", "//forum/", "javascript:1", "file:///etc/passwd"):
        assert env.step(f"goto {address}")[4]["action_error"]
    env.step("goto /nowhere/")
    assert "Not Found" in env.here().tab.html
    # A site that the task does not have.
    env.step("goto /booking/")
    assert "Not Found" in env.here().tab.html


def test_a_snapshot_holds_all_sites():
    env, other = make(), make()
    plan = begin(env, "book-thread-room")
    half = len(plan) // 2
    play(env, plan[:half])
    start = env.get_state()
    assert play(env, plan[half:])["is_success"]
    other.set_state(start)
    assert play(other, plan[half:])["is_success"]
    env.set_state(start)
    assert play(env, plan[half:])["is_success"]


def test_both_browsers_agree_across_sites():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for name in ("buy-ticket-product", "suspend-named-user", "book-named-room"):
        plan = begin(fast, name)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
