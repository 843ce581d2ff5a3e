"""Templates of the booking site about the visitor's own bookings: report a deadline, move, lengthen, change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from ..sites.booking import BOOKINGS
from ..sites.booking_content import (
    EXTRAS,
    MONTHS,
    PEOPLE,
    TODAY,
    count_guests,
    label_of,
    last_free_day,
    price_of_booking,
)
from ..sites.list_page import name_all
from .booking_reading_tasks import ReadingTemplate, has_one_best, is_free, matching_rooms, select_rooms
from .booking_room_tasks import set_extras
from .draws import pick, pick_in_order, pick_several
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, add_template
from .walk import Walk


def select_bookings(database: Database) -> list[dict[str, Any]]:
    """Return the visitor's confirmed future bookings, ordered by arrival, with further columns: "total", the price;
    "last", the last day of free cancellation; "is_free", True if this day is today or later."""
    found = []
    for row in database.execute(f"{BOOKINGS} ORDER BY b.arrival"):
        if row["status"] == "Confirmed" and row["arrival"] > TODAY.isoformat():
            last = last_free_day(row)
            more = {"total": price_of_booking(row), "last": last.isoformat(), "is_free": last >= TODAY}
            found.append({**dict(row), **more})
    return found


def open_booking(walk: Walk, label: str) -> None:
    """Open a booking by its label in the list of bookings: room, house and day of arrival."""
    if walk.find("link", label) is None:
        walk.click("link", "My bookings")
    walk.click("link", label)


def describe_booking(label: str) -> str:
    """Return the booking with this label in words, by the house and the day of arrival."""
    room, day = label.rsplit(", ", 1)
    return f"my booking at {room.split(' at ', 1)[1]} with arrival on {day}"


def dearest_of(database: Database, month: str) -> dict[str, Any] | None:
    """Return the most expensive booking of `select_bookings` with arrival in a month ("YYYY-MM"); None if there is a
    tie, or fewer than two bookings in that month."""
    found = [one for one in select_bookings(database) if one["arrival"].startswith(month)]
    found.sort(key=lambda one: -one["total"])
    return found[0] if len(found) > 1 and found[0]["total"] > found[1]["total"] else None


def describe_dearest(month: str) -> str:
    """Return the booking that `dearest_of` finds in words."""
    return f"the most expensive of my upcoming confirmed bookings with arrival in {MONTHS[month]}"


def describe_bookings(labels: list[str]) -> str:
    """Return the bookings with these labels in words."""
    return name_all([describe_booking(label) for label in labels])


@add_template
class ReportDeadline(ReadingTemplate):
    """Report the last day of free cancellation of a booking, as shown on the page of the booking."""

    name, intent = "report-deadline", "report"
    question = "Until when can I cancel {which} free of charge? Answer with the date as YYYY-MM-DD."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        bookings = [one for one in select_bookings(database) if one["is_free"]]
        if not bookings:
            return None
        booking, month = pick(rng, bookings), ""
        if params["constraints"] > 1:
            month = booking["arrival"][:7]
            booking = dearest_of(database, month)
            if booking is None or not booking["is_free"]:
                return None
        answer = {"answer": booking["last"], "pages": (f"/bookings/{booking['id']}",)}
        return {**answer, "label": label_of(booking), "month": month}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"which": describe_dearest(slots["month"]) if slots["month"] else describe_booking(slots["label"])}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_booking(walk, slots["label"])


class MovingTemplate(ChangeTemplate):
    """Base of templates that give bookings other dates. Slot: ``moves``, tuples (id, label, new day of arrival, new day
    of departure)."""

    site, intent, table, objects, pages = "booking", "change", "bookings", "moves", ("/bookings/{0}",)

    def draw_moves(
        self, rng: Rng, database: Database, number: int, shifts: tuple[tuple[int, int], ...]
    ) -> tuple[tuple[Any, ...], ...] | None:
        """Draw ``number`` moves of bookings in different rooms, so that any order works; None if too few rooms are
        free. ``shifts`` are the possible moves, as days by which (arrival, departure) move."""
        moves: list[tuple[Any, ...]] = []
        bookings = [one for one in select_bookings(database) if one["is_free"]]
        for booking in pick_several(rng, bookings, len(bookings)):
            before, after = pick(rng, shifts)
            room = next(one for one in select_rooms(database, booking["id"]) if one["id"] == booking["room"])
            arrival = date.fromisoformat(booking["arrival"]) + timedelta(days=before)
            departure = date.fromisoformat(booking["departure"]) + timedelta(days=after)
            rooms = {label.split(", ")[0] for _, label, _, _ in moves}
            if is_free(room, arrival, departure) and label_of(booking).split(", ")[0] not in rooms:
                moves.append((booking["id"], label_of(booking), str(arrival), str(departure)))
            if len(moves) == number:
                return tuple(moves)
        return None

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {booking: {"arrival": arrival, "departure": end} for booking, _, arrival, end in slots["moves"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label, arrival, departure in slots["moves"]:
            open_booking(walk, label)
            walk.click("link", "Change dates or room")
            walk.fill("Arrival", arrival)
            walk.fill("Departure", departure)
            walk.click("button", "Save changes")


@add_template
class MoveBookings(MovingTemplate):
    """Move bookings to given dates, or by a number of days."""

    name = "move-bookings"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        shift = int(rng.integers(1, 4)) * pick(rng, (1, -1))
        days = (shift,) if params["constraints"] > 1 else (-3, -2, -1, 1, 2, 3)
        moves = self.draw_moves(rng, database, params["items"], tuple((one, one) for one in days))
        return {"moves": moves, "shift": shift if len(days) == 1 else 0} if moves else None

    def ask(self, slots: Slots) -> str:
        moves, shift = slots["moves"], slots["shift"]
        if shift:
            days = f"{abs(shift)} day{'s' if abs(shift) > 1 else ''} {'later' if shift > 0 else 'earlier'}"
            what = describe_bookings([move[1] for move in moves])
            return f"Move {what} to begin {days}, in the same room and for as many nights as now."
        parts = [f"{describe_booking(label)} to {arrival} until {end}" for _, label, arrival, end in moves]
        return f"Move, in the same room: {name_all(parts)}."


# Request -> the days by which arrival and departure move.
_LENGTHS = {
    "to end one night later": (0, 1),
    "to begin one night earlier": (-1, 0),
    "to begin one night earlier and end one night later": (-1, 1),
}


@add_template
class LengthenStays(MovingTemplate):
    """Lengthen bookings by a night or two."""

    name = "lengthen-stays"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        how = pick(rng, list(_LENGTHS)[: params["constraints"]])
        moves = self.draw_moves(rng, database, params["items"], (_LENGTHS[how],))
        return {"moves": moves, "how": how} if moves else None

    def ask(self, slots: Slots) -> str:
        return f"Lengthen {describe_bookings([move[1] for move in slots['moves']])} {slots['how']}, in the same room."


@add_template
class ChangeRoom(ChangeTemplate):
    """Move a booking to the cheapest other room of the same house that is free and large enough."""

    site, name, intent, table, pages = "booking", "change-room", "change", "bookings", ("/bookings/{booking}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        bookings, rooms = [one for one in select_bookings(database) if one["is_free"]], select_rooms(database)
        for booking in pick_several(rng, bookings, len(bookings)):
            others = [room for room in rooms if room["house"] == booking["house"] and room["id"] != booking["room"]]
            stay = {"arrival": booking["arrival"], "departure": booking["departure"], "guests": count_guests(booking)}
            features = [one for room in others for one in filter(None, room["features"].split(", "))]
            feature = pick(rng, features) if features and params["constraints"] > 1 else ""
            found = matching_rooms(others, {**stay, "feature": feature})
            if has_one_best(found):
                room = found[0][1]
                about = {"booking": booking["id"], "label": label_of(booking), "feature": feature}
                return {**about, "id": room["id"], "room": room["name"], "house": room["house"]}
        return None

    def ask(self, slots: Slots) -> str:
        feature = f" and have the feature {slots['feature']}" if slots["feature"] else ""
        return (
            f"Move {describe_booking(slots['label'])} to another room of the house, on the same days: of those that "
            f"are free then, take as many guests as the booking has{feature}, to the one that costs least then."
        )

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {slots["booking"]: {"room": slots["id"]}}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_booking(walk, slots["label"])
        walk.click("link", "Change dates or room")
        walk.select("Room", slots["room"])
        walk.click("button", "Save changes")


@add_template
class AddGuest(ChangeTemplate):
    """Add a guest to each of some bookings, or replace one; with more conditions, change the extras (breakfast,
    parking) as well."""

    site, name, intent, table, objects = "booking", "add-guest", "change", "bookings", "parties"
    pages = ("/bookings/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = []
        for place, booking in enumerate(pick_in_order(rng, select_bookings(database), 99)):
            names = booking["names"].split("\n")
            new = pick(rng, [one for one in PEOPLE if one not in names])
            if len(names) > 1 and place % 2:
                chosen.append((booking["id"], label_of(booking), names[-1], (*names[:-1], new)))
            elif len(names) < booking["sleeps"]:
                chosen.append((booking["id"], label_of(booking), "", (*names, new)))
        if len(chosen) < params["items"]:
            return None
        chosen = pick_in_order(rng, chosen, params["items"])
        wished = ("", "Breakfast", "Parking", ", ".join(EXTRAS))
        extras = pick(rng, wished) if params["constraints"] > 1 else None
        return {"parties": tuple(chosen), "extras": extras}

    def ask(self, slots: Slots) -> str:
        parts = []
        for _, label, gone, names in slots["parties"]:
            deed = f"put {names[-1]} in place of {gone}" if gone else f"add {names[-1]} as the last guest"
            parts.append(f"{deed} in {describe_booking(label)}")
        extras = ""
        if slots["extras"] is not None:
            these = slots["extras"].lower().replace(", ", " and ")
            extras = f" There, order as extras just {these}." if these else " There, leave out all extras."
        text = name_all(parts)
        return f"{text[0].upper()}{text[1:]}.{extras}"

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        extras = {} if slots["extras"] is None else {"extras": slots["extras"]}
        return {booking: {"names": "\n".join(names), **extras} for booking, _, _, names in slots["parties"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label, _, names in slots["parties"]:
            open_booking(walk, label)
            walk.click("link", "Change guests and extras")
            walk.fill(f"Full name of guest {len(names)}", names[-1])
            if slots["extras"] is not None:
                set_extras(walk, tuple(slots["extras"].split(", ")))
            walk.click("button", "Save changes")
