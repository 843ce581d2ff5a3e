"""Templates on frames within frames, named windows and tables of results: an agent without widgets fails, and both
browsers agree. That the solver succeeds is tested with all templates of each site."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.benchmarks.web.agreement import play_both
from palaestra.benchmarks.web.without_widgets import succeeds_without_widgets
from palaestra.envs.web.tasks.office_tasks import OfficeTemplate
from palaestra.envs.web.tasks.template import TEMPLATES

from ..browsers.pages import missing_chromium

FAMILIES = {"shop": "Shop", "booking": "Booking", "forum": "Forum", "tracker": "Tracker", "wiki": "WikiSite"}
NAMES = [
    (one.site, one.name)
    for _, one in TEMPLATES.items()
    if isinstance(one, OfficeTemplate) or one.name == "best-of-search"
]


def make(site: str, name: str, **options: Any) -> Any:
    env_id = f"palaestra/{FAMILIES[site]}-v0"
    return gym.make(env_id, templates=name, disable_env_checker=True, **options).unwrapped


@pytest.mark.parametrize(("site", "name"), NAMES)
def test_the_solver_succeeds_and_a_visitor_without_widgets_fails(site: str, name: str):
    env = make(site, name)
    for seed in range(2):
        env.reset(seed=seed, options={"difficulty": float(seed)})
        task, info, done = env.here().task, {}, False
        while not done:
            _, _, terminated, truncated, info = env.step(env.oracle())
            done = terminated or truncated
        assert info["is_success"]
        assert not succeeds_without_widgets(task)


def test_these_tasks_are_on_request_only():
    assert len(NAMES) >= 8
    assert {name for _, name in NAMES} == {"plan-at-counter", "read-shelf", "read-leaves", "best-of-search"}
    assert all(TEMPLATES[f"{site}/{name}"].on_request for site, name in NAMES)


@pytest.mark.parametrize(
    ("site", "name"), [("booking", "plan-at-counter"), ("shop", "read-shelf"), ("wiki", "read-leaves")]
)
def test_both_browsers_agree(site: str, name: str):
    if missing_chromium():
        pytest.skip(missing_chromium())
    pair = [make(site, name, backend=backend) for backend in ("inprocess", "chromium")]
    try:
        for seed in (0, 1):
            played = play_both(pair, site, seed, widgets=True)
            assert played.difference == ""
            assert played.steps > 3
    finally:
        for env in pair:
            env.close()
