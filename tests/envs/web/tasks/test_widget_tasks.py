"""Templates that need widgets: a visitor who opens nothing fails, and fields without the widget are not enough.

That the solver succeeds is tested with all templates of each site."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
from palaestra.benchmarks.web.without_widgets import count_successes, succeeds_without_widgets
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.tasks.template import TEMPLATES
from palaestra.envs.web.tasks.widget_tasks import DetailsTemplate, find_hint

SITES = ("shop", "booking", "forum", "tracker", "admin", "wiki")


def test_a_visitor_who_opens_nothing_fails_on_most_templates():
    counts = list(count_successes(["palaestra/Shop-v0", "palaestra/Tracker-v0"], 1))
    assert len(counts) == 36
    assert sum(one.successes for one in counts) <= 2


def test_the_same_visitor_succeeds_where_nothing_has_to_be_opened():
    env: Any = gym.make("palaestra/Shop-v0", templates="report-price", disable_env_checker=True).unwrapped
    env.reset(seed=0)
    assert succeeds_without_widgets(env.here().task)


def test_each_hint_names_one_place():
    for site in SITES:
        pages = next(
            one.details for _, one in TEMPLATES.items() if one.site == site and isinstance(one, DetailsTemplate)
        )
        for place in pages.places:
            hint = find_hint(place, pages.places).lower()
            assert [one for one in pages.places if hint in one.lower()] == [place]


def test_another_place_or_a_text_without_its_style_fails():
    env: Any = gym.make("palaestra/Booking-v0", templates="plan-all", disable_env_checker=True).unwrapped
    env.reset(seed=1, options={"params": {"items": 1}})
    *actions, answer = env.plan(env.here())
    style = actions.pop(-2)
    for action in actions:
        env.step(action)
    assert style.startswith("click")
    assert "plans" in env.step(answer)[4]["feedback"]


def test_the_solver_goes_on_from_an_open_dialog_and_from_another_page():
    env: Any = gym.make("palaestra/Shop-v0", templates="best-of-table", slack=9.0, disable_env_checker=True).unwrapped
    env.reset(seed=0)
    env.step("goto /details/1")
    for name in ("Actions", "Report a fault"):
        page = parse_page(env.here().tab.html)
        env.step(f"click [{next(one.number for one in page.controls if one.name == name)}]")
    assert len(parse_page(env.here().tab.html).controls) == 2
    for action in env.plan(env.here()):
        info = env.step(action)[4]
    assert info["is_success"]
