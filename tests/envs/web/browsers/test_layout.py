"""Boxes of controls: in observations, over pictures, and only where a browser has a layout."""

from __future__ import annotations

import re
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.web.browsers.layout import Box, add_boxes, draw_marks
from palaestra.envs.web.browsers.observations import OBSERVATIONS
from palaestra.envs.web.browsers.page_cache import parse_page
from palaestra.errors import InputError

from .pages import missing_chromium

PAGE = parse_page("<p>id=&quot;7&quot;</p><a href=/>Home</a><label>Name <input name=n></label>")
BOXES = (Box(8, 40, 50, 20, True), Box(8, 900, 120, 30, False))


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (
            "tree",
            [
                'text "id=\\"7\\""',
                '[1] link "Home" box=8,40,50,20',
                '[2] textbox "Name" value="" box=8,900,120,30 unseen',
            ],
        ),
        (
            "html",
            [
                "<p>id=&quot;7&quot;</p>",
                '<a id="1" box="8,40,50,20">Home</a>',
                '<input type="text" id="2" box="8,900,120,30" unseen name="Name" value="">',
            ],
        ),
        (
            "dom",
            [
                "<html><body><p>id=&quot;7&quot;</p>",
                '<a bid="1" box="8,40,50,20" href="/">Home</a><label>Name ',
                '<input bid="2" box="8,900,120,30" unseen name="n"></label></body></html>',
            ],
        ),
    ],
)
def test_a_box_stands_with_its_control_in_every_kind_of_observation(kind: str, lines: list[str]):
    assert add_boxes(PAGE, OBSERVATIONS[kind](PAGE, {}), BOXES) == lines


def test_marks_are_drawn_over_visible_controls_only():
    grey = np.full((960, 200, 3), 200, dtype=np.uint8)
    changed = np.argwhere((draw_marks(grey, BOXES) != grey).any(2))
    assert (changed.min(0) >= (20, 7)).all()
    assert (changed.max(0) <= (60, 58)).all()
    assert not (draw_marks(grey, BOXES[1:]) != grey).any()


@pytest.mark.parametrize("option", ["boxes", "marks"])
def test_without_a_layout_boxes_are_refused_with_the_remedy(option: str):
    with pytest.raises(InputError, match=f"no layout, so {option} needs backend='chromium'"):
        gym.make("palaestra/Shop-v0", **{option: True})


def test_in_chromium_boxes_are_where_the_controls_are():
    if missing_chromium():
        pytest.skip(missing_chromium())

    def make(**options: Any) -> Any:
        return gym.make(
            "palaestra/Forum-v0", backend="chromium", lines=20, disable_env_checker=True, **options
        ).unwrapped

    env, plain = make(boxes=True, marks=True, render_mode="rgb_array"), make(render_mode="rgb_array")
    for action in (None, 'fill [2] "lamp"', "scroll down"):
        pages = [one.reset(seed=1)[0] if action is None else one.step(action)[0] for one in (env, plain)]
        assert re.sub(r" box=[-0-9,]+(?: unseen)?", "", pages[0]) == pages[1]
        boxes = env.here().boxes
        assert len(boxes) == len(parse_page(env.here().tab.html).controls)
        # A frame is drawn around each visible control, and nothing where none is.
        marked, bare = env.render(), plain.render()
        for box in boxes:
            edge = (slice(box.y, box.y + 1), slice(box.x + 30, box.x + box.width - 4))
            if box.visible:
                assert (marked[edge] != bare[edge]).any(2).mean() > 0.9
        assert any(box.visible for box in boxes)
    assert not boxes[0].visible  # the name of the site, above the first line shown
    env.set_state(plain.get_state())
    assert env.observe(env.here()) == pages[0]
    env.close()
    plain.close()
