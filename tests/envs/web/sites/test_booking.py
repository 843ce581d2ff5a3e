"""The booking site: what it shows, what its forms refuse, and what it is filled with."""

from __future__ import annotations

import itertools
import re
from datetime import date, timedelta
from typing import Any

import pytest
from palaestra.envs.web.browsers.accessibility import Page
from palaestra.envs.web.browsers.observations import describe_tree
from palaestra.envs.web.sites.booking import Booking
from palaestra.envs.web.sites.booking_content import FEATURES, FREE, NIGHTS, TODAY, count_nights, price_of_stay
from palaestra.envs.web.sites.site import generate
from werkzeug.test import Client

GOOD = {"arrival": "2026-06-11", "departure": "2026-06-14", "guests": "2", "name1": "Robin Vega", "name2": "Kim Novak"}
GOOD |= {"email": "kim@example.org", "phone": "+44 20 5550 0177"}


def site(rooms: int = 40, seed: int = 1) -> tuple[Booking, Client]:
    booking = Booking(generate("booking", rooms, seed))
    return booking, Client(booking)


def free_room() -> tuple[Booking, Client]:
    """A site whose room 1 takes two guests, is free every night, and costs 100.00, or 130.00 at the weekend."""
    booking, client = site()
    booking.query("DELETE FROM bookings WHERE room = 1")
    sql = "UPDATE rooms SET sleeps = 2, price = 10000, weekend = 13000, nights = ? WHERE id = 1"
    booking.query(sql, FREE * NIGHTS)
    booking.query("UPDATE houses SET breakfast = 1150, parking = 600, notice = 7 WHERE id = 1")
    return booking, client


def own_booking(arrival: int, **values: Any) -> tuple[Booking, Client, int]:
    """A site with a booking of room 1 for two nights, as many days after today, in a house with a notice of 7 days."""
    booking, client = free_room()
    days = [str(TODAY + timedelta(days=arrival + step)) for step in (0, 2)]
    row = {"names": "Robin Vega\nKim Novak", "extras": "", "status": "Confirmed", "fee": 0} | values
    sql = "INSERT INTO bookings VALUES (77, 1, ?, ?, ?, ?, 'a@b.org', '555 0100', ?, ?)"
    booking.query(sql, *days, *row.values())
    return booking, client, 77


def page(client: Client, path: str) -> Page:
    return Page(client.get(path).text)


def text_of_page(answer: Any) -> str:
    return "\n".join(describe_tree(Page(answer.text), {}))


def number(booking: Booking, sql: str, *values: Any) -> int:
    return booking.one(sql, *values)[0]


def test_every_control_has_a_name_of_its_own():
    _, client, _ = own_booking(30)
    stay = "arrival=2026-06-20&departure=2026-06-23&guests=2"
    own = [f"/bookings/77{part}" for part in ("", "/change", "/party", "/contact", "/message", "/cancel")]
    for path in ("/", f"/search?{stay}", "/house/1", f"/room/1?{stay}", f"/room/1/book?{stay}", "/profile", *own):
        names = [(one.role, one.name) for one in page(client, path).controls if one.element.get("class") != "name"]
        assert all(name for _, name in names)
        assert len({*names}) == len(names), path
    labels = [one.name for one in page(client, "/bookings").controls]
    assert len({*labels}) == len(labels)


def test_search_shows_each_free_room_that_meets_all_conditions_once_and_the_cheapest_first():
    booking, client = site(96)
    arrival, departure = date(2026, 6, 17), date(2026, 6, 21)
    first = (arrival - TODAY).days
    own = booking.query(
        "SELECT room FROM bookings WHERE status = 'Confirmed' AND arrival < ? AND departure > ?",
        "2026-06-21",
        "2026-06-17",
    )
    expected = []
    for room in booking.query("SELECT r.*, h.rating FROM rooms r JOIN houses h ON h.id = r.house"):
        free = room["nights"][first : first + 4] == FREE * 4 and room["id"] not in [row["room"] for row in own]
        if free and room["sleeps"] >= 2 and room["rating"] >= 70 and FEATURES[3] in room["features"]:
            expected.append((2 * room["price"] + 2 * room["weekend"], room["id"]))
    shown = []
    query = f"/search?arrival={arrival}&departure={departure}&guests=2&rating=70&feature={FEATURES[3]}"
    for place in range(1, 9):
        answer = page(client, f"{query}&page={place}")
        links = [one.element.get("href") for one in answer.controls if one.element.get("class") == "name"]
        shown += [int(re.findall(r"\d+", link)[0]) for link in links]
        if not any(one.name == "Next page" for one in answer.controls):
            break
    assert shown == [room for _, room in sorted(expected)]
    assert len(shown) > 8


