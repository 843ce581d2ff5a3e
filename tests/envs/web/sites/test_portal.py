"""The portal: several sites in one browser, each under its own path, none knowing of the others."""

from __future__ import annotations

import re

import pytest
from palaestra.envs.web.sites.portal import TITLES, Portal
from palaestra.envs.web.sites.site import generate
from werkzeug.test import Client


@pytest.fixture
def portal():
    portal = Portal((("forum", generate("forum", 12, 1)), ("shop", generate("shop", 12, 2))))
    yield portal
    portal.close()


def test_the_start_page_leads_to_every_site_and_each_site_back(portal):
    client = Client(portal)
    start = client.get("/").text
    for name in portal.sites:
        assert f'<a href="/{name}/">Go to the {TITLES[name]}</a>' in start
        page = client.get(f"/{name}/").text
        assert '<a href="/">Start</a>' in page
    assert "tracker" not in start


@pytest.mark.parametrize("name", ["forum", "shop"])
def test_no_address_on_a_page_leaves_the_site_except_by_the_bar(portal, name):
    client = Client(portal)
    seen, ahead = set(), [f"/{name}/"]
    while ahead and len(seen) < 30:
        path = ahead.pop(0)
        seen.add(path)
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = re.sub(r'<nav class="sites".*?</nav>', "", answer.text, flags=re.DOTALL)
        addresses = re.findall(r' (?:href|action|formaction)="(/[^"]*)"', page)
        assert addresses
        assert all(one.startswith((f"/{name}/", "/static/")) for one in addresses), (path, addresses)
        links = re.findall(r'<a [^>]*?href="(/[^"?#]*)', page)
        ahead += [one for one in dict.fromkeys(links) if one not in seen and one not in ahead]
    assert len(seen) > 5


def test_a_path_without_a_slash_is_led_on_and_one_of_no_site_is_not_found(portal):
    client = Client(portal)
    assert client.get("/shop").headers["Location"] == "/shop/"
    for path in ("/booking/", "/nowhere", "/shopping/"):
        assert client.get(path).status_code == 404


def test_state_changes_with_any_site_and_restores_all_of_them(portal):
    client, before = Client(portal), portal.state()
    assert portal.state() is before
    portal.sites["shop"].database.execute("DELETE FROM products")
    portal.sites["shop"].database.commit()
    after = portal.state()
    assert [(name, part is old) for (name, part), (_, old) in zip(after, before, strict=True)] == [
        ("forum", True),
        ("shop", False),
    ]
    portal.restore(before)
    assert portal.state() is before
    assert portal.sites["shop"].one("SELECT count(*) FROM products")[0] > 0
    portal.restore((before[1],))
    assert [*portal.sites] == ["shop"]
    assert client.get("/forum/").status_code == 404
