"""Site "booking": guest houses and rooms, a calendar of free nights, search, booking in steps, the visitor's bookings.

One guest is signed in. A room is booked in three steps: the stay, the guests, the conditions. Hidden fields carry the
data of earlier steps, and each step checks all earlier entries again. A booking can be moved as long as cancelling it
is free of charge; after that, until the day before arrival, cancelling costs the price of the first night.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

import numpy as np
from werkzeug.exceptions import Forbidden

from .booking_content import (
    EXTRAS,
    FEATURES,
    MONTHS,
    TODAY,
    TOPICS,
    TOWNS,
    count_guests,
    count_nights,
    fill_booking,
    label_of,
    last_free_day,
    mark_nights,
    price_of_booking,
    price_of_stay,
)
from .booking_forms import (
    OWN,
    check_contact,
    check_guests,
    read_date,
    read_extras,
    read_line,
    read_stay,
    render_month,
    values_of_stay,
    write_stay,
)
from .details import HasDetails
from .exchange import Response, WebRequest
from .list_page import Filter, ListPage, name_all
from .site import SITES, count_noun, read_form, read_number, route

MOST_GUESTS = 5
NUMBERS_OF_GUESTS = tuple((number, str(number)) for number in range(1, MOST_GUESTS + 1))
RATINGS = {tenths: f"{tenths // 10}.0 or more" for tenths in (70, 80, 90)}


def _describe_rooms(parts: Mapping[str, str]) -> str:
    """Join conditions in words, as in "free from 2026-06-01 to 2026-06-03 for 2 guests, in Carrow"."""
    stay = f"free from {parts['arrival']} to {parts['departure']} for {parts['guests']}"
    features = [parts[name] for name in ("feature", "other") if name in parts]
    with_all = f"with the feature{'s' if len(features) > 1 else ''} {name_all(features)}" if features else ""
    words = (stay, parts.get("town"), with_all, parts.get("rating"), parts.get("highest"))
    return ", ".join(filter(None, words))


ROOMS = ListPage(
    path="/search",
    links=("All rooms",),
    search_box="Search houses and rooms",
    table="rooms r JOIN houses h ON h.id = r.house",
    columns="r.*, h.name AS house_name, h.town, h.rating, h.sea, h.notice, h.breakfast, h.parking",
    key="r.id",
    search="r.name || ' ' || h.name || ' ' || h.town",
    filters={
        "town": Filter("h.town = ?", "Town", "in {}".format),
        "arrival": Filter(label="Arrival", control="text"),
        "departure": Filter(label="Departure", control="text"),
        "guests": Filter(
            "r.sleeps >= ?",
            "Guests",
            lambda number: count_noun(number, "guest"),
            read=lambda text: read_number(text, 1, MOST_GUESTS, 0) or None,
        ),
        "feature": Filter(control="box", label="Features"),
        "other": Filter(control="box", label="Features"),
        "rating": Filter(
            "h.rating >= ?",
            "Rating",
            lambda tenths: f"in houses rated {RATINGS[tenths]}",
            read=lambda text: read_number(text, 1, 100, 0) or None,
            option=RATINGS.__getitem__,
        ),
        "highest": Filter(label="Highest price", words="for at most {} in total without extras".format, control="text"),
    },
    sorts={
        "price": ("Price, lowest first", "total, r.id"),
        "rating": ("Rating, best first", "h.rating DESC, r.id"),
        "house": ("House", "h.name, r.name"),
    },
    per_page=8,
    join=_describe_rooms,
)
BOOKINGS = """
    SELECT b.*, r.house, r.name AS room_name, r.sleeps, r.price, r.weekend, h.name AS house_name, h.town, h.notice,
    h.breakfast, h.parking FROM bookings b JOIN rooms r ON r.id = b.room JOIN houses h ON h.id = r.house
