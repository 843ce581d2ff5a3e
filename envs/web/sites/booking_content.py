"""Contents of `booking`, drawn from a seed: guest houses with rooms, taken nights, and the visitor's bookings.

A room has a price for nights from Sunday to Thursday and a price for Friday and Saturday, in cents. Many names of
houses, and of rooms, differ in one word only. The date is always `TODAY`; rooms can be booked `NIGHTS` nights ahead.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from .databases import insert_rows

TODAY = date(2026, 5, 4)
NIGHTS = 89
LAST_DAY = TODAY + timedelta(days=NIGHTS)
MONTHS = {"2026-05": "May 2026", "2026-06": "June 2026", "2026-07": "July 2026"}
# Characters in the column `rooms.nights`, one for each night from `TODAY` on: free, or taken by other guests.
FREE, TAKEN = ".", "x"
ROOMS_OF_HOUSE = 5
TOWNS = ("Aldmouth", "Brinsea", "Carrow", "Dunwick", "Elmhaven")
PLACES = ("Harbour", "Orchard", "Lighthouse", "Mill", "Chapel", "Dune", "Meadow", "Cliff")
HOUSES = tuple((kind, noun) for kind in ("", "Old ", "Little ") for noun in ("House", "Inn", "Lodge"))
ROOMS = tuple(f"{one} {noun}" for noun in ("Room", "Suite", "Studio") for one in ("Blue", "Garden", "Corner", "Attic"))
SLEEPS = (2, 1, 2, 3, 2, 4, 5, 3)
FEATURES = ("Balcony", "Bathtub", "Kitchen", "Sea view", "Step-free", "Pets welcome")
EXTRAS = ("Breakfast", "Parking")
NOTICES = (2, 5, 7, 14, 21)
VISITOR_NAME, EMAIL, PHONE = "Robin Vega", "robin.vega@example.org", "555 0100"
OLD_EMAILS, OLD_PHONES = ("robin@example.com", "r.vega@example.org"), ("555 0199", "555 0170")
PEOPLE = (
    *("Sam Okafor", "Sam Okoro", "Noor Haddad", "Alex Lindqvist", "Alexa Lindqvist", "Maya Costa", "Jules Martin"),
    *("Kim Novak", "Zoë Brandt", "Ivo Kralj", "Tomás Rey"),
)
TOPICS = ("Arrival time", "Question", "Special request")
# Free nights followed by taken ones.
_RUNS = tuple(FREE * free + TAKEN * taken for free in range(2, 11) for taken in range(1, 7))
# Days of arrival of the visitor's stays, relative to `TODAY`: first the future stays, then the past ones.
_SLOTS = (*range(2, 82, 8), -30, -62)


def count_nights(arrival: date, departure: date) -> tuple[int, int]:
    """Return (number of nights from Sunday to Thursday, number of nights of Friday and Saturday) of a stay."""
    first, number = arrival.weekday(), (departure - arrival).days
    weekend = sum((first + night) % 7 in (4, 5) for night in range(number))
    return number - weekend, weekend


def price_of_stay(room: Any, arrival: date, departure: date, guests: int = 1, extras: Iterable[str] = ()) -> int:
    """Return the price of a stay in cents. ``room`` must have the columns "price", "weekend", "breakfast" and
    "parking"."""
    week, weekend = count_nights(arrival, departure)
    nightly = {"Breakfast": room["breakfast"] * guests, "Parking": room["parking"]}
    return week * room["price"] + weekend * room["weekend"] + (week + weekend) * sum(nightly[one] for one in extras)


def count_guests(booking: Any) -> int:
    return len(booking["names"].split("\n"))


def price_of_booking(booking: Any) -> int:
    """Return the price of a booking in cents, without fees. ``booking`` must have the columns of `price_of_stay`."""
    arrival, departure = (date.fromisoformat(booking[name]) for name in ("arrival", "departure"))
    extras = filter(None, booking["extras"].split(", "))
    return price_of_stay(booking, arrival, departure, count_guests(booking), extras)


def last_free_day(booking: Any) -> date:
    """Return the last day of free cancellation. ``booking`` must have the column "notice", the notice period of the
    house in days."""
    return date.fromisoformat(booking["arrival"]) - timedelta(days=booking["notice"])


def fill_booking(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables of the site: ``size`` rooms, five per house, and twelve bookings of the visitor."""
    number = -(-size // ROOMS_OF_HOUSE)
    first, turn = rng.integers(0, 1 << 20, 2).tolist()
    houses: list[tuple[Any, ...]] = []
    for place, draw in enumerate(rng.integers(0, 1 << 30, (number, 7)).tolist()):
        # Each place names five houses.
        kind, noun = HOUSES[(turn + 2 * (place % 5)) % len(HOUSES)]
        name = f"{kind}{PLACES[(first + place // 5) % len(PLACES)]} {noun}"
        prices = (700 + 50 * (draw[4] % 19), 400 + 50 * (draw[5] % 15))
        about = (TOWNS[draw[0] % len(TOWNS)], 60 + draw[1] % 39, 50 + 10 * (draw[2] % 250))
        houses.append((place + 1, name, *about, NOTICES[draw[3] % len(NOTICES)], *prices))
    rooms: list[list[Any]] = []
    runs = rng.integers(0, len(_RUNS), (size, 16)).tolist()
    for place, draw in enumerate(rng.integers(0, 1 << 30, (size, 5)).tolist()):
        house, step = divmod(place, ROOMS_OF_HOUSE)
        name = ROOMS[(turn + 5 * house + 7 * step) % len(ROOMS)]
        sleeps = SLEEPS[draw[0] % len(SLEEPS)]
        price = 100 * (35 + 16 * sleeps + draw[1] % 50)
        features = ", ".join(one for bit, one in enumerate(FEATURES) if draw[2] >> bit & 1)
        nights = "".join([_RUNS[run] for run in runs[place]])[:NIGHTS]
        weekend = price + 100 * (5 + draw[3] % 30)
        rooms.append([place + 1, house + 1, name, sleeps, price, weekend, features, nights.ljust(NIGHTS, FREE)])
    bookings = _draw_bookings(rooms, number, rng)
    insert_rows(database, "houses", houses)
    insert_rows(database, "rooms", rooms)
    insert_rows(database, "bookings", bookings)
    database.execute("INSERT INTO account VALUES (1, ?, ?, ?)", (VISITOR_NAME, EMAIL, PHONE))


def _draw_bookings(rooms: list[list[Any]], houses: int, rng: np.random.Generator) -> list[tuple[Any, ...]]:
    """Draw the visitor's bookings, of which no two overlap. The nights of confirmed future bookings are marked as free
    of other guests in ``rooms``, in place."""
    order = rng.permutation(houses).tolist()[:6]
    slots, number = rng.permutation(len(_SLOTS)).tolist(), 4000 + int(rng.integers(1, 900))
    cancelled = {slots.index(place) for place in rng.permutation(10).tolist()[:2]}
    bookings = []
    for place, draw in enumerate(rng.integers(0, 1 << 30, (len(_SLOTS), 6)).tolist()):
        own = rooms[order[place % len(order)] * ROOMS_OF_HOUSE :][:ROOMS_OF_HOUSE]
        room = own[draw[0] % len(own)]
        arrival = _SLOTS[slots[place]] + draw[1] % 4
        nights = 1 + draw[2] % 4
        if arrival > 0 and place not in cancelled:
            room[-1] = room[-1][:arrival] + FREE * nights + room[-1][arrival + nights :]
        days = [(TODAY + timedelta(days=day)).isoformat() for day in (arrival, arrival + nights)]
        others = [PEOPLE[(draw[3] + 3 * one) % len(PEOPLE)] for one in range(draw[3] % room[3])]
        extras = ", ".join(one for bit, one in enumerate(EXTRAS) if draw[4] >> bit & 1)
        email = EMAIL if draw[5] % 3 else OLD_EMAILS[place % 2]
        phone = PHONE if draw[5] % 5 % 2 else OLD_PHONES[place % 2]
        number += 1 + draw[0] % 30
        status = "Cancelled" if place in cancelled else "Confirmed"
        names = "\n".join((VISITOR_NAME, *others))
        bookings.append((number, room[0], *days, names, extras, email, phone, status, 0))
    return bookings


def mark_nights(nights: str, stays: Iterable[Mapping[str, Any] | sqlite3.Row], mark: str) -> str:
    """Return ``nights`` with a mark at the nights of the stays, which must have "arrival" and "departure"."""
    for stay in stays:
        first, end = ((date.fromisoformat(stay[name]) - TODAY).days for name in ("arrival", "departure"))
        nights = nights[: max(first, 0)] + mark * (end - max(first, 0)) + nights[max(end, 0) :]
    return nights


def label_of(booking: Mapping[str, Any] | sqlite3.Row) -> str:
    """Return the label of a booking: room, house and day of arrival."""
    return f"{booking['room_name']} at {booking['house_name']}, {booking['arrival']}"
