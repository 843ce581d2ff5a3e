"""A list page shows the rows that the goals of tasks find, and its solver fills in the form that shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from palaestra.envs.web.browsers.in_process import InProcessBrowser
from palaestra.envs.web.sites.admin_rules import USERS
from palaestra.envs.web.sites.databases import connect, release
from palaestra.envs.web.sites.forum import POSTS, THREADS
from palaestra.envs.web.sites.list_page import ListPage, name_all
from palaestra.envs.web.sites.shop import PRODUCTS
from palaestra.envs.web.sites.shop_goods import CATEGORIES
from palaestra.envs.web.sites.site import SITES, generate
from palaestra.envs.web.sites.tracker import OPEN, TICKETS
from palaestra.envs.web.tasks.walk import Walk

LISTS = (
    ("tracker", TICKETS, {"kind": "Bug", "assignee": ""}, {"state": OPEN, "milestone": ""}, {"state": "Closed"}),
    ("tracker", TICKETS, {"label": "design"}, {"since": "2026-05-10", "project": "Billing"}, {"until": "2026-04-20"}),
    ("admin", USERS, {"team": "Platform", "state": "Active"}, {"role": "Guest"}, {"idle": "2026-06-01"}),
    ("forum", THREADS, {"board": "Baking"}, {"board": "Music", "since": "2026-03-01"}),
    ("forum", POSTS, {"author": "Kim Novak"}, {"author": "Maya Costa", "until": "2026-04-01"}),
    ("shop", PRODUCTS, *({"category": next(iter(CATEGORIES))} | more for more in ({}, {"stars": 3}, {"highest": 60}))),
)
CASES = [(site, page, conditions) for site, page, *many in LISTS for conditions in many]


@pytest.mark.parametrize(("site", "page", "conditions"), CASES)
def test_the_form_that_the_solver_fills_in_shows_the_rows_of_the_goal(
    site: str, page: ListPage, conditions: Mapping[str, Any]
):
    content = generate(site, 48, 5)
    database = connect(content)
    expected = len(page.find(database, conditions))
    release(database)
    assert expected > 0
    browser = InProcessBrowser(SITES[site](content))
    browser.open("/")
    page.filter(Walk(browser), conditions)
    counts = [line.name.split()[0] for line in browser.page.lines if line.name.split()[1:] and line.name[0].isdigit()]
    assert counts[0] == str(expected)


def test_a_date_that_is_none_is_an_error_and_no_condition():
    form = dict.fromkeys(TICKETS.fields, "") | {"since": "2026-02-31", "kind": "Bug"}
    where, values, errors = TICKETS.read(form)
    assert (where, values) == ("1 AND t.kind = ?", ["Bug"])
    assert errors == {"since": "Write a date as YYYY-MM-DD."}


def test_conditions_are_described_as_they_are_named():
    assert TICKETS.describe({"project": "Billing", "state": OPEN}) == "in the project Billing and not closed"
    assert TICKETS.describe({"assignee": ""}) == "assigned to nobody"
    assert USERS.describe({"team": "Design", "role": "Guest", "state": "Active"}) == (
        "users in the team Design with the role Guest and the state Active"
    )
    assert POSTS.describe({"author": "Kim Novak", "since": "2026-01-01", "until": "2026-02-01"}) == (
        "posts written by Kim Novak on or after 2026-01-01 and on or before 2026-02-01"
    )
    assert name_all(["a", "b", "c"]) == "a, b and c"
