"""Templates of the booking site that compare rooms and houses, over several pages."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..sites.booking_content import MONTHS
from ..sites.list_page import name_all
from ..sites.site import count_noun
from .booking_reading_tasks import (
    FreeRoomsTemplate,
    ReadingTemplate,
    check_stay,
    draw_cheapest,
    draw_stay,
    free_days,
    has_one_best,
    matching_rooms,
    open_month,
    open_room,
    select_rooms,
)
from .template import Database, Goal, Params, Rng, Slots, add_template, draw_several, pick, pick_several
from .walk import Walk


@add_template
class FindCheapestRoom(FreeRoomsTemplate):
    """Name the house of the cheapest free room under conditions."""

    name, intent = "find-cheapest-room", "compare"
    question = "Of the rooms {what}, which costs least for the stay? Answer with the name of its house. Do not book."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_cheapest(rng, database, params["constraints"])
        return found and {**found, "answer": found["house"], "pages": ("/search",)}


class CompareRoomsTemplate(ReadingTemplate):
    """Base of templates that compare the slot ``rooms``: pairs of a room and its house."""

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
        chosen = draw_several(rng, found, params["items"] + 1)
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
    """Name the room with the most free nights of a month, or free Fridays and Saturdays."""

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


# Measures of a house: the question, a column, and True if the largest value is best.
_MEASURES = (
    ("is nearest to the sea", "sea", False),
    ("is rated best", "rating", True),
    ("has the cheapest breakfast", "breakfast", False),
    ("has the cheapest parking", "parking", False),
)


@add_template
class CompareHouses(ReadingTemplate):
    """Name the best of several houses by the values on their pages."""

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
