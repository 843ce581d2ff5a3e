"""Pages with widgets in Chromium, wide and narrow: nothing that is needed is cut off, broken or without a label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from palaestra.envs.web.browsers.chromium import ChromiumBrowser
from palaestra.envs.web.browsers.commands import Command
from palaestra.envs.web.sites.site import SITES, generate

from ..browsers.pages import missing_chromium, number_of

View = Callable[[str, int], ChromiumBrowser]


@pytest.fixture(scope="module")
def view() -> Iterator[View]:
    """``view(path, width)``: the shop's page in a viewport of this width."""
    if missing_chromium():
        pytest.skip(missing_chromium())
    browser = ChromiumBrowser(SITES["shop"](generate("shop", 30, 3)))

    def show(path: str, width: int) -> ChromiumBrowser:
        browser._engine.call(browser._tab.set_viewport_size, {"width": width, "height": 800})
        browser.open(path)
        browser._engine.call(browser._tab.wait_for_load_state, "load")
        return browser

    yield show
    browser.close()


def measure(browser: ChromiumBrowser, script: str) -> Any:
    return browser._engine.call(browser._tab.evaluate, script)


def click(browser: ChromiumBrowser, *names: str) -> None:
    for name in names:
        assert browser.perform(Command("click", number_of(browser, name))) is None


def test_columns_can_be_sorted_on_a_narrow_page(view):
    for path in ("/table", "/finder"):
        browser = view(path, 390)
        boxes = measure(browser, "() => [...document.querySelectorAll('th button')].map(e => e.offsetHeight)")
        assert len(boxes) == 5
        assert min(boxes) > 10
        assert measure(browser, "() => document.documentElement.scrollWidth") <= 390


def test_days_of_a_date_picker_stand_on_one_line_below_the_name_of_their_month(view):
    for width in (1280, 390):
        browser = view("/details/1", width)
        click(browser, "Choose a date: Remind me on")
        heights = measure(
            browser,
            "() => [...document.querySelectorAll('[data-part=day]')].map(e => e.offsetHeight).filter(one => one)",
        )
        assert len(heights) == 31
        assert max(heights) == min(heights)
        title = "() => getComputedStyle(document.querySelector('[data-part=month]'), '::before').content"
        assert measure(browser, title) == '"May 2026"'


def test_a_dialog_covers_an_open_date_picker_and_is_as_wide_as_it_needs(view):
    browser = view("/details/1", 390)
    click(browser, "Choose a date: Remind me on", "Actions", "Report a fault")
    level = "name => getComputedStyle(document.querySelector(name)).zIndex"
    dialog, grid = (
        int(browser._engine.call(browser._tab.evaluate, level, name)) for name in (".dialog", "[data-part=grid]")
    )
    assert dialog > grid
    rows = "() => [...document.querySelectorAll('.dialog .tiles button')].map(e => e.getBoundingClientRect().top)"
    assert len({*measure(browser, rows)[:2]}) == 1


def test_the_frame_of_an_office_shows_the_frame_within_it_and_its_links_stand_apart(view):
    for width in (1280, 390):
        browser = view("/office/1", width)
        click(browser, "Choose a date: Remind me on")
        hidden = """() => { const page = document.querySelector('iframe').contentDocument.documentElement;
            return page.scrollHeight - page.clientHeight; }"""
        assert measure(browser, hidden) <= 0
        for path, number in (("/office/1", 2), ("/papers/1", 2), ("/product/1", 1)):
            browser = view(path, width)
            gaps = measure(
                browser,
                """() => [document, ...[...document.querySelectorAll('iframe')].map(e => e.contentDocument)]
                .flatMap(doc => [...doc.querySelectorAll('p > a + a, p > button + a')]).map(e => {
                    const [one, two] = [e.previousElementSibling, e].map(each => each.getBoundingClientRect());
                    return Math.max(two.left - one.right, two.top - one.bottom); })""",
            )
            assert len(gaps) >= number - 1
            assert all(gap >= 6 for gap in gaps), (path, gaps)