"""
# SQL condition that a room is free. Values: place of the first night from 1, number of nights, that many `FREE` marks,
# id of a booking to ignore, departure and arrival.
_IS_FREE = """
    substr(r.nights, ?, ?) = ? AND NOT EXISTS (SELECT 1 FROM bookings o WHERE o.room = r.id AND o.id <> ?
    AND o.status = 'Confirmed' AND o.arrival < ? AND o.departure > ?)
"""


class Booking(HasDetails):
    """Web application of the booking site; see the module."""

    name = "booking"
    schema = """
        CREATE TABLE houses (
            id INTEGER PRIMARY KEY, name TEXT, town TEXT, rating INTEGER, sea INTEGER, notice INTEGER,
            breakfast INTEGER, parking INTEGER
        );
        CREATE TABLE rooms (
            id INTEGER PRIMARY KEY, house INTEGER, name TEXT, sleeps INTEGER, price INTEGER, weekend INTEGER,
            features TEXT, nights TEXT
        );
        CREATE INDEX rooms_of ON rooms (house);
        CREATE TABLE bookings (
            id INTEGER PRIMARY KEY, room INTEGER, arrival TEXT, departure TEXT, names TEXT, extras TEXT, email TEXT,
            phone TEXT, status TEXT, fee INTEGER
        );
        CREATE INDEX bookings_of ON bookings (room);
        CREATE TABLE messages (id INTEGER PRIMARY KEY, booking INTEGER, topic TEXT, body TEXT);
        CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT, email TEXT, phone TEXT);
    """
    judged = {  # noqa: RUF012
        "bookings": "SELECT room, arrival, departure, names, extras, email, phone, status, fee FROM bookings",
        "messages": "SELECT booking, topic, body FROM messages",
        "account": "SELECT name, email, phone FROM account",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_booking(database, size, rng)

    def surroundings(self) -> dict[str, Any]:
        return {"today": TODAY.isoformat(), "visitor": self.one("SELECT * FROM account")}

    # Looking for rooms.

    @route("/")
    def home(self, request: WebRequest) -> Response:
        best = self.query("SELECT * FROM houses ORDER BY rating DESC, id LIMIT 3")
        return self.page(request, "home.html", houses=best, towns=TOWNS)

    @route("/search")
    def search(self, request: WebRequest) -> Response:
        wanted = {name: read_line(request, name) for name in ROOMS.fields}
        features = [one for one in FEATURES if one in request.args.getlist("feature")]
        conditions, values = ["1", *["instr(r.features, ?)" for _ in features]], [*features]
        errors: dict[str, str] = {}
        stay, week, weekend = None, 1, 0
        if wanted["arrival"] or wanted["departure"]:
            stay, errors = read_stay(wanted["arrival"], wanted["departure"])
            if stay:
                week, weekend = count_nights(*stay)
                conditions.append(_IS_FREE)
                values += values_of_stay(stay)
        total = f"r.price * {week} + r.weekend * {weekend}"
        highest = read_number(wanted["highest"], 1, 100_000, 0)
        if highest:
            conditions.append(f"{total} <= {100 * highest}")
        elif wanted["highest"]:
            errors["highest"] = "Enter a whole number."
        list_page = replace(ROOMS, always=" AND ".join(conditions), page_columns=f"{total} AS total")
        shown = list_page.show(self, wanted, request.args, *values)
        shown["same"] = urlencode([pair for pair in request.args.items(multi=True) if pair[0] != "page" and pair[1]])
        lists = {
            "towns": TOWNS,
            "every_feature": FEATURES,
            "ratings": tuple(RATINGS.items()),
            "sizes": NUMBERS_OF_GUESTS,
        }
        context = {"features": features, "stay": stay, "dates": f"?{write_stay(wanted)}" if stay else ""}
        return self.page(request, "search.html", **lists, **context, **shown | {"errors": errors})

    @route("/house/<int:house>")
    def house(self, request: WebRequest, house: int) -> Response:
        found = self.one("SELECT * FROM houses WHERE id = ?", house)
        rooms = self.query(f"{ROOMS.sql} WHERE r.house = ? ORDER BY r.name", house)
        return self.page(request, "house.html", house=found, rooms=rooms)

    @route("/room/<int:room>")
    def room(self, request: WebRequest, room: int) -> Response:
        found = self.one(f"{ROOMS.sql} WHERE r.id = ?", room)
        form = {name: read_line(request, name) for name in ("arrival", "departure", "guests")}
        if not any(form.values()):
            return self._show_room(request, found, form, {})
        return self._show_room(request, found, form, self._check_stay(found, form))

    def _show_room(
        self, request: WebRequest, room: sqlite3.Row, form: dict[str, str], errors: dict[str, str]
    ) -> Response:
        """Render the page of a room with its calendar, and with the price of the entered stay if it is possible."""
        arrival = read_date(form["arrival"])
        month = read_line(request, "month") or (arrival or TODAY).isoformat()[:7]
        if month not in MONTHS:
            month = TODAY.isoformat()[:7]
        own = self.query("SELECT * FROM bookings WHERE room = ? AND status = 'Confirmed'", room["id"])
        weeks = render_month(month, mark_nights(room["nights"], own, OWN), room["price"] // 100, room["weekend"] // 100)
        months = ["", *MONTHS, ""]
        around = [months[months.index(month) + step] for step in (-1, 1)]
        price, nights = 0, 0
        stay = write_stay(form)
        if arrival and form["departure"] and not errors:
            departure = date.fromisoformat(form["departure"])
            price, nights = price_of_stay(room, arrival, departure), (departure - arrival).days
        context = {"form": {**form, "guests": form["guests"] or "1"}, "errors": errors, "stay": stay}
        shown = {"weeks": weeks, "month": MONTHS[month], "around": around, "months": MONTHS, "sizes": NUMBERS_OF_GUESTS}
        return self.page(request, "room.html", room=room, price=price, nights=nights, **context, **shown)

    def _check_stay(self, room: sqlite3.Row, form: Mapping[str, str], booking: int = 0) -> dict[str, str]:
        """Check a stay in a room; nights of the booking with id ``booking`` count as free. Return field -> error."""
        stay, errors = read_stay(form["arrival"], form["departure"])
        guests = read_number(form["guests"], 1, 99, 0)
        if not guests:
            errors["guests"] = "Choose a number of guests."
        elif guests > room["sleeps"]:
            errors["guests"] = f"The room takes up to {room['sleeps']}."
        if stay:
            values = values_of_stay(stay, booking)
            if not self.query(f"SELECT 1 FROM rooms r WHERE r.id = ? AND {_IS_FREE}", room["id"], *values):
                errors["arrival"] = "The room is taken on some of these nights."
        return errors

    # Booking: the page of the room asks for the stay; the next steps are the guests and the conditions.

    @route("/room/<int:room>/book", "GET", "POST")
    def book(self, request: WebRequest, room: int) -> Response:
        found = self.one(f"{ROOMS.sql} WHERE r.id = ?", room)
        form = {name: read_line(request, name) for name in ("arrival", "departure", "guests")}
        errors = self._check_stay(found, form)
        if errors:
            return self._show_room(request, found, form, errors)
        number = int(form["guests"])
        fields = [f"name{place}" for place in range(1, number + 1)]
        arrival, departure = (date.fromisoformat(form[name]) for name in ("arrival", "departure"))
        shown: dict[str, Any] = {"room": found, "number": number, "stay": write_stay(form), "extras": EXTRAS}
        shown["nights"] = (departure - arrival).days
        if request.method == "GET":
            visitor = self.one("SELECT * FROM account")
            form |= dict.fromkeys(fields, "") | {"name1": visitor["name"]}
            form |= {"email": visitor["email"], "phone": visitor["phone"], "chosen": ""}
            return self.page(request, "guests.html", form=form, errors={}, **shown)
        form |= {name: read_line(request, name) for name in (*fields, "email", "phone", "accepted")}
        chosen = read_extras(request)
        form["chosen"] = ", ".join(chosen)
        errors = check_guests(form, fields) | check_contact(form)
        if errors or request.form.get("step") == "guests":
            return self.page(request, "guests.html", form=form, errors=errors, **shown)
        if request.form.get("step") == "book":
            if form["accepted"] == "yes":
                (booking,) = self.one("SELECT coalesce(max(id), 4000) + 1 FROM bookings")
                stay = (booking, room, form["arrival"], form["departure"], "\n".join(form[name] for name in fields))
                sql = "INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'Confirmed', 0)"
                self.query(sql, *stay, form["chosen"], form["email"], form["phone"])
                return self.redirect("/bookings", "Your room is booked.")
            errors["accepted"] = "Accept the conditions of the house."
        shown["total"] = price_of_stay(found, arrival, departure, number, chosen)
        shown["last"] = last_free_day({"arrival": form["arrival"], "notice": found["notice"]})
        return self.page(request, "conditions.html", form=form, errors=errors, fields=fields, **shown)

    # Own bookings.

    @route("/bookings")
    def bookings(self, request: WebRequest) -> Response:
        every = self.query(f"{BOOKINGS} ORDER BY b.arrival, b.id")
        return self.page(
            request, "bookings.html", bookings=[(one["id"], label_of(one), _describe(one)) for one in every]
        )

    @route("/bookings/<int:booking>")
    def booking(self, request: WebRequest, booking: int) -> Response:
        found = self.one(f"{BOOKINGS} WHERE b.id = ?", booking)
        messages = self.query("SELECT * FROM messages WHERE booking = ? ORDER BY id", booking)
        context = {"last": last_free_day(found), "is_ahead": _is_ahead(found), "is_free": _is_free_to_cancel(found)}
        return self.page(
            request, "booking.html", booking=found, total=price_of_booking(found), messages=messages, **context
        )

    def _need_booking(self, booking: int) -> sqlite3.Row:
        """Return a booking that must be confirmed and in the future.

        Raises:
            NotFound: there is no such booking.
            Forbidden: the booking is cancelled, or has begun.
        """
        found = self.one(f"{BOOKINGS} WHERE b.id = ?", booking)
        if not _is_ahead(found):
            raise Forbidden
        return found

    @route("/bookings/<int:booking>/change", "GET", "POST")
    def change(self, request: WebRequest, booking: int) -> Response:
        found = self._need_booking(booking)
        if not _is_free_to_cancel(found):
            raise Forbidden
        rooms = self.query(f"{ROOMS.sql} WHERE r.house = ? ORDER BY r.name", found["house"])
        context = {"booking": found, "rooms": tuple((row["id"], row["name"]) for row in rooms)}
        if request.method == "GET":
            form = {name: found[name] for name in ("room", "arrival", "departure")}
            return self.page(request, "change.html", form=form, errors={}, **context)
        form = {name: read_line(request, name) for name in ("room", "arrival", "departure")}
        room = next((row for row in rooms if str(row["id"]) == form["room"]), None)
        if room is None:
            errors = {"room": "Choose a room."} | read_stay(form["arrival"], form["departure"])[1]
        else:
            guests = {"guests": str(count_guests(found))}
            errors = self._check_stay(room, form | guests, booking)
            if "guests" in errors:
                errors["room"] = errors.pop("guests")
        if errors or room is None:
            return self.page(request, "change.html", form=form, errors=errors, **context)
        sql = "UPDATE bookings SET room = ?, arrival = ?, departure = ? WHERE id = ?"
        self.query(sql, room["id"], form["arrival"], form["departure"], booking)
        return self.redirect("/bookings", "Your booking is changed.")

    @route("/bookings/<int:booking>/party", "GET", "POST")
    def party(self, request: WebRequest, booking: int) -> Response:
        found = self._need_booking(booking)
        fields = [f"name{place}" for place in range(1, found["sleeps"] + 1)]
        context = {"booking": found, "number": found["sleeps"], "extras": EXTRAS}
        if request.method == "GET":
            names = found["names"].split("\n")
            form = dict.fromkeys(fields, "") | dict(zip(fields, names)) | {"chosen": found["extras"]}
            return self.page(request, "party.html", form=form, errors={}, **context)
        form = {name: read_line(request, name) for name in fields}
        form["chosen"] = ", ".join(read_extras(request))
        errors = check_guests(form, fields, fields[:1])
        if errors:
            return self.page(request, "party.html", form=form, errors=errors, **context)
        names = "\n".join(form[name] for name in fields if form[name])
        self.query("UPDATE bookings SET names = ?, extras = ? WHERE id = ?", names, form["chosen"], booking)
        return self.redirect("/bookings", "Your booking is changed.")

    @route("/bookings/<int:booking>/contact", "GET", "POST")
    def contact(self, request: WebRequest, booking: int) -> Response:
        found = self._need_booking(booking)
        if request.method == "GET":
            return self.page(request, "contact.html", booking=found, form=dict(found), errors={})
        form = {name: read_line(request, name) for name in ("email", "phone")}
        if errors := check_contact(form):
            return self.page(request, "contact.html", booking=found, form=form, errors=errors)
        self.query("UPDATE bookings SET email = ?, phone = ? WHERE id = ?", *form.values(), booking)
        return self.redirect("/bookings", "Your contact data are changed.")

    @route("/bookings/<int:booking>/message", "GET", "POST")
    def message(self, request: WebRequest, booking: int) -> Response:
        found, form, errors = self._need_booking(booking), read_form(request, "topic", "body"), {}
        if request.method == "POST":
            if form["topic"] not in TOPICS:
                errors["topic"] = "Choose a topic."
            if not form["body"]:
                errors["body"] = "Write a text."
            if not errors:
                sql = "INSERT INTO messages (booking, topic, body) VALUES (?, ?, ?)"
                self.query(sql, booking, *form.values())
                return self.redirect("/bookings", "Your message is sent.")
        return self.page(request, "message.html", booking=found, form=form, errors=errors, topics=TOPICS)

    @route("/bookings/<int:booking>/cancel", "GET", "POST")
    def cancel(self, request: WebRequest, booking: int) -> Response:
        found, errors = self._need_booking(booking), {}
        arrival = date.fromisoformat(found["arrival"])
        fee = 0 if _is_free_to_cancel(found) else price_of_stay(found, arrival, arrival + timedelta(days=1))
        if request.method == "POST":
            if not fee or request.form.get("accepted") == "yes":
                self.query("UPDATE bookings SET status = 'Cancelled', fee = ? WHERE id = ?", fee, booking)
                return self.redirect("/bookings", "Your booking is cancelled.")
            errors["accepted"] = "Accept the fee."
        return self.page(request, "cancel.html", booking=found, fee=fee, errors=errors)

    @route("/profile", "GET", "POST")
    def profile(self, request: WebRequest) -> Response:
        if request.method == "GET":
            return self.page(request, "profile.html", form=dict(self.one("SELECT * FROM account")), errors={})
        form = {name: read_line(request, name) for name in ("name", "email", "phone")}
        errors = check_guests(form, ["name"]) | check_contact(form)
        if errors:
            return self.page(request, "profile.html", form=form, errors=errors)
        self.query("UPDATE account SET name = ?, email = ?, phone = ?", *form.values())
        return self.redirect("/profile", "Your profile is saved.")


def _describe(booking: sqlite3.Row) -> str:
    """Return the text of a booking in the list of bookings."""
    guests, price = count_noun(count_guests(booking), "guest"), price_of_booking(booking)
    state = booking["status"] + (", over" if booking["arrival"] <= TODAY.isoformat() else "")
    about = f"until {booking['departure']}, {booking['town']}, {guests}"
    return f"{about}, {price // 100}.{price % 100:02d}, {state}"


def _is_ahead(booking: sqlite3.Row) -> bool:
    """Return True if a booking is confirmed and has not begun."""
    return booking["status"] == "Confirmed" and booking["arrival"] > TODAY.isoformat()


def _is_free_to_cancel(booking: sqlite3.Row) -> bool:
    return last_free_day(booking) >= TODAY


SITES.add(Booking.name, Booking)