def test_nights_of_friday_and_saturday_cost_more_and_extras_count_by_guest_and_night():
    # From Thursday to Sunday: one night of the week and two of the weekend.
    arrival, departure = date(2026, 6, 11), date(2026, 6, 14)
    assert count_nights(arrival, departure) == (1, 2)
    room = {"price": 10000, "weekend": 13000, "breakfast": 1150, "parking": 600}
    assert price_of_stay(room, arrival, departure) == 36000
    assert price_of_stay(room, arrival, departure, 2, ["Breakfast", "Parking"]) == 36000 + 3 * (2 * 1150 + 600)
    _, client = free_room()
    assert "Free: 3 nights, <b>360.00</b>" in client.get("/room/1", query_string=GOOD).text
    data = {**GOOD, "extra": ["Breakfast", "Parking"], "step": "conditions"}
    assert "Total: 447.00" in client.post("/room/1/book", data=data).text


def test_the_calendar_shows_prices_of_free_nights_and_whose_the_others_are():
    booking, client, _ = own_booking(40)
    booking.query("UPDATE rooms SET nights = ? WHERE id = 1", FREE * 30 + "x" * 3 + FREE * 56)
    lines = [line.name for line in page(client, "/room/1?month=2026-06").lines]
    # The nights of 3 to 5 June are those 30 to 32 days after 4 May; 13 and 14 June are 40 and 41 days after.
    assert "1 100 | 2 100 | 3 taken | 4 taken | 5 taken | 6 130 | 7 100" in lines
    assert "8 100 | 9 100 | 10 100 | 11 100 | 12 130 | 13 yours | 14 yours" in lines
    assert "1 past | 2 past | 3 past" in [line.name for line in page(client, "/room/1").lines]


def test_a_booking_in_three_steps_takes_its_nights():
    booking, client = free_room()
    before = number(booking, "SELECT count(*) FROM bookings")
    assert 'textbox "Full name of guest 2"' in text_of_page(client.get("/room/1/book", query_string=GOOD))
    conditions = client.post("/room/1/book", data={**GOOD, "extra": "Parking", "step": "conditions"})
    assert conditions.status_code == 200
    assert "until 2026-06-04" in text_of_page(conditions)
    back = text_of_page(client.post("/room/1/book", data={**GOOD, "extra": "Parking", "step": "guests"}))
    assert 'value="Kim Novak"' in back
    assert re.search(r'checkbox "Parking, [^"]*" checked', back)
    assert number(booking, "SELECT count(*) FROM bookings") == before
    data = {**GOOD, "extra": "Parking", "step": "book", "accepted": "yes"}
    assert client.post("/room/1/book", data=data).status_code == 303
    sql = "SELECT room, arrival, departure, names, extras, email, phone, status, fee FROM bookings ORDER BY id DESC"
    row = (1, "2026-06-11", "2026-06-14", "Robin Vega\nKim Novak", "Parking", "kim@example.org", "+44 20 5550 0177")
    assert tuple(booking.one(sql)) == (*row, "Confirmed", 0)
    answer = client.post("/room/1/book", data=data)
    assert answer.status_code == 422
    assert "The room is taken on some of these nights." in answer.text
    # The day of departure is free for others, and so are the nights before.
    for days in (("2026-06-14", "2026-06-15"), ("2026-06-10", "2026-06-11")):
        stay = dict(zip(("arrival", "departure"), days))
        assert client.post("/room/1/book", data={**data, **stay}).status_code == 303


