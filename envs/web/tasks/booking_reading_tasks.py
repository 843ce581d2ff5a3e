"""Templates of the booking site that ask a question: prices, calendars, free rooms, comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

import numpy as np

from ..sites.booking import ROOMS
from ..sites.booking_content import (
    EXTRAS,
    LAST_DAY,
    MONTHS,
    NIGHTS,
    TAKEN,
    TODAY,
    mark_nights,
    price_of_stay,
)
from ..sites.list_page import name_all
from ..sites.site import count_noun
from .draws import pick, pick_in_order, pick_several
from .list_page_templates import ListPageTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

Room = dict[str, Any]
"""A room and its house, as columns; in "nights", nights that the visitor has booked count as taken."""


def select_rooms(database: Database, besides: int = 0) -> list[Room]:
    """Return all rooms, ordered by id. The nights of the booking with the id ``besides`` count as free."""
    rooms: dict[int, Room] = {row["id"]: dict(row) for row in ROOMS.select(database)}
    for stay in database.execute("SELECT * FROM bookings WHERE status = 'Confirmed' AND id <> ?", (besides,)):
        room = rooms[stay["room"]]
        room["nights"] = mark_nights(room["nights"], [stay], TAKEN)
    return list(rooms.values())


def is_free(room: Room, arrival: date, departure: date) -> bool:
    """Return True if both days are in the future, within the calendar, and the room is free between them."""
    ahead = TODAY < arrival < departure <= LAST_DAY
    return ahead and TAKEN not in room["nights"][(arrival - TODAY).days : (departure - TODAY).days]


def free_days(room: Room, number: int, since: date = TODAY + timedelta(days=1)) -> list[date]:
    """Return the days from ``since`` on from which the room is free for ``number`` nights."""
    first, nights = (since - TODAY).days, room["nights"]
    places = (place for place in range(first, NIGHTS - number + 1) if TAKEN not in nights[place : place + number])
    return [TODAY + timedelta(days=place) for place in places]


def draw_stay(rng: Rng, room: Room, longest: int) -> tuple[date, date]:
    """Draw (arrival, departure) of a stay of at most ``longest`` nights for which the room is free."""
    number = int(rng.integers(1, longest + 1))
    while not (days := free_days(room, number)):
        number -= 1
    arrival = pick(rng, days)
    return arrival, arrival + timedelta(days=number)


def draw_conditions(rng: Rng, rooms: list[Room], names: tuple[str, ...], number: int) -> dict[str, Any] | None:
    """Draw conditions that some room meets: a stay, a number of guests, and ``number`` of the conditions ``names``.
    Return None if the room drawn for this has fewer than two features or a rating below 70."""
    room = pick(rng, rooms)
    features = room["features"].split(", ")
    if len(features) < 2 or room["rating"] < 70:
        return None
    arrival, departure = draw_stay(rng, room, 5)
    first, second = pick_several(rng, features, 2)
    highest = -(-price_of_stay(room, arrival, departure) // 1000) * 10 + 10 * int(rng.integers(0, 12))
    values = {"town": room["town"], "feature": first, "other": second, "rating": room["rating"] // 10 * 10}
    values["highest"] = highest
    guests = int(rng.integers(1, room["sleeps"] + 1))
    chosen = pick_in_order(rng, names, number)
    stay = {"arrival": arrival.isoformat(), "departure": departure.isoformat(), "guests": guests}
    return {**stay, **{name: values[name] for name in chosen}}


def matching_rooms(rooms: list[Room], conditions: Mapping[str, Any]) -> list[tuple[int, Room]]:
    """Return (price of the stay in cents, room) of all rooms that meet conditions, the cheapest first."""
    arrival, departure = (date.fromisoformat(conditions[name]) for name in ("arrival", "departure"))
    found = [
        (price_of_stay(room, arrival, departure), room)
        for room in rooms
        if is_free(room, arrival, departure)
        and room["sleeps"] >= conditions["guests"]
        and conditions.get("town", room["town"]) == room["town"]
        and conditions.get("feature", "") in room["features"]
        and conditions.get("other", "") in room["features"]
        and room["rating"] >= conditions.get("rating", 0)
    ]
    limit = 100 * conditions.get("highest", 1_000_000)
    return sorted(((total, room) for total, room in found if total <= limit), key=lambda one: (one[0], one[1]["id"]))


def has_one_best(found: list[tuple[int, Room]]) -> bool:
    """Return True if there are several rooms, and the first one is cheaper than all others."""
    return len(found) > 1 and found[0][0] < found[1][0]


def draw_cheapest(rng: Rng, database: Database, constraints: int) -> dict[str, Any] | None:
    """Draw conditions, and return slots with the conditions and the cheapest room that meets them; None if several
    draws find none."""
    rooms, names = select_rooms(database), ("town", "feature", "other", "rating")
    for _ in range(12):
        conditions = draw_conditions(rng, rooms, names, constraints)
        found = matching_rooms(rooms, conditions) if conditions else []
        if conditions and has_one_best(found):
            best = found[0][1]
            about = {"id": best["id"], "room": best["name"], "house": best["house_name"]}
            return {**about, "conditions": tuple(conditions.items())}
    return None


def open_room(walk: Walk, room: str, house: str) -> None:
    """Search for a room by its name and the name of the house, and open the page of the room."""
    ROOMS.open_row(walk, f"{room} {house}", f"{room} at {house}")


def check_stay(walk: Walk, slots: Slots) -> None:
    """Enter a stay on the page of a room, and let the page compute its price."""
    walk.fill("Arrival", slots["arrival"])
    walk.fill("Departure", slots["departure"])
    walk.select("Guests", str(slots["guests"]))
    walk.click("button", "Check dates")


def open_month(walk: Walk, month: str) -> None:
    """Turn the calendar of a room from the present month to ``month`` ("YYYY-MM")."""
    for name in list(MONTHS)[1 : list(MONTHS).index(month) + 1]:
        walk.click("link", MONTHS[name])


class ReadingTemplate(WebTemplate):
    """Base of templates whose slots include the correct ``answer`` and the ``pages``."""

    site, answer = "booking", "answer"

    def paths(self, slots: Slots) -> tuple[str, ...]:
        return slots["pages"]


class FreeRoomsTemplate(ReadingTemplate, ListPageTemplate):
    """Base of reading templates about free rooms that meet conditions."""

    list_page = ROOMS


@add_template
class ReportStayPrice(ReadingTemplate):
    """Report the price of a stay in a room; with more conditions, with extras (breakfast, parking)."""

    name, intent, kind = "report-price", "report", "number"
    question = (
        "What does a stay in the {room} at {house} from {arrival} to {departure} cost in total for {people}, "
        "{with_extras}? Answer with the amount. Do not book."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        room = pick(rng, select_rooms(database))
        arrival, departure = draw_stay(rng, room, 3 + params["constraints"])
        guests, extras = int(rng.integers(1, room["sleeps"] + 1)), EXTRAS[: params["constraints"] - 1]
        total = price_of_stay(room, arrival, departure, guests, extras)
        stay = {"arrival": arrival.isoformat(), "departure": departure.isoformat(), "guests": guests, "extras": extras}
        answer = {"answer": f"{total // 100}.{total % 100:02d}", "pages": (f"/room/{room['id']}",)}
        return {**stay, **answer, "room": room["name"], "house": room["house_name"]}

    def words(self, slots: Slots) -> Mapping[str, str]:
        extras = ("without extras", "with breakfast for all", "with breakfast for all and parking")
        return {"people": count_noun(slots["guests"], "guest"), "with_extras": extras[len(slots["extras"])]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_room(walk, slots["room"], slots["house"])
        check_stay(walk, slots)


def draw_first_day(rng: Rng, database: Database, constraints: int) -> dict[str, Any] | None:
    """Draw a room, a number of nights and a day. Return slots with the first possible arrival after that day, which
    must be a Friday with more than two conditions; None if there is none, or if it is that day itself."""
    room, number = pick(rng, select_rooms(database)), 1 + constraints + int(rng.integers(0, 2))
    since = TODAY + timedelta(days=int(rng.integers(2, 60)))
    days = [day for day in free_days(room, number, since) if constraints < 3 or day.weekday() == 4]
    if not days or days[0] == since:
        return None
    about = {"id": room["id"], "room": room["name"], "house": room["house_name"], "number": number}
    first, end = days[0].isoformat(), (days[0] + timedelta(days=number)).isoformat()
    return {**about, "since": since.isoformat(), "first": first, "end": end, "friday": constraints > 2}


@add_template
class ReportFirstFree(ReadingTemplate):
    """Report the first day from which a room is free for several nights."""

    name, intent = "report-first-free", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = draw_first_day(rng, database, params["constraints"])
        return slots and {**slots, "answer": slots["first"], "pages": (f"/room/{slots['id']}",)}

    def ask(self, slots: Slots) -> str:
        nights = "one night" if slots["number"] == 1 else f"{slots['number']} nights in a row"
        day = "Friday" if slots["friday"] else "day"
        return (
            f"What is the first {day}, {slots['since']} or later, from which the {slots['room']} at {slots['house']} "
            f"is free for {nights}? Answer with the date as YYYY-MM-DD."
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_room(walk, slots["room"], slots["house"])
        open_month(walk, slots["first"][:7])


@add_template
class CountFreeRooms(FreeRoomsTemplate):
    """Count the free rooms that meet conditions."""

    name, intent, kind = "count-free-rooms", "report", "number"
    question = "How many rooms are {what}? Answer with the number."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms, names = select_rooms(database), ("town", "feature", "rating", "highest")
        conditions = draw_conditions(rng, rooms, names, params["constraints"])
        if conditions is None:
            return None
        answer = {"answer": str(len(matching_rooms(rooms, conditions))), "pages": ("/search",)}
        return {**answer, "conditions": tuple(conditions.items())}


@add_template
class FindCheapestRoom(FreeRoomsTemplate):
    """Name the house of the cheapest free room that meets conditions."""

    name, intent = "find-cheapest-room", "compare"
    question = "Of the rooms {what}, which costs least for the stay? Answer with the name of its house. Do not book."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_cheapest(rng, database, params["constraints"])
        return found and {**found, "answer": found["house"], "pages": ("/search",)}


class CompareRoomsTemplate(ReadingTemplate):
    """Base of templates that compare rooms. Slot: ``rooms``, pairs (name of the room, name of the house)."""

    intent = "compare"

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"names": name_all([f'"{room} at {house}"' for room, house in slots["rooms"]])}


@add_template
class CompareStays(CompareRoomsTemplate):
    """Name the cheapest of several rooms for a stay, by opening their pages."""

    name = "compare-rooms"
    question = (
        "Which of these rooms costs least from {arrival} to {departure} for {people}: {names}? Answer with its name "
        "and house, as written here."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms = select_rooms(database)
        room = pick(rng, rooms)
        arrival, departure = (day.isoformat() for day in draw_stay(rng, room, 2 + params["constraints"]))
        stay = {"arrival": arrival, "departure": departure, "guests": room["sleeps"]}
        found = matching_rooms(rooms, stay)
        chosen = pick_in_order(rng, found, params["items"] + 1)
        if not has_one_best(chosen):
            return None
        shown = [room for _, room in pick_several(rng, chosen, len(chosen))]
        best, pages = chosen[0][1], tuple(f"/room/{one['id']}" for one in shown)
        answer = {"answer": f"{best['name']} at {best['house_name']}", "pages": pages}
        return {**answer, **stay, "rooms": tuple((one["name"], one["house_name"]) for one in shown)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "people": count_noun(slots["guests"], "guest")}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for room, house in slots["rooms"]:
            open_room(walk, room, house)
            check_stay(walk, slots)


@add_template
class CompareCalendars(CompareRoomsTemplate):
    """Name the room, of several, with the most free nights in a month, or the most free Fridays and Saturdays."""

    name = "compare-calendars"
    question = (
        "Which of these rooms has the most {nights} in {in_month}: {names}? Answer with its name and house, as written "
        "here."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms, month = select_rooms(database), pick(rng, list(MONTHS)[1:])
        chosen = pick_several(rng, rooms, params["items"] + 1)
        weekends = params["constraints"] > 1
        counts = []
        for room in chosen:
            days = [day for day in free_days(room, 1) if day.isoformat().startswith(month)]
            counts.append(sum(not weekends or day.weekday() in (4, 5) for day in days))
        if counts.count(max(counts)) > 1:
            return None
        best, pages = chosen[int(np.argmax(counts))], tuple(f"/room/{one['id']}" for one in chosen)
        answer = {"answer": f"{best['name']} at {best['house_name']}", "pages": pages}
        names = tuple((one["name"], one["house_name"]) for one in chosen)
        return {**answer, "rooms": names, "month": month, "weekends": weekends}

    def words(self, slots: Slots) -> Mapping[str, str]:
        nights = "free nights on Fridays and Saturdays" if slots["weekends"] else "free nights"
        return {**super().words(slots), "nights": nights, "in_month": MONTHS[slots["month"]]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for room, house in slots["rooms"]:
            open_room(walk, room, house)
            open_month(walk, slots["month"])


# Measures of a house: (words of the question, column, True if the largest value is best).
_MEASURES = (
    ("is nearest to the sea", "sea", False),
    ("is rated best", "rating", True),
    ("has the cheapest breakfast", "breakfast", False),
    ("has the cheapest parking", "parking", False),
)


@add_template
class CompareHouses(ReadingTemplate):
    """Name the best of several houses by a value on the page of each house."""

    name, intent, question = (
        "compare-houses",
        "compare",
        "Which of these houses {what}: {houses}? Answer with its name.",
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms = list({room["house"]: room for room in select_rooms(database)}.values())
        chosen = pick_several(rng, rooms, params["items"] + 1)
        what, column, largest = pick(rng, _MEASURES)
        values = [room[column] for room in chosen]
        best = max(values) if largest else min(values)
        if values.count(best) > 1:
            return None
        answer = {"answer": chosen[values.index(best)]["house_name"], "what": what}
        pages = tuple(f"/house/{room['house']}" for room in chosen)
        return {**answer, "pages": pages, "rooms": tuple((room["name"], room["house_name"]) for room in chosen)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"houses": name_all([house for _, house in slots["rooms"]])}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for room, house in slots["rooms"]:
            open_room(walk, room, house)
            walk.click("link", house)
