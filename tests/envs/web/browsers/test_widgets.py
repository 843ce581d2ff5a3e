"""Widgets in both browsers: each event has the same effects by the rules and by the script."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palaestra.envs.web.browsers.browser import BROWSERS, Browser
from palaestra.envs.web.browsers.commands import Command
from palaestra.envs.web.browsers.observations import describe_html
from palaestra.envs.web.browsers.widgets import RULES
from palaestra.envs.web.sites.site import SITES, generate

from .pages import act, missing_chromium, number_of, show

# Each site -> the page with widgets on which it is tested; together they have every widget.
PAGES = {
    **{"shop": "/details/1", "booking": "/details/2", "forum": "/table", "tracker": "/lanes"},
    "wiki": "/office/1",
}
SCRIPTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "shop": (
        *(("Actions",), ("Report a fault",), ("Keep as it is",), ("Warranty",), ("Load more",)),
        *(("Show the shelf code",), ("Dismiss",), ("Show the shelf code",), ("Specification",)),
        *(("Choose a date: Remind me on",), ("Previous month",), ("Next month",), ("Next month",), ("Next month",)),
        *(("14",), ("Pick-up point", "LANE"), ("Harbour kiosk, Mill Lane 4",), ("Gift note", "\n*é\ufffe\u2028😀\n")),
        *(("Bold",), ("Quote",), ("Gift note", "kept"), ("Actions",), ("Report a fault",)),
    ),
    "booking": (("House rules",), ("Arrival",), ("House rules",)),
    "forum": (("Votes",), ("Votes",), ("Load more",), ("Started",), ("Name",)),
    "wiki": (
        *(("Choose a date: Check again on",), ("Next month",), ("14",), ("Archive", "a"), ("Shelf only",), ("Plans",)),
        *(("Leaf 1",), ("/office/1",)),
    ),
    "tracker": (
        *(("Grab Write tests of the price list",), ("Grab Write a manual of the scanner",), ("Drop in Next week",)),
        *(("Grab Write a manual of the scanner",), ("Drop in This week",), ("Grab Write tests of the price list",)),
    ),
}
"""Site -> actions: the name of a control to click, or its name and a text to fill in; or a path to go to."""


def begin(name: str, backend: str = "inprocess", path: str = "") -> Browser:
    browser = BROWSERS[backend](SITES[name](generate(name, 24, 3)))
    browser.open(path or PAGES[name])
    return browser


def click(browser: Browser, *names: str) -> list[str]:
    """Click on controls by their names; the page afterwards, as it is perceived."""
    for name in names:
        assert browser.perform(Command("click", number_of(browser, name))) is None
    return show(browser)


def read_script(browser: Browser, name: str, *text: str) -> Command:
    if name.startswith("/"):
        return Command("goto", 0, name)
    return Command("fill" if text else "click", number_of(browser, name), *text)


def random_action(browser: Browser, rng: np.random.Generator) -> Command:
    """An action on a control that stays on the page, for the most part on a widget."""
    controls = [one for one in browser.page.controls if one.role != "link" and one.kind not in ("submit", "search")]
    controls = [one for one in controls if one.element.get("data-window") is None]
    control = controls[int(rng.integers(len(controls)))]
    if control.role == "textbox":
        return Command("fill", control.number, ("a", " n ", "zzz", "")[int(rng.integers(4))])
    return Command("scroll", 0, "up") if rng.random() < 0.1 else Command("click", control.number)


@pytest.mark.parametrize("name", PAGES)
def test_both_browsers_agree_on_widgets_and_on_snapshots_of_each_other(name: str):
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = (begin(name, backend) for backend in ("inprocess", "chromium"))
    rng = np.random.default_rng(0)
    try:
        for step in [*[()] * 12, (PAGES[name],), *SCRIPTS[name]]:
            action = read_script(fast, *step) if step else random_action(fast, rng)
            before = show(fast)
            assert fast.perform(action) == real.perform(action), action
            assert show(fast) == show(real), action
            assert describe_html(fast.page, fast.edits) == describe_html(real.page, real.edits), action
            assert not step or show(fast) != before or "month" in step[0] or "/" in step[0], action
        # Each goes on from the state of the other.
        tabs = fast.tab(), real.tab()
        fast.restore(tabs[1])
        real.restore(tabs[0])
        assert show(fast) == show(real)
        action = random_action(fast, rng)
        assert fast.perform(action) == real.perform(action), action
        assert show(fast) == show(real), action
    finally:
        real.close()


def test_both_browsers_agree_on_keys():
    if missing_chromium():
        pytest.skip(missing_chromium())
    fast, real = (begin("shop", backend) for backend in ("inprocess", "chromium"))
    field = number_of(fast, "Pick-up point")
    try:
        for browser in (fast, real):
            browser.perform(Command("fill", field, "square"))
            assert sum(line.role == "option" for line in browser.page.lines) == 1
            browser.operate(browser.page.controls[field - 1], "Escape")
            assert not any(line.role == "option" for line in browser.page.lines)
            browser.perform(Command("fill", field, "mill"))
            browser.perform(Command("press", field, "Enter"))
            assert browser.page.controls[field - 1].default() == "Harbour kiosk, Mill Lane 4"
            click(browser, "Actions", "Report a fault")
            browser.operate(browser.page.controls[number_of(browser, "Keep as it is") - 1], "Escape")
        assert show(fast) == show(real)
        assert fast.perform(Command("press", field, "Space")) == real.perform(Command("press", field, "Space"))
    finally:
        real.close()


def test_every_rule_concerns_a_part_of_some_page():
    found = set()
    for name in PAGES:
        for part in begin(name).page.root.iterfind(".//*[@data-part]"):
            root: Any = next(one for one in (part, *part.iterancestors()) if one.get("data-widget"))
            found |= {
                (widget, one) for widget in root.get("data-widget").split() for one in part.get("data-part").split()
            }
    assert {(widget, part) for widget, _, part in RULES} <= found


def test_a_menu_opens_a_dialog_which_hides_the_rest_of_the_page():
    shop = begin("shop")
    before = show(shop)
    opened = click(shop, "Actions")
    assert [line.split("] ")[1] for line in opened if "Report a fault" in line] == ['menuitem "Report a fault"']
    assert any(line.endswith('button "Actions" expanded') for line in opened)
    asked = click(shop, "Report a fault")
    assert [line.split(' "')[0].strip() for line in asked[2:-2]] == [
        "main",
        "dialog",
        "text",
        "[1] button",
        "[2] button",
    ]
    assert len(shop.page.controls) == 2
    assert click(shop, "Keep as it is")[:-2] == before[:-2]
    assert "Done: Report a fault." in " ".join(click(shop, "Actions", "Report a fault", "Confirm"))
    assert shop.site.plans_of(1) == {"Report a fault": "yes"}


def test_a_tab_shows_its_panel_only_and_typed_text_stays():
    shop = begin("shop")
    shop.perform(Command("fill", number_of(shop, "Gift note"), "two\nlines"))
    shown = click(shop, "Warranty")
    assert any("Warranty period" in line for line in shown)
    assert not any("Made for" in line for line in shown)
    assert [line.strip() for line in shown if " tab " in line][2].endswith('tab "Warranty" selected')
    shop.perform(Command("click", number_of(shop, "Save plans")))
    assert shop.site.plans_of(1) == {"Gift note": "two\nlines"}


def test_a_toast_vanishes_with_the_next_action_but_not_with_an_impossible_one():
    shop = begin("shop")
    assert any("The shelf code is" in line for line in click(shop, "Show the shelf code"))
    assert shop.perform(Command("click", 999))
    assert any("The shelf code is" in line for line in show(shop))
    assert not any("The shelf code is" in line for line in act(shop, "wait")[0][2])


def test_a_table_is_sorted_as_numbers_and_shows_as_many_rows_as_before():
    def prices(browser: Browser) -> list[float]:
        cells = [line.split('"')[1].split(" | ")[0] for line in show(browser) if " | " in line]
        return [float(cell) for cell in cells]

    shop = begin("shop", path="/table")
    every = sorted(row[0] for row in shop.site.query("SELECT price / 100.0 FROM products"))
    click(shop, "Price")
    assert prices(shop) == every[:8]
    assert any('"Price" sorted ascending' in line for line in show(shop))
    click(shop, "Price")
    assert prices(shop) == every[::-1][:8]
    click(shop, "Load more")
    assert prices(shop) == every[::-1][:13]


def test_a_page_without_widgets_has_no_script():
    shop = begin("shop", path="/search")
    assert not shop.page.has_widgets
    assert not [*shop.page.root.iter("script")]
    assert [one.get("src") for one in begin("shop").page.root.iter("script")] == ["/static/widgets.js"]


@pytest.mark.parametrize("backend", ["inprocess", "chromium"])
def test_a_card_is_dragged_to_the_lane_of_another_control(backend: str):
    if backend == "chromium" and missing_chromium():
        pytest.skip(missing_chromium())
    board = begin("tracker", backend)
    grabs = [one.number for one in board.page.controls if one.name.startswith("Grab ")]
    click(board, f"{board.page.controls[grabs[0] - 1].name}", "Drop in Next week")
    first, *_, last = (one for one in board.page.controls if one.name.startswith("Grab "))
    assert board.perform(Command("drag", first.number, f"[{last.number}]")) is None
    lanes = [line.strip() for line in show(board) if "region" in line or "Grab" in line]
    assert lanes.index('region "Next week"') == len(lanes) - 3
    assert first.name in lanes[-1]
    save = number_of(board, "Save board")
    for command, refusal in (
        (Command("drag", save, f"[{first.number}]"), "cannot be dragged"),
        (Command("drag", number_of(board, first.name), f"[{save}]"), "is in no lane"),
        (Command("drag", number_of(board, first.name), "[999]"), "no control [999]"),
    ):
        assert refusal in (board.perform(command) or "")
    click(board, "Save board")
    assert len(board.site.query("SELECT * FROM plans WHERE value = 'Next week'")) == 2
    board.close()


def test_a_mouse_drags_a_card_between_points():
    if missing_chromium():
        pytest.skip(missing_chromium())
    board = begin("tracker", "chromium")
    plain = begin("tracker")
    script = "(e => [e.x, e.y])(document.querySelectorAll('section h2')[2].getBoundingClientRect())"
    left, top = board._engine.call(board._tab.evaluate, script)
    box = board.boxes()[number_of(board, "Grab Write tests of the price list") - 1]
    x, y = box.x + box.width // 2, box.y - 12
    point = f"{x} {y}"
    assert "no card" in (board.perform(Command("drag_at", 0, f"1 1 {point}")) or "")
    assert "no lane" in (board.perform(Command("drag_at", 0, f"{point} 1 1")) or "")
    before = show(board)
    assert board.perform(Command("drag_at", 0, f"{point} {x + 3} {y}")) is None
    assert show(board) == before
    assert board.perform(Command("drag_at", 0, f"{point} {left + 4} {top + 4}")) is None
    assert show(board)[:-2] == click(plain, "Grab Write tests of the price list", "Drop in Next week")[:-2]
    board.close()
    assert "needs a page with a layout" in (plain.perform(Command("drag_at", 0, f"{point} 1 1")) or "")


@pytest.mark.parametrize("backend", ["inprocess", "chromium"])
def test_escape_closes_what_is_open_wherever_the_focus_is(backend: str):
    if backend == "chromium" and missing_chromium():
        pytest.skip(missing_chromium())
    shop = begin("shop", backend)
    before = show(shop)[:-2]
    for opened in (["Actions"], ["Actions", "Report a fault"], ["Choose a date: Remind me on"]):
        click(shop, *opened)
        assert show(shop)[:-2] != before
        shop.focused = 0
        assert shop.perform(Command("key", 0, "Escape")) is None
        assert show(shop)[:-2] == before
    assert shop.perform(Command("key", 0, "Escape"))
    shop.close()
