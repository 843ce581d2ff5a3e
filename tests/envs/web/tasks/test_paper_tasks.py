"""Templates on files, frames, new tabs and charts: an agent without them fails, and so does another file.

That the solver succeeds on those without pictures is tested with all templates of each site."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.benchmarks.web.without_widgets import succeeds_without_widgets
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.envs.web.tasks.paper_tasks import ROWS
from palaestra.envs.web.tasks.template import TEMPLATES
from palaestra.errors import InputError

from ..browsers.pages import missing_chromium

FAMILIES = dict(zip(ROWS, ("Shop", "Booking", "Forum", "Tracker", "Admin", "WikiSite"), strict=True))
BLIND = [(site, kind.name) for site, kinds in ROWS.items() for kind in kinds if not kind.needs_picture]
PICTURES = [(site, kind.name) for site, kinds in ROWS.items() for kind in kinds if kind.needs_picture]


def make(site: str, **options: Any) -> Any:
    return gym.make(f"palaestra/{FAMILIES[site]}-v0", disable_env_checker=True, **options).unwrapped


@pytest.mark.parametrize(("site", "name"), BLIND)
def test_a_visitor_without_files_frames_and_tabs_fails(site: str, name: str):
    env = make(site, templates=name)
    for seed in range(3):
        env.reset(seed=seed)
        assert not succeeds_without_widgets(env.here().task)


def test_another_file_fails():
    env = make("tracker", templates="hand-in-sheet", slack=9.0, items=1)
    env.reset(seed=0)
    *actions, answer = env.plan(env.here())
    place = next(place for place, action in enumerate(actions) if action.startswith("upload"))
    for action in actions[:place]:
        env.step(action)
    # The file of the object that it is handed in for.
    controls = parse_page(env.here().tab.html).controls
    env.step(f"click [{next(one.number for one in controls if one.name == 'Test protocol')}]")
    first, second = env.here().tab.files
    for action in (actions[place].replace(first.name, second.name), *actions[place + 1 :]):
        assert env.step(action)[4]["action_error"] is None
    info = env.step(answer)[4]
    assert not info["is_success"]
    assert "plans" in info["feedback"]


@pytest.mark.parametrize("site", ["shop", "tracker", "admin"])
def test_of_several_given_files_the_right_one_is_handed_in(site: str):
    env = make(site, templates="hand-in-given", slack=9.0, items=2)
    page, _ = env.reset(seed=0)
    assert 'Files: "scan-1.txt", "scan-2.txt", "scan-3.txt", "scan-4.txt"' in page
    *actions, answer = env.plan(env.here())
    used = {action.split('"')[1] for action in actions if action.startswith("upload")}
    assert len(used) == 2
    other = next(one.name for one in env.here().tab.files if one.name not in used)
    for swapped in (False, True):
        env.reset(seed=0)
        for action in actions:
            is_wrong = swapped and action.startswith("upload")
            action = f'{action.partition(chr(34))[0]}"{other}"' if is_wrong else action
            assert env.step(action)[4]["action_error"] is None
        assert env.step(answer)[4]["is_success"] is not swapped


@pytest.mark.parametrize(("site", "name"), PICTURES)
def test_templates_that_need_a_picture_are_drawn_only_by_name_and_with_pictures(site: str, name: str):
    with pytest.raises(InputError, match="rgb_array"):
        make(site, templates=name)
    env = make(site, intent=TEMPLATES[f"{site}/{name}"].intent)
    drawn = set()
    for seed in range(40):
        env.reset(seed=seed)
        drawn.add(env.here().task.template)
    assert len(drawn) > 3
    assert not drawn & {name, "hand-in-given"}


@pytest.mark.parametrize(("site", "name"), PICTURES)
def test_the_solver_of_a_chart_succeeds_where_a_picture_is_shown(site: str, name: str):
    if missing_chromium():
        pytest.skip(missing_chromium())
    env = make(site, templates=name, backend="chromium", render_mode="rgb_array")
    env.reset(seed=1)
    *actions, answer = env.plan(env.here())
    for action in actions:
        text, *_ = env.step(action)
    assert env.render().std() > 0
    assert answer.split('"')[1] not in text
    assert env.step(answer)[4]["is_success"]
    env.reset(seed=1)
    assert not env.step('answer "done"')[4]["is_success"]
    env.close()


def test_the_solver_goes_on_from_several_tabs():
    env = make("wiki", templates="read-notice", slack=10.0, items=2)
    env.reset(seed=0)
    for action in ("new_tab", "goto /table", "new_tab", "tab 1", "click [3]"):
        env.step(action)
    for action in env.plan(env.here()):
        info = env.step(action)[4]
        assert info["action_error"] is None
    assert info["is_success"]
    assert len(env.here().tab.others) == 2
