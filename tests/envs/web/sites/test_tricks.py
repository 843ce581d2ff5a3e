"""Tricks of a portal: each kind on the shop, by requests alone."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.envs.web.sites.site import generate
from palaestra.envs.web.sites.tricks import KINDS, TrickPortal, add_trick
from werkzeug.test import Client

DETAILS = {"name": "A", "street": "B", "city": "C", "postcode": "12345", "phone": "1"}


@pytest.fixture
def portal():
    portal = TrickPortal((("shop", generate("shop", 12, 2)), ("tricks", generate("tricks", 0, 0))))
    yield portal
    portal.close()


def names_in(portal: Any) -> list[str]:
    return [name for (name,) in portal.sites["shop"].database.execute("SELECT name FROM account")]


def tricks_of(portal: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in portal.sites["tricks"].database.execute("SELECT kind, ticked FROM tricks")]


def play(portal: Any, kind: str, text: str = "", need: str = "") -> Client:
    assert kind in KINDS
    add_trick(portal.sites["tricks"].database, kind, "/shop/account", text, need)
    return Client(portal)


def test_the_tricks_have_no_pages_and_no_link(portal: Any):
    client = Client(portal)
    assert "tricks" not in client.get("/").text
    assert client.get("/tricks/").status_code == 404


def test_a_box_is_ticked_in_the_form_of_its_address_and_what_was_sent_last_is_recorded(portal: Any):
    client = play(portal, "box", "Tell <me> more")
    box = '<input type="checkbox" name="box1" value="yes" checked> Tell &lt;me&gt; more'
    assert client.get("/shop/account").text.count(box) == 1
    assert box not in client.get("/shop/").text
    client.post("/shop/account", data={**DETAILS, "city": "", "box1": "yes"})
    assert tricks_of(portal) == [("box", 0)]
    client.post("/shop/account", data={**DETAILS, "box1": "yes"})
    assert (tricks_of(portal), names_in(portal)) == ([("box", 1)], ["A"])
    client.post("/shop/account", data=DETAILS)
    assert tricks_of(portal) == [("box", 0)]


def test_a_refused_form_is_not_carried_out_and_can_be_sent_again(portal: Any):
    client = play(portal, "refusal")
    page = client.post("/shop/account", data=DETAILS).text
    assert names_in(portal) == ["Robin Vega"]
    assert '<form method="post" action="/shop/account"' in page
    assert '<input type="hidden" name="postcode" value="12345">' in page
    client.post("/shop/account", data=DETAILS)
    assert names_in(portal) == ["A"]


def test_after_a_silence_the_form_is_carried_out(portal: Any):
    client = play(portal, "silence")
    assert "Something went wrong" in client.post("/shop/account", data=DETAILS).text
    assert (names_in(portal), tricks_of(portal)) == (["A"], [])


def test_a_question_stands_before_the_deed_and_its_first_button_stops_it(portal: Any):
    page = play(portal, "question", "Keep it?").post("/shop/account", data=DETAILS).text
    assert page.index("No, leave everything as it is") < page.index("Yes, go on")
    assert "Keep it?" in page
    assert names_in(portal) == ["Robin Vega"]


def test_somebody_else_changes_a_row_after_the_form_was_shown_and_the_form_is_refused_once(portal: Any):
    client = play(portal, "change", "UPDATE account SET name = 'Z'")
    play(portal, "conflict")
    assert 'value="Robin Vega"' in client.get("/shop/account").text
    assert names_in(portal) == ["Z"]
    assert "Changed by somebody else" in client.post("/shop/account", data=DETAILS).text
    assert names_in(portal) == ["Z"]
    client.post("/shop/account", data=DETAILS)
    assert names_in(portal) == ["A"]


def test_a_form_without_the_field_that_a_trick_needs_is_left_alone(portal: Any):
    client = play(portal, "refusal", need="city=D")
    client.post("/shop/account", data=DETAILS)
    assert names_in(portal) == ["A"]
    assert "Something went wrong" in client.post("/shop/account", data={**DETAILS, "city": "D"}).text


def test_a_preset_radio_button_is_the_only_one_chosen(portal: Any):
    add_trick(portal.sites["tricks"].database, "preset", "/shop/checkout", "shipping=Express")
    portal.sites["shop"].database.execute("INSERT INTO cart (variant, quantity) VALUES (1, 1)")
    page = Client(portal).get("/shop/checkout").text
    assert 'value="Express" checked' in page
    assert page.count(" checked") == 1


def test_a_snapshot_has_the_tricks_that_are_left(portal: Any):
    client = play(portal, "refusal")
    before = portal.state()
    client.post("/shop/account", data=DETAILS)
    portal.restore(before)
    assert "Something went wrong" in client.post("/shop/account", data=DETAILS).text
