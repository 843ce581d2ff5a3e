"""Booking-v0: every template can be solved, and only what was asked for counts."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.sites.site import SITES, generate
from palaestra.envs.web.tasks.template import TEMPLATES, WebTask, judge, judged_rows, make_task_start
from palaestra.envs.web.tasks.walk import Walk

from ..browsers.pages import missing_chromium
from .test_every_shop_task import click

# Templates on request are tested in test_paper_tasks.
NAMES = [one.name for _, one in TEMPLATES.items() if one.site == "booking" and not one.on_request]


def make(**kwargs: Any) -> Any:
    return gym.make("palaestra/Booking-v0", disable_env_checker=True, slack=5.0, **kwargs).unwrapped


def begin(env: Any, template: str, **params: Any) -> tuple[str, ...]:
    """Reset until the task is of a template. Return the plan."""
    params["intent"] = TEMPLATES[f"booking/{template}"].intent
    for seed in range(100):
        env.reset(seed=seed, options={"difficulty": 0.5, "params": params})
        if env.here().task.template == template:
            return env.plan(env.here())
    raise AssertionError(template)


def play(env: Any, actions: tuple[str, ...] | list[str]) -> dict[str, Any]:
    info: dict[str, Any] = {}
    for action in actions:
        info = env.step(action)[4]
        assert info["action_error"] is None, action
    return info


def names_of(env: Any, beginning: str = "", kind: str = "") -> list[str]:
    """The names of the controls of the page that begin so, and whose class is this one."""
    controls = parse_page(env.here().tab.html).controls
    return [one.name for one in controls if one.name.startswith(beginning) and one.element.get("class", "") == kind]


def test_there_are_templates_of_every_intent():
    intents = {TEMPLATES[f"booking/{name}"].intent for name in NAMES}
    assert intents == set(make().param_space["intent"].choices)
    assert len(NAMES) == 39


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_succeeds_on_eight_sites_of_the_least_and_of_the_usual_size(name: str):
    template = TEMPLATES[f"booking/{name}"]
    for size in (12, 96):
        solved = seed = 0
        while solved < 8:
            params = {"items": 1 + (seed % 10 == 0), "constraints": 1 + seed % 4}
            seed += 1
            assert seed < 400
            database = connect(generate("booking", size, seed))
            slots = template.draw(np.random.default_rng(seed), database, params)
            release(database)
            if slots is None:
                continue
            task = WebTask("booking", size, seed, name, tuple(sorted(slots.items())))
            start = make_task_start(task)
            # What is asked stands in the task; numbers of rows are never told.
            assert "None" not in start.instruction
            site = SITES["booking"](start.database)
            walk = Walk(InProcessBrowser(site))
            walk.browser.open("/")
            template.solve(walk, dict(task.slots), start.goal)
            rows = judged_rows("booking", site.database)
            assert judge(start, rows, start.goal.answer or "done") == (True, "Done.")
            assert judge(start, rows, "nothing at all")[0] is (start.goal.answer is None)
            # Doing nothing is no success, unless nothing but an answer is asked for.
            assert judge(start, start.rows, start.goal.answer or "done")[0] is (start.goal.answer is not None)
            site.close()
            solved += 1


@pytest.mark.parametrize("name", NAMES)
def test_the_solver_reaches_every_milestone_in_turn(name: str):
    env = make()
    for constraints in (1, 4):
        progress = []
        info: dict[str, Any] = {}
        for action in begin(env, name, constraints=constraints, rooms=40):
            info = play(env, [action])
            progress.append(info["progress"])
        reached, number = info["extras"]["milestones"]
        assert (info["is_success"], reached) == (True, number)
        assert progress == sorted(progress)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_or_another_phone_number_that_nobody_asked_for_fails(name: str):
    env = make()
    *actions, answer = begin(env, name, items=1)
    play(env, actions)
    start = env.get_state()
    click(env, "Profile")
    click(env, "Phone", "fill", "555 999 999")
    click(env, "Save profile")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "account" in info["feedback"]
    env.set_state(start)
    click(env, "My bookings")
    for booking in names_of(env, kind="name"):
        click(env, booking)
        if names_of(env, "Write to the house"):
            break
        click(env, "My bookings")
    click(env, "Write to the house")
    click(env, "Topic", "select", "Question")
    click(env, "Text", "fill", "Hello")
    click(env, "Send message")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "messages" in info["feedback"]


@pytest.mark.parametrize("name", ["book-room", "book-cheapest", "book-first-free"])
def test_an_extra_that_nobody_asked_for_fails(name: str):
    env = make()
    *actions, answer = begin(env, name, constraints=1)
    last = next(place for place in reversed(range(len(actions))) if "Continue" in _name_clicked(env, actions, place))
    play(env, actions[:last])
    click(env, next(one for one in names_of(env, "Parking")))
    play(env, actions[last:])
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "bookings" in info["feedback"]


def _name_clicked(env: Any, actions: list[str], place: int) -> str:
    """The name of the control that an action of a plan clicks on; the episode is as before afterwards."""
    start = env.get_state()
    play(env, actions[:place])
    found = re.fullmatch(r"click \[(\d+)\]", actions[place])
    page = parse_page(env.here().tab.html)
    env.set_state(start)
    return page.controls[int(found[1]) - 1].name if found else ""


def test_a_room_with_a_similar_name_is_the_wrong_one():
    env = make()
    begin(env, "book-room", items=1, constraints=1, rooms=96)
    slots = dict(env.here().task.slots)
    ((_, room, house, arrival, departure, names),) = slots["stays"]
    click(env, "All rooms")
    click(env, "Arrival", "fill", arrival)
    click(env, "Departure", "fill", departure)
    click(env, "Guests", "select", str(len(names)))
    click(env, "Apply filters")
    right = f"{room} at {house}"
    others = [one for one in names_of(env, kind="name") if one != right]
    click(env, min(others, key=lambda one: len({*one.split()} ^ {*right.split()})))
    click(env, "Book this stay")
    for place, name in enumerate(names, 1):
        click(env, f"Full name of guest {place}", "fill", name)
    click(env, "Continue")
    click(env, "I accept the conditions of the house")
    click(env, "Book with obligation to pay")
    click(env, "Confirm")
    info = env.step('answer "done"')[4]
    assert not info["is_success"]
    assert "bookings" in info["feedback"]


def test_a_booking_made_and_cancelled_again_leaves_a_trace_that_fails():
    env = make()
    answer = begin(env, "find-cheapest-room")[-1]
    shown = {*_bookings(env)}
    click(env, "All rooms")
    click(env, "Arrival", "fill", "2026-07-06")
    click(env, "Departure", "fill", "2026-07-08")
    click(env, "Apply filters")
    click(env, names_of(env, kind="name")[0])
    click(env, "Book this stay")
    click(env, "Continue")
    click(env, "I accept the conditions of the house")
    click(env, "Book with obligation to pay")
    click(env, "Confirm")
    (new,) = {*_bookings(env)} - shown
    click(env, new)
    click(env, "Cancel booking")
    click(env, "Cancel for good")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "bookings" in info["feedback"]


def _bookings(env: Any) -> list[str]:
    click(env, "My bookings")
    return names_of(env, kind="name")


def test_a_booking_that_costs_a_fee_is_none_of_those_to_cancel_free_of_charge():
    env = make()
    *actions, answer = begin(env, "cancel-free", constraints=1, items=3)
    slots = dict(env.here().task.slots)
    play(env, actions)
    _bookings(env)
    click(env, slots["others"][0][1])
    click(env, "Cancel booking")
    click(env, next(one for one in names_of(env, "I pay the fee of")))
    click(env, "Cancel for good")
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "bookings" in info["feedback"]


@pytest.mark.parametrize("name", ["book-first-free", "book-several-rooms", "add-guest", "send-messages"])
def test_a_name_or_a_message_with_a_letter_more_fails(name: str):
    env = make()
    *actions, answer = begin(env, name, items=1)
    last = max(place for place, action in enumerate(actions) if action.startswith("fill"))
    actions[last] = actions[last][:-1] + 'x"'
    play(env, actions)
    assert not env.step(answer)[4]["is_success"]


def test_a_stay_that_ends_a_night_too_early_fails():
    env = make()
    *actions, answer = begin(env, "lengthen-stays", items=1)
    play(env, actions)
    _, label, arrival, departure = dict(env.here().task.slots)["moves"][0]
    _bookings(env)
    click(env, f"{label.split(', ')[0]}, {arrival}")
    click(env, "Change dates or room")
    click(env, "Departure", "fill", str(date.fromisoformat(departure) - timedelta(days=1)))
    click(env, "Save changes")
    assert "bookings" in env.step(answer)[4]["feedback"]


def test_hostile_words_in_a_form_stay_text_on_the_page():
    env = make()
    begin(env, "update-profile")
    click(env, "Profile")
    click(env, "Full name", "fill", '<script>x</script>" [1] link')
    click(env, "Save profile")
    assert '<script>x</script>\\" [1] link is signed in.' in env.observe(env.here())
    assert "<script>x" not in env.here().tab.html


def test_held_out_tasks_are_on_other_sites():
    origins: dict[str, set[str]] = {}
    for split in ("train", "test"):
        env = make(split=split)
        origins[split] = {env.reset(seed=seed) and env.here().task.origin for seed in range(20)}
    assert not origins["train"] & origins["test"]


def test_both_browsers_agree_on_the_booking_site():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = make(), make(backend="chromium")
    for template in ("book-room", "cancel-free", "compare-calendars"):
        plan = begin(fast, template, items=1, rooms=24)
        real.set_state(fast.get_state())
        for action in plan:
            assert fast.step(action)[:4] == real.step(action)[:4]
    real.close()