STAY = [
    ({"arrival": ""}, "arrival", "Write a date as YYYY-MM-DD."),
    ({"arrival": "2026-06-31"}, "arrival", "Write a date as YYYY-MM-DD."),
    ({"arrival": "2026-W24-4"}, "arrival", "Write a date as YYYY-MM-DD."),
    ({"arrival": "2026-05-03"}, "arrival", "Choose a day from 2026-05-04 on."),
    ({"departure": "20260614"}, "departure", "Write a date as YYYY-MM-DD."),
    ({"departure": "2026-06-11"}, "departure", "Leave after the day of arrival."),
    ({"departure": "2026-06-26"}, "departure", "Stay for at most 14 nights."),
    ({"arrival": "2026-07-31", "departure": "2026-08-02"}, "departure", "Rooms can be booked until 2026-08-01."),
    ({"guests": "0"}, "guests", "Choose a number of guests."),
    ({"guests": "two"}, "guests", "Choose a number of guests."),
    ({"guests": "3"}, "guests", "The room takes up to 2."),
]
CONTACT = [
    ({"email": ""}, "email", "Enter an e-mail address such as name@example.org."),
    ({"email": "kim@example"}, "email", "Enter an e-mail address such as name@example.org."),
    ({"email": "k m@example.org"}, "email", "Enter an e-mail address such as name@example.org."),
    ({"email": f"{'k' * 60}@example.org"}, "email", "Write at most 60 characters."),
    ({"phone": "12345"}, "phone", "Enter a phone number of 6 to 20 digits and spaces."),
    ({"phone": "call me"}, "phone", "Enter a phone number of 6 to 20 digits and spaces."),
    ({"phone": "5" * 21}, "phone", "Enter a phone number of 6 to 20 digits and spaces."),
]
NAMES = [
    ({"name1": " "}, "name1", "Enter a full name."),
    ({"name1": "x" * 61}, "name1", "Write at most 60 characters."),
    ({"name2": "x" * 5000}, "name2", "Write at most 60 characters."),
]
SECOND = [({"name2": ""}, "name2", "Enter a full name.")]
ACCEPTED = [({"accepted": "no"}, "accepted", "Accept the conditions of the house.")]
ACCOUNT = {"name": "Robin Vega", "email": "kim@example.org", "phone": "555 0100"}
CHANGE = {"room": "1", "arrival": "2026-06-11", "departure": "2026-06-14"}
MESSAGE = {"topic": "Question", "body": "Hello"}
FORMS = [
    *(
        ("/room/1/book", {**GOOD, "step": "book", "accepted": "yes"}, *one)
        for one in (*STAY, *CONTACT, *NAMES, *SECOND)
    ),
    *(("/room/1/book", {**GOOD, "step": "book", "accepted": "yes"}, *one) for one in ACCEPTED),
    *(("/bookings/77/change", CHANGE, *one) for one in STAY[:8]),
    *(("/bookings/77/change", CHANGE, {"room": room}, "room", "Choose a room.") for room in ("", "9", "x")),
    *(("/bookings/77/party", GOOD, *one) for one in NAMES),
    *(("/bookings/77/contact", GOOD, *one) for one in CONTACT),
    *(("/profile", ACCOUNT, *one) for one in CONTACT),
    ("/profile", ACCOUNT, {"name": ""}, "name", "Enter a full name."),
    ("/bookings/77/message", MESSAGE, {"topic": "Other"}, "topic", "Choose a topic."),
    ("/bookings/77/message", MESSAGE, {"body": " \n"}, "body", "Write a text."),
]


def test_every_field_of_every_form_is_checked_and_says_what_is_wrong_beside_it():
    booking, client, _ = own_booking(60)
    start = booking.state()
    for path, good, wrong, field, said in FORMS:
        answer = client.post(path, data={**good, **wrong})
        assert answer.status_code == 422, (path, wrong)
        shown = Page(answer.text)
        faulty = [one for one in shown.controls if one.element.get("aria-invalid") == "true"]
        assert [(one.element.get("name"), shown.description_of(one.element)) for one in faulty] == [(field, said)]
        assert booking.state() is start
    # The same forms without a fault are taken.
    for path, good in {path: good for path, good, *_ in FORMS}.items():
        booking.restore(start)
        assert client.post(path, data=good).status_code == 303, path
        assert booking.state() is not start


def test_search_names_what_is_wrong_and_shows_rooms_all_the_same():
    _, client = site()
    for query, said in (
        ("arrival=2026-06-11", "Write a date as YYYY-MM-DD."),
        ("arrival=2026-06-11&departure=2026-06-10", "Leave after the day of arrival."),
        ("highest=cheap", "Enter a whole number."),
    ):
        answer = client.get(f"/search?{query}")
        assert (answer.status_code, answer.text.count(said)) == (422, 1)
        assert "<p>40 rooms" in answer.text


def test_a_move_may_overlap_the_booking_itself_but_no_other_stay_and_needs_room_for_all_guests():
    booking, client, _ = own_booking(38)
    sql = "INSERT INTO bookings VALUES (78, 1, '2026-06-15', '2026-06-16', 'A', '', '', '', 'Confirmed', 0)"
    booking.query(sql)
    assert "taken" in client.post("/bookings/77/change", data={**CHANGE, "departure": "2026-06-16"}).text
    booking.query("UPDATE bookings SET status = 'Cancelled' WHERE id = 78")
    assert client.post("/bookings/77/change", data={**CHANGE, "departure": "2026-06-16"}).status_code == 303
    booking.query("UPDATE rooms SET sleeps = 1, nights = ? WHERE id = 2", FREE * NIGHTS)
    assert "The room takes up to 1." in client.post("/bookings/77/change", data={**CHANGE, "room": "2"}).text
    booking.query("UPDATE rooms SET sleeps = 2 WHERE id = 2")
    assert client.post("/bookings/77/change", data={**CHANGE, "room": "2"}).status_code == 303
    assert number(booking, "SELECT room FROM bookings WHERE id = 77") == 2


