"""Templates of the booking site that compare rooms and houses, over several pages."""

from __future__ import annotations

import numpy as np

from ..sites.booking_content import MONTHS
from ..sites.list_page import name_all
from .booking_reading_tasks import (
    ReadingTemplate,
    count_people,
    describe_rooms,
    describe_stay,
    draw_cheapest,
    draw_stay,
    filter_rooms,
    free_days,
    has_one_best,
    matching_rooms,
    open_month,
    open_room,
    select_rooms,
)
from .template import Database, Goal, Params, Rng, Slots, add_template, pick
from .walk import Walk


@add_template
class FindCheapestRoom(ReadingTemplate):
    """Name the house of the cheapest free room under conditions."""

    name, intent = "find-cheapest-room", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_cheapest(rng, database, params["constraints"])
        return found and {**found, "answer": found["house"], "pages": ("/search",)}

    def ask(self, slots: Slots) -> str:
        rooms = describe_rooms(dict(slots["conditions"]))
        return f"Of the rooms {rooms}, which costs least for the stay? Answer with the name of its house. Do not book."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        filter_rooms(walk, dict(slots["conditions"]))


@add_template
class CompareStays(ReadingTemplate):
    """Name the cheapest of several rooms for a stay, by opening their pages."""

    name, intent = "compare-rooms", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms = select_rooms(database)
        room = pick(rng, rooms)
        arrival, departure = (day.isoformat() for day in draw_stay(rng, room, 2 + params["constraints"]))
        found = matching_rooms(rooms, {"arrival": arrival, "departure": departure, "guests": room["sleeps"]})
        chosen = [found[place] for place in sorted(rng.permutation(len(found))[: params["items"] + 1].tolist())]
        if not has_one_best(chosen):
            return None
        shown = [chosen[place][1] for place in rng.permutation(len(chosen)).tolist()]
        best, pages = chosen[0][1], tuple(f"/room/{one['id']}" for one in shown)
        answer = {"answer": f"{best['name']} at {best['house_name']}", "pages": pages}
        stay = {"arrival": arrival, "departure": departure, "guests": room["sleeps"]}
        return {**answer, **stay, "rooms": tuple((one["name"], one["house_name"]) for one in shown)}

    def ask(self, slots: Slots) -> str:
        rooms = name_all([f'"{room} at {house}"' for room, house in slots["rooms"]])
        guests = count_people(slots["guests"])
        which = f"Which of these rooms costs least from {describe_stay(slots)} for {guests}: {rooms}?"
        return f"{which} Answer with its name and house, as written here."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for room, house in slots["rooms"]:
            open_room(walk, room, house)
            walk.fill("Arrival", slots["arrival"])
            walk.fill("Departure", slots["departure"])
            walk.select("Guests", str(slots["guests"]))
            walk.click("button", "Check dates")


@add_template
class CompareCalendars(ReadingTemplate):
    """Name the room with the most free nights of a month, or free Fridays and Saturdays."""

    name, intent = "compare-calendars", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms, month = select_rooms(database), pick(rng, list(MONTHS)[1:])
        chosen = [rooms[place] for place in rng.permutation(len(rooms))[: params["items"] + 1].tolist()]
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

    def ask(self, slots: Slots) -> str:
        rooms = name_all([f'"{room} at {house}"' for room, house in slots["rooms"]])
        nights = "free nights on Fridays and Saturdays" if slots["weekends"] else "free nights"
        month = MONTHS[slots["month"]]
        which = f"Which of these rooms has the most {nights} in {month}: {rooms}?"
        return f"{which} Answer with its name and house, as written here."

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

    name, intent = "compare-houses", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rooms = list({room["house"]: room for room in select_rooms(database)}.values())
        chosen = [rooms[place] for place in rng.permutation(len(rooms))[: params["items"] + 1].tolist()]
        what, column, largest = pick(rng, _MEASURES)
        values = [room[column] for room in chosen]
        best = max(values) if largest else min(values)
        if values.count(best) > 1:
            return None
        answer = {"answer": chosen[values.index(best)]["house_name"], "what": what}
        pages = tuple(f"/house/{room['house']}" for room in chosen)
        return {**answer, "pages": pages, "rooms": tuple((room["name"], room["house_name"]) for room in chosen)}

    def ask(self, slots: Slots) -> str:
        houses = name_all([house for _, house in slots["rooms"]])
        return f"Which of these houses {slots['what']}: {houses}? Answer with its name."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for room, house in slots["rooms"]:
            open_room(walk, room, house)
            walk.click("link", house)
