"""Pages as they look: complete without a site, without scripts, with values as they are now, and with a mark."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from lxml import html
from palaestra.envs.web.sites.page_look import MARK, draw_page
from palaestra.envs.web.sites.site import read_asset

PAGE = """<!doctype html><html><head><title>T</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/shop.css"><script src="/static/widgets.js"></script></head><body>
<a href="/">Home</a><input aria-label="Name" value="a"><select aria-label="Size"><option>S<option>L</select>
<textarea aria-label="Text">b</textarea><input type="checkbox" aria-label="Box"><script>alert(1)</script>!
<div hidden>not yet</div></body></html>"""


def test_style_sheets_are_in_the_page_and_scripts_are_not():
    root = html.fromstring(draw_page(PAGE))
    assert [*root.iter("script", "link")] == []
    styles = [style.text for style in root.iter("style")]
    assert read_asset("/static/shop.css") in styles
    assert root.findtext(".//title") == "T"
    assert root.findtext(".//div[@hidden]") == "not yet"
    assert "!" in root.text_content()


def test_values_are_those_of_the_moment_and_the_control_of_an_action_is_marked():
    root = html.fromstring(draw_page(PAGE, ((2, "x"), (3, (1,)), (4, "y"), (5, True)), number=3))
    name, box = root.findall(".//input")
    assert name.get("value") == "x"
    assert box.get("checked") is not None
    assert [option.get("selected") is not None for option in root.iter("option")] == [False, True]
    assert root.findtext(".//textarea").strip() == "y"
    assert [one.get("aria-label") for one in root.xpath("//*[@id=$id]", id=MARK)] == ["Size"]


def test_a_field_for_files_shows_the_name_of_its_file():
    drawn = draw_page("<form><input type=file name=f> or none</form>", ((1, "list.csv"),))
    assert html.fromstring(drawn).find(".//form").text_content().split() == ["list.csv", "or", "none"]


@pytest.mark.parametrize("number", [0, 6])
def test_nothing_is_marked_without_a_control(number: int):
    assert html.fromstring(draw_page(PAGE, number=number)).xpath("//*[@id=$id]", id=MARK) == []


@pytest.mark.parametrize("action", ['fill [2] "lamp"', "fill('2', 'lamp')"])
def test_an_environment_draws_its_page_with_the_control_of_an_action_however_it_is_written(action: str):
    env: Any = gym.make("palaestra/Shop-v0", disable_env_checker=True).unwrapped
    env.reset(seed=1)
    (marked,) = html.fromstring(env.draw_html(action)).xpath("//*[@id=$id]", id=MARK)
    assert marked.get("type") == "search"
    env.step(action)
    (field,) = (one for one in html.fromstring(env.draw_html()).iter("input") if one.get("type") == "search")
    assert field.get("value") == "lamp"
    assert env.draw_html("nonsense") == env.draw_html(3) == env.draw_html()
