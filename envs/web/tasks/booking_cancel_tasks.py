"""Templates of the booking site that cancel bookings, some of them at a fee."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from ..sites.booking_content import MONTHS, label_of, price_of_stay
from .booking_change_tasks import change_bookings, describe_bookings
from .booking_reading_tasks import dearest_of, describe_dearest, open_booking, select_bookings
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, draw_several, pick
from .walk import Walk


class CancelTemplate(WebTemplate):
    """Base of templates that cancel bookings. Slots: ``bookings``, pairs of an id and a label."""

    site, intent = "booking", "cancel"

    def goal(self, database: Database, slots: Slots) -> Goal:
        bookings, changes = {one["id"]: one for one in select_bookings(database)}, {}
        for number, _ in slots["bookings"]:
            booking, fee = bookings[number], 0
            if not booking["is_free"]:
                arrival = date.fromisoformat(booking["arrival"])
                fee = price_of_stay(booking, arrival, arrival + timedelta(days=1))
            changes[number] = {"status": "Cancelled", "fee": fee}
        return change_bookings(database, changes)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label in slots["bookings"]:
            open_booking(walk, label)
            walk.click("link", "Cancel booking")
            fee = next((one.name for one in walk.browser.page.controls if one.role == "checkbox"), "")
            if fee:
                walk.tick("checkbox", fee)
            walk.click("button", "Cancel for good")


@add_template
class CancelBookings(CancelTemplate):
    """Cancel the named bookings, at any cost."""

    name = "cancel-bookings"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        bookings = select_bookings(database)
        if params["constraints"] == 1:
            bookings = [one for one in bookings if one["is_free"]]
        chosen = draw_several(rng, bookings, params["items"])
        if len(chosen) < params["items"]:
            return None
        return {"bookings": tuple((one["id"], label_of(one)) for one in chosen)}

    def ask(self, slots: Slots) -> str:
        return f"Cancel {describe_bookings([label for _, label in slots['bookings']])}, even where that costs a fee."


@add_template
class CancelDearest(CancelTemplate):
    """Cancel the most expensive booking of a month."""

    name, question = "cancel-dearest", "Cancel {which}, even if that costs a fee, and no other."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        months = [month for month in MONTHS if dearest_of(database, month) is not None]
        if not months:
            return None
        month = pick(rng, months)
        booking = dearest_of(database, month)
        assert booking is not None
        return {"month": month, "bookings": ((booking["id"], label_of(booking)),)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"which": describe_dearest(slots["month"])}


@add_template
class CancelFree(CancelTemplate):
    """Cancel all bookings that meet conditions and can still be cancelled free of charge, and leave the others."""

    name = "cancel-free"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_by_charge(rng, database, params, is_free=True)
        return found and {"conditions": found[0], "bookings": found[1], "others": found[2]}

    def ask(self, slots: Slots) -> str:
        which = describe_matching(dict(slots["conditions"]))
        return f"Cancel all {which} that can still be cancelled free of charge. Leave those that would cost a fee."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label in slots["others"]:
            open_booking(walk, label)
        super().solve(walk, slots, goal)


def draw_by_charge(
    rng: Rng, database: Database, params: Params, is_free: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]] | None:
    """Draw conditions on the month or the town of bookings, or on both. Among the bookings that meet them, the targets
    are those whose cancellation is free (``is_free``) or not. Return the conditions, the targets and the other matches;
    None if there is no target, if there are more than ``items`` + 1, or, below three conditions, if there is no other
    match."""
    bookings = select_bookings(database)
    model = pick(rng, [one for one in bookings if one["is_free"] is is_free] or bookings)
    conditions = {"month": model["arrival"][:7], "town": model["town"]}
    if params["constraints"] < 3:
        del conditions["town" if params["constraints"] == 1 or rng.integers(2) else "month"]
    met = [
        one
        for one in bookings
        if one["arrival"].startswith(conditions.get("month", "")) and one["town"] == conditions.get("town", one["town"])
    ]
    wanted = tuple((one["id"], label_of(one)) for one in met if one["is_free"] is is_free)
    others = tuple((one["id"], label_of(one)) for one in met if one["is_free"] is not is_free)
    # Both conditions together leave few bookings.
    if not 0 < len(wanted) <= params["items"] + 1 or not (others or params["constraints"] > 2):
        return None
    return tuple(conditions.items()), wanted, others


def describe_matching(conditions: Mapping[str, str]) -> str:
    """Describe the bookings that meet conditions."""
    town = f" in {conditions['town']}" if "town" in conditions else ""
    month = f" with arrival in {MONTHS[conditions['month']]}" if "month" in conditions else ""
    return f"my upcoming confirmed bookings{town}{month}"
