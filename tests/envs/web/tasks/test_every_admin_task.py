"""Admin-v0: every template can be solved, and only what was asked for counts."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.sites.admin import Admin
from palaestra.envs.web.sites.admin_content import PERMISSIONS
from palaestra.envs.web.sites.admin_rules import check_permissions
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.sites.site import generate
from palaestra.envs.web.tasks.template import TEMPLATES, WebTask, judge, judged_rows, make_task_start
from palaestra.envs.web.tasks.walk import Walk

from ..browsers.pages import missing_chromium
from .test_every_shop_task import click

# Templates on request are tested in test_paper_tasks.
NAMES = [one.name for _, one in TEMPLATES.items() if one.site == "admin" and not one.on_request]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/Admin-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def begin(env: Any, template: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    params["intent"] = TEMPLATES[f"admin/{template}"].intent
    for seed in range(200):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return env.plan(env.here())
    raise AssertionError(template)


def control(env: Any, role: str, beginning: str = "", without: tuple[str, ...] = ()) -> str:
    """The name of the first control of the page with this role that begins so."""
    controls = parse_page(env.here().tab.html).controls
    return next(
        one.name for one in controls if one.role == role and one.name.startswith(beginning) and one.name not in without
    )


def finish(env: Any, *actions: str) -> tuple[bool, str]:
    """Take actions. Return whether the last one ended in success, and what was said."""
    info: dict[str, Any] = {}
    for action in actions:
        info = env.step(action)[4]
        assert info["action_error"] is None
    return info["is_success"], info["feedback"]


def test_there_are_templates_of_every_intent():
    intents = {TEMPLATES[f"admin/{name}"].intent for name in NAMES}
    assert intents == set(make().param_space["intent"].choices)
    assert len(NAMES) == 38


@pytest.mark.parametrize("size", [24, 96])
def test_the_solver_solves_eight_tasks_of_every_template_at_every_size(size: int):
    solved = dict.fromkeys(NAMES, 0)
    for seed in range(60):
        for place, name in enumerate(name for name in NAMES if solved[name] < 8):
            template, rng = TEMPLATES[f"admin/{name}"], np.random.default_rng((seed, place))
            params = {"items": 1 + seed % 5, "constraints": 1 + seed // 5 % 4}
            database = connect(generate("admin", size, seed))
            slots = template.draw(rng, database, params)
            release(database)
            if slots is None:
                continue
            start = make_task_start(WebTask("admin", size, seed, name, tuple(sorted(slots.items()))))
            site = Admin(start.database)
            browser = InProcessBrowser(site)
            browser.open("/")
            template.solve(Walk(browser), slots, start.goal)
            assert judge(start, judged_rows("admin", site.database), start.goal.answer or "done")[0], (name, seed)
            site.close()
            solved[name] += 1
    assert min(solved.values()) == 8


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_and_doing_nothing_or_a_wrong_answer_fails(name: str):
    env = make()
    for constraints in (1, 4):
        plan = begin(env, name, constraints=constraints, users=40)
        start, progress = env.get_state(), []
        for action in plan:
            info = env.step(action)[4]
            assert info["action_error"] is None
            progress.append(info["progress"])
        reached, number = info["extras"]["milestones"]
        assert (info["is_success"], reached) == (True, number)
        assert progress == sorted(progress)
    env.set_state(start)
    assert not finish(env, 'answer "done"')[0]
    goal = make_task_start(env.here().task).goal
    if goal.answer is not None:
        env.set_state(start)
        assert finish(env, *plan[:-1], 'answer "41.00"') == (False, "The answer is not right.")


@pytest.mark.parametrize("name", NAMES)
def test_an_invitation_that_is_revoked_without_being_asked_for_fails(name: str):
    env = make()
    *actions, answer = begin(env, name)
    asked = {f"Revoke {mail}" for _, mail in dict(env.here().task.slots).get("mails", ())}
    for action in actions:
        env.step(action)
    click(env, "Invitations")
    click(env, control(env, "button", "Revoke", without=tuple(asked)))
    click(env, "Confirm")
    success, why = finish(env, answer)
    assert not success
    assert "invitations" in why


@pytest.mark.parametrize("name", ["move-users", "suspend-idle", "give-role"])
def test_an_action_on_one_user_more_fails(name: str):
    env = make()
    *actions, answer = begin(env, name, items=1)
    users = {f"Select {user[1]}" for user in dict(env.here().task.slots)["users"]}
    for action in actions:
        env.step(action)
    action = env.here().actions[-2]
    click(env, "Users")
    start, before = env.get_state(), env.here().database
    while env.here().database is before:
        # Some users are in the wanted state already, or cannot be changed.
        env.set_state(start)
        other = control(env, "checkbox", "Select", without=(*users, "Select Robin Vega"))
        users.add(other)
        click(env, other)
        click(env, "Action on selected users", "select", action.partition('"')[2][:-1])
        click(env, "Apply to selected")
    success, why = finish(env, answer)
    assert not success
    assert "users" in why


def test_moving_somebody_with_a_similar_name_fails():
    env = make()
    *_, answer = begin(env, "move-users", items=1, constraints=1)
    slots = dict(env.here().task.slots)
    (_, name, _) = slots["users"][0]
    click(env, "Search users", "fill", name.split()[1][:3])
    click(env, "Search")
    other = control(env, "checkbox", "Select", without=(f"Select {name}",))
    click(env, other)
    click(env, "Action on selected users", "select", f"Move to {slots['team_name']}")
    click(env, "Apply to selected")
    success, why = finish(env, answer)
    assert not success
    assert "users" in why


@pytest.mark.parametrize(("name", "deed"), [("adjust-permissions", "added"), ("set-permissions", "removed")])
def test_a_permission_more_or_less_fails_until_it_is_undone(name: str, deed: str):
    env = make()
    *actions, answer = begin(env, name, items=2)
    for action in actions:
        env.step(action)
    controls = parse_page(env.here().tab.html).controls
    before = {one.name for one in controls if one.role == "checkbox" and one.default()}
    allowed = [one for one in PERMISSIONS if check_permissions(before ^ {one}) is None]
    turned = next(one for one in allowed if (one in before) is (deed == "removed"))
    for expected in (False, True):
        click(env, turned)
        click(env, "Save role")
        saved = env.get_state()
        success, why = finish(env, answer)
        assert success is expected
        assert success or "grants" in why
        env.set_state(saved)


@pytest.mark.parametrize(("kind", "name"), [("checkbox", "Licence"), ("radio", "Tabs"), ("combobox", "Sort by")])
def test_an_export_with_other_columns_separators_or_order_fails(kind: str, name: str):
    env = make()
    for seed in range(50):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": {"intent": "export"}})
        slots = dict(env.here().task.slots)
        if slots["format"] != "tab" and slots["sort"] != "mail":
            break
    *actions, last, answer = env.plan(env.here())
    for action in actions:
        env.step(action)
    click(env, name, *(("select", "Mail") if kind == "combobox" else ()))
    success, why = finish(env, last, answer)
    assert not success
    assert "exports" in why


def test_permissions_count_in_any_order_and_not_with_one_left_out():
    env = make()
    *actions, _ = begin(env, "compare-roles", items=3)
    for action in actions:
        env.step(action)
    parts = make_task_start(env.here().task).goal.answer.split(", ")
    start = env.get_state()
    for answer, success in ((parts[::-1], True), (parts[1:] or ["none"], False), ([*parts, "View rooms"], False)):
        env.set_state(start)
        assert finish(env, f'answer "{", ".join(answer)}"')[0] is success


def test_a_refused_bulk_edit_says_why_and_the_episode_goes_on():
    env = make()
    begin(env, "hand-over")
    owner = dict(env.here().task.slots)["users"][0]
    click(env, "Search users", "fill", owner[2])
    click(env, "Search")
    click(env, f"Select {owner[1]}")
    click(env, "Action on selected users", "select", "Give role Guest")
    before = env.here().database
    click(env, "Apply to selected")
    assert "This is the last active owner" in env.observe(env.here())
    assert env.here().database == before
    assert finish(env, *env.plan(env.here()))[0]


def test_held_out_tasks_are_in_other_organisations():
    origins = [set(), set()]
    for split, seen in zip(("train", "test"), origins, strict=True):
        env = make(split=split)
        for seed in range(25):
            env.reset(seed=seed)
            seen.add(env.here().task.origin.split()[2])
    assert not origins[0] & origins[1]


def test_both_browsers_agree_on_the_admin_panel():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for template in ("suspend-idle", "copy-role", "export-and-read"):
        plan = begin(fast, template, items=1, users=24)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