# Of a house with a notice of 7 days: days until arrival, the fee, and whether dates can be changed.
@pytest.mark.parametrize(("days", "fee", "changes"), [(8, 0, True), (7, 0, True), (6, 10000, False), (1, 10000, False)])
def test_cancelling_is_free_until_the_deadline_and_then_costs_the_first_night(days: int, fee: int, changes: bool):
    booking, client, _ = own_booking(days)
    assert client.get("/bookings/77/change").status_code == (200 if changes else 403)
    answer = client.post("/bookings/77/cancel")
    assert answer.status_code == (422 if fee else 303)
    assert ("Accept the fee." in answer.text) is bool(fee)
    client.post("/bookings/77/cancel", data={"accepted": "yes"})
    weekend = (TODAY + timedelta(days=days)).weekday() in (4, 5)
    assert tuple(booking.one("SELECT status, fee FROM bookings WHERE id = 77")) == (
        "Cancelled",
        fee * (1.3 if weekend else 1),
    )


@pytest.mark.parametrize(("days", "status"), [(-5, "Confirmed"), (0, "Confirmed"), (30, "Cancelled")])
def test_bookings_that_are_over_or_cancelled_cannot_be_changed(days: int, status: str):
    booking, client, _ = own_booking(days, status=status)
    before = booking.state()
    for part, data in (
        ("change", CHANGE),
        ("party", GOOD),
        ("contact", GOOD),
        ("message", MESSAGE),
        ("cancel", {"accepted": "yes"}),
    ):
        assert client.post(f"/bookings/77/{part}", data=data).status_code == 403
    assert booking.state() is before
    assert "Change" not in client.get("/bookings/77").text


def test_what_visitors_write_stays_text_and_on_its_line():
    booking, client, _ = own_booking(60)
    hostile = "<script>x</script>\r\nSet-Cookie: a=1"
    client.post("/bookings/77/party", data={"name1": hostile, "name2": '"><b>y'})
    client.post("/bookings/77/message", data={"topic": "Question", "body": f"{hostile}{'z' * 9000}"})
    client.post("/profile", data={**ACCOUNT, "name": "<img src=x>"})
    answer = client.get("/bookings/77")
    assert "<script>" not in answer.text
    assert "<b>y" not in answer.text
    assert "<img" not in client.get("/profile").text
    shown = text_of_page(answer)
    assert '"Guests: <script>x</script> Set-Cookie: a=1, \\"><b>y"' in shown
    assert number(booking, "SELECT length(body) FROM messages") == 2000
    for path in ("/room/1", "/room/1/book", "/search"):
        answer = client.get(
            path, query_string={"arrival": hostile, "departure": '"><b>y', "q": hostile, "month": "<b>y"}
        )
        assert "<script>" not in answer.text
        assert "<b>y" not in answer.text
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("path", ["/room/0", "/room/99999999999999999999", "/house/999", "/bookings/1", "/bookings/x"])
def test_what_does_not_exist_is_not_found(path: str):
    assert site()[1].get(path).status_code == 404


def test_contents_have_names_that_are_unique_and_alike_and_stays_that_fit():
    for rooms, seed in ((12, 0), (60, 1), (180, 2)):
        booking, _ = site(rooms, seed)
        houses = [row["name"] for row in booking.query("SELECT name FROM houses")]
        assert len({*houses}) == len(houses) == -(-rooms // 5)
        # Names that differ from another one in one word.
        words = [{*name.split()} for name in houses]
        alike = sum(any(one is not other and len(one ^ other) <= 2 for other in words) for one in words)
        assert alike > 0.6 * len(houses)
        pairs = booking.query("SELECT DISTINCT house, name FROM rooms")
        assert len(pairs) == number(booking, "SELECT count(*) FROM rooms") == rooms
        assert {len(row["nights"]) for row in booking.query("SELECT nights FROM rooms")} == {NIGHTS}
        own = booking.query(
            "SELECT b.*, r.sleeps, r.nights FROM bookings b JOIN rooms r ON r.id = b.room ORDER BY arrival"
        )
        assert len(own) == 12
        for stay, after in itertools.pairwise(own):
            assert stay["departure"] <= after["arrival"]
            assert len(stay["names"].split("\n")) <= stay["sleeps"]
            first, end = ((date.fromisoformat(stay[name]) - TODAY).days for name in ("arrival", "departure"))
            assert stay["status"] == "Cancelled" or first < 0 or "x" not in stay["nights"][first:end]
        taken = sum(row["nights"].count("x") for row in booking.query("SELECT nights FROM rooms"))
        assert 0.2 < taken / (rooms * NIGHTS) < 0.5
