"""Templates of the booking site that make new bookings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.booking import ROOMS
from ..sites.booking_content import EMAIL, EXTRAS, PEOPLE, PHONE, VISITOR_NAME
from ..sites.list_page import name_all
from .booking_reading_tasks import (
    draw_cheapest,
    draw_first_day,
    draw_stay,
    is_free,
    open_month,
    open_room,
    select_rooms,
)
from .draws import pick, pick_several
from .list_page_templates import ListPageTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

_CONTACTS = (("office@example.net", "555 0143"), ("kim.novak@example.org", "+44 20 5550 0177"))
_WISHES: Mapping[tuple[str, ...], str] = {
    (): "without extras",
    ("Breakfast",): "with breakfast",
    ("Parking",): "with parking",
    EXTRAS: "with breakfast and parking",
}


def draw_names(rng: Rng, number: int, first: str = VISITOR_NAME) -> tuple[str, ...]:
    """Draw the full names of ``number`` guests, of whom the first is ``first``."""
    others = [name for name in pick_several(rng, PEOPLE, len(PEOPLE)) if name != first]
    return (first, *others[: number - 1])


def draw_extras(rng: Rng, constraints: int) -> tuple[str, ...]:
    """Draw extras (breakfast, parking); none if there is a single condition."""
    return pick(rng, list(_WISHES)) if constraints > 1 else ()


def name_guests(names: tuple[str, ...]) -> str:
    """Return the guests of a booking in words."""
    return f"{name_all(list(names))}{' (in this order)' if len(names) > 1 else ''}"


class RoomTemplate(WebTemplate):
    """Base of templates that book rooms. Slots: ``stays``, tuples (room id, room name, house, day of arrival, day of
    departure, guests' names); ``extras``; ``contact``, (e-mail address, phone number)."""

    site, intent = "booking", "book"

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple(
            (room, arrival, departure, "\n".join(names), ", ".join(slots["extras"]), *slots["contact"], "Confirmed", 0)
            for room, _, _, arrival, departure, names in slots["stays"]
        )
        ids = dict.fromkeys(stay[0] for stay in slots["stays"])
        pages = tuple(path for room in ids for path in (f"/room/{room}", f"/room/{room}/book"))
        return Goal(added={"bookings": rows}, milestone_pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, room, house, *stay in slots["stays"]:
            open_room(walk, room, house)
            self.book(walk, slots, *stay)

    def book(self, walk: Walk, slots: Slots, arrival: str, departure: str, names: tuple[str, ...]) -> None:
        """Book the room of the present page."""
        walk.fill("Arrival", arrival)
        walk.fill("Departure", departure)
        walk.select("Guests", str(len(names)))
        walk.click("button", "Book this stay")
        for place, name in enumerate(names, 1):
            walk.fill(f"Full name of guest {place}", name)
        walk.fill("E-mail", slots["contact"][0])
        walk.fill("Phone", slots["contact"][1])
        set_extras(walk, slots["extras"])
        walk.click("button", "Continue")
        walk.tick("checkbox", "I accept the conditions of the house")
        walk.confirm("Book with obligation to pay")


def set_extras(walk: Walk, extras: tuple[str, ...]) -> None:
    """Tick these extras and no others on the present page."""
    for control in walk.browser.page.controls:
        if control.role == "checkbox":
            walk.tick("checkbox", control.name, control.name.split(",")[0] in extras)


@add_template
class BookRoom(RoomTemplate):
    """Book a named room; with three conditions, with contact data that differ from those of the profile."""

    name = "book-room"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        room = pick(rng, select_rooms(database))
        days = (day.isoformat() for day in draw_stay(rng, room, 2 + params["constraints"]))
        names = draw_names(rng, 1 + int(rng.integers(min(room["sleeps"], params["items"] + 1))))
        contact = pick(rng, _CONTACTS) if params["constraints"] > 2 else (EMAIL, PHONE)
        stay = (room["id"], room["name"], room["house_name"], *days, names)
        return {"stays": (stay,), "extras": draw_extras(rng, params["constraints"]), "contact": contact}

    def ask(self, slots: Slots) -> str:
        ((_, room, house, arrival, departure, names),) = slots["stays"]
        email, phone = slots["contact"]
        contact = "" if email == EMAIL else f", with the e-mail address {email} and the phone number {phone}"
        what = f"the {room} at {house} from {arrival} to {departure}"
        return f"Book {what} for {name_guests(names)}, {_WISHES[slots['extras']]}{contact}."


@add_template
class BookCheapestRoom(RoomTemplate, ListPageTemplate):
    """Book the cheapest free room that meets conditions."""

    name, list_page = "book-cheapest", ROOMS
    question = "Of the rooms {what}, book the one that costs least for the stay: for {people}, {wishes}."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_cheapest(rng, database, params["constraints"])
        if found is None:
            return None
        conditions = dict(found["conditions"])
        names = draw_names(rng, conditions["guests"])
        stay = (found["id"], found["room"], found["house"], conditions["arrival"], conditions["departure"], names)
        extras = draw_extras(rng, params["constraints"])
        return {"conditions": found["conditions"], "stays": (stay,), "extras": extras, "contact": (EMAIL, PHONE)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        people = name_guests(slots["stays"][0][-1])
        return {**super().words(slots), "people": people, "wishes": _WISHES[slots["extras"]]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        ((_, room, house, *stay),) = slots["stays"]
        ROOMS.filter(walk, self.conditions_of(slots))
        walk.click("link", f"{room} at {house}")
        self.book(walk, slots, *stay)


@add_template
class BookFirstFree(RoomTemplate):
    """Book a room for several nights from the first day from which it is free for so long."""

    name = "book-first-free"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_first_day(rng, database, params["constraints"])
        if found is None:
            return None
        names = (pick(rng, PEOPLE),)
        stay = (found["id"], found["room"], found["house"], found["first"], found["end"], names)
        about = {name: found[name] for name in ("since", "number", "friday")}
        return {**about, "stays": (stay,), "extras": (), "contact": (EMAIL, PHONE)}

    def ask(self, slots: Slots) -> str:
        ((_, room, house, _, _, names),) = slots["stays"]
        day = "Friday" if slots["friday"] else "day"
        return (
            f"Book the {room} at {house} for {name_guests(names)} alone, without extras: {slots['number']} nights in a "
            f"row, from the first {day}, {slots['since']} or later, from which it is free for so long."
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        ((_, room, house, *stay),) = slots["stays"]
        open_room(walk, room, house)
        open_month(walk, stay[0][:7])
        self.book(walk, slots, *stay)


@add_template
class BookSeveralRooms(RoomTemplate):
    """Book several rooms for a party that splits up, for the same days."""

    name = "book-several-rooms"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms, wanted = select_rooms(database), max(2, params["items"])
        arrival, departure = draw_stay(rng, pick(rng, rooms), 2 + params["constraints"])
        free = [room for room in rooms if is_free(room, arrival, departure)]
        chosen = pick_several(rng, free, wanted)
        if len(chosen) < wanted:
            return None
        # Each guest is in one room only.
        people, stays = iter(draw_names(rng, 2 * wanted)), []
        for room in chosen:
            names = tuple(next(people) for _ in range(min(room["sleeps"], 2)))
            stays.append((room["id"], room["name"], room["house_name"], str(arrival), str(departure), names))
        return {"stays": tuple(stays), "extras": draw_extras(rng, params["constraints"]), "contact": (EMAIL, PHONE)}

    def ask(self, slots: Slots) -> str:
        rooms = [f"the {room} at {house} for {name_all(list(names))}" for _, room, house, _, _, names in slots["stays"]]
        _, _, _, arrival, departure, _ = slots["stays"][0]
        how = f"as separate bookings, each {_WISHES[slots['extras']]}, with the guests in this order"
        return f"Book from {arrival} to {departure}, {how}: {'; '.join(rooms)}."


@add_template
class BookTour(RoomTemplate):
    """Book consecutive stays in different rooms."""

    name = "book-tour"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms, names = select_rooms(database), draw_names(rng, 1 + int(rng.integers(2)))
        rooms = [room for room in rooms if room["sleeps"] >= len(names)]
        arrival, departure = draw_stay(rng, pick(rng, rooms), 2)
        stays: list[tuple[Any, ...]] = []
        while len(stays) < max(2, params["items"]):
            free = [room for room in rooms if is_free(room, arrival, departure)]
            free = [room for room in free if not stays or room["id"] != stays[-1][0]]
            if not free:
                return None
            room = pick(rng, free)
            stays.append((room["id"], room["name"], room["house_name"], str(arrival), str(departure), names))
            arrival, departure = departure, departure + (departure - arrival)
        return {"stays": tuple(stays), "extras": draw_extras(rng, params["constraints"]), "contact": (EMAIL, PHONE)}

    def ask(self, slots: Slots) -> str:
        parts = [f"until {departure} in the {room} at {house}" for _, room, house, _, departure, _ in slots["stays"]]
        first, names = slots["stays"][0][3], name_guests(slots["stays"][0][-1])
        extras = f"each stay {_WISHES[slots['extras']]}"
        return f"Book a tour for {names} from {first} on, {extras}: {', then '.join(parts)}."
