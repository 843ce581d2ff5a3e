"""Pages of details, tables and boards: what they store, and what they refuse."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from palaestra.envs.web.browsers.forms import FormRequest
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.sites.details_content import DETAILS
from palaestra.envs.web.sites.site import SITES, generate


def visit(name: str = "tracker") -> tuple[InProcessBrowser, Any]:
    site = SITES[name](generate(name, 24, 3))
    return InProcessBrowser(site), site


def post(browser: InProcessBrowser, path: str, **form: str) -> str:
    browser.send(FormRequest("POST", browser.origin + path, urlencode(form)), None, None, None)
    return browser.page.title


def test_plans_are_stored_changed_and_deleted():
    browser, site = visit()
    for form, stored in (
        ({"day": "2026-06-01", "note": "a"}, {"Look again on": "2026-06-01", "Handover": "a"}),
        ({"day": "2026-06-02", "place": "Lamp room"}, {"Look again on": "2026-06-02", "Test site": "Lamp room"}),
        ({"day": "tomorrow", "place": "Elsewhere", "note": "x" * 3_000}, None),
        ({"action": "Nothing such"}, {}),
    ):
        post(browser, "/details/2", **form)
        if stored is None:
            stored = {"Look again on": "2026-06-02", "Test site": "Lamp room", "Handover": "x" * 2_000}
        assert site.plans_of(2) == stored
    assert site.plans_of(1) == {}


def test_a_board_keeps_only_its_lanes():
    browser, site = visit()
    post(browser, "/lanes", **{"lane-1": "This week", "lane-2": "Never", "lane-999": "This week"})
    assert site.query("SELECT * FROM plans")[0][:] == (1, "Lane", "This week")
    assert len(site.query("SELECT * FROM plans")) == 1
    post(browser, "/lanes", **{"lane-1": "Unplanned"})
    assert not site.query("SELECT * FROM plans")
    assert "Not Found" in post(visit("shop")[0], "/lanes")


@pytest.mark.parametrize("name", DETAILS)
def test_what_is_made_up_differs_between_objects_but_not_between_visits(name: str):
    pages = DETAILS[name]
    browser, site = visit(name)
    titles = [row["title"] for row in site.query(pages.sql)]
    assert len({pages.code_of(title) for title in titles}) == len(set(titles))
    for label in pages.hidden:
        assert len({pages.detail_of(title, label) for title in titles}) > 2
    assert [day for day, _ in pages.history_of(titles[0])] == sorted(day for day, _ in pages.history_of(titles[0]))
    browser.load("/details/1")
    assert pages.code_of(titles[0]) in browser.page.html
