"""Parsing and checks of what visitors of `booking` enter (dates, names, contact data), and the calendar of a month."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from .booking_content import EXTRAS, FREE, LAST_DAY, NIGHTS, TODAY
from .exchange import WebRequest

MOST_NIGHTS, LONGEST_LINE = 14, 60
# Mark in the calendar for nights that the visitor has booked.
OWN = "o"
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
_PHONE = re.compile(r"\+?[0-9][0-9 ]{4,18}[0-9]")
Stay = tuple[date, date]
"""(arrival, departure)."""


def read_line(request: WebRequest, name: str) -> str:
    """Return a field of the form or the query as one line of at most 200 characters."""
    return " ".join(request.values.get(name, "")[:1000].split())[:200]


def read_extras(request: WebRequest) -> list[str]:
    """Return the ticked extras, in the order of `EXTRAS`."""
    ticked = request.form.getlist("extra")
    return [one for one in EXTRAS if one in ticked]


def read_date(text: str) -> date | None:
    """Return the date in a text of the form YYYY-MM-DD; None for any other text."""
    try:
        return date.fromisoformat(text) if len(text) == 10 and text[4] == text[7] == "-" else None
    except ValueError:
        return None


def read_stay(arrival: str, departure: str) -> tuple[Stay | None, dict[str, str]]:
    """Parse the dates of a stay. Return (stay or None, field -> error message)."""
    errors: dict[str, str] = {}
    first, end = read_date(arrival), read_date(departure)
    for name, day in (("arrival", first), ("departure", end)):
        if day is None:
            errors[name] = "Write a date as YYYY-MM-DD."
    if first is not None and first < TODAY:
        errors["arrival"] = f"Choose a day from {TODAY} on."
    if end is not None and end > LAST_DAY:
        errors["departure"] = f"Rooms can be booked until {LAST_DAY}."
    if first is None or end is None or errors:
        return None, errors
    if end <= first:
        return None, {"departure": "Leave after the day of arrival."}
    if (end - first).days > MOST_NIGHTS:
        return None, {"departure": f"Stay for at most {MOST_NIGHTS} nights."}
    return (first, end), {}


def write_stay(form: Mapping[str, str]) -> str:
    """Return the stay in a form as the query of an address."""
    return urlencode([(name, form[name]) for name in ("arrival", "departure", "guests") if form[name]])


def values_of_stay(stay: Stay, booking: int = 0) -> tuple[Any, ...]:
    """Return the values of the SQL condition `booking._IS_FREE`; the nights of the booking with the id ``booking``
    count as free."""
    arrival, departure = stay
    number = (departure - arrival).days
    nights = ((arrival - TODAY).days + 1, number, FREE * number)
    return (*nights, booking, departure.isoformat(), arrival.isoformat())


def check_guests(form: Mapping[str, str], fields: list[str], needed: Iterable[str] | None = None) -> dict[str, str]:
    """Check the names of guests in ``fields``, of which ``needed`` are mandatory (None: all). Return field -> error
    message."""
    errors = {name: "Enter a full name." for name in (fields if needed is None else needed) if not form[name]}
    return errors | {name: _TOO_LONG for name in fields if len(form[name]) > LONGEST_LINE}


def check_contact(form: Mapping[str, str]) -> dict[str, str]:
    """Check the e-mail address and the phone number in a form. Return field -> error message."""
    errors = {}
    if len(form["email"]) > LONGEST_LINE:
        errors["email"] = _TOO_LONG
    elif not _EMAIL.fullmatch(form["email"]):
        errors["email"] = "Enter an e-mail address such as name@example.org."
    if not _PHONE.fullmatch(form["phone"]):
        errors["phone"] = "Enter a phone number of 6 to 20 digits and spaces."
    return errors


_TOO_LONG = f"Write at most {LONGEST_LINE} characters."


@functools.cache
def _days_of_month(month: str) -> tuple[tuple[date | None, ...], ...]:
    """Return the days of a month ("YYYY-MM") by weeks from Monday, with None for days of other months."""
    first = date.fromisoformat(f"{month}-01")
    days = [first + timedelta(days=step) for step in range(31)]
    cells = [*[None] * first.weekday(), *(day for day in days if day.month == first.month)]
    cells += [None] * (-len(cells) % 7)
    return tuple(tuple(cells[place : place + 7]) for place in range(0, len(cells), 7))


def render_month(month: str, nights: str, week: int, weekend: int) -> Markup:
    """Return the HTML rows of the calendar of a month ("YYYY-MM"), with the price of each free night.

    ``nights`` has a mark for each night from `TODAY` on: `FREE`, `OWN` or another one for taken. The prices ``week``
    (Sunday to Thursday) and ``weekend`` are in whole units.
    """
    rows = []
    for days in _days_of_month(month):
        rows.append("<tr>")
        for day in days:
            place = -1 if day is None else (day - TODAY).days
            if day is None or not 0 <= place < NIGHTS:
                rows.append("<td></td>" if day is None else f'<td class="past"><b>{day.day}</b> past</td>')
                continue
            price = weekend if day.weekday() in (4, 5) else week
            state, says = {FREE: ("free", price), OWN: ("own", "yours")}.get(nights[place], ("taken", "taken"))
            rows.append(f'<td class="{state}"><b>{day.day}</b> {says}</td>')
        rows.append("</tr>")
    return Markup("".join(rows))
