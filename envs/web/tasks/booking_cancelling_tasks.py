"""Templates of the booking site that cancel bookings, correct contact data and write to houses."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from ..sites.booking_content import EMAIL, MONTHS, PHONE, TOPICS, VISITOR_NAME, label_of, price_of_stay
from ..sites.list_page import name_all
from .booking_own_tasks import dearest_of, describe_bookings, describe_dearest, open_booking, select_bookings
from .draws import pick, pick_in_order, pick_several
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template, change_rows
from .walk import Walk


class CancelTemplate(WebTemplate):
    """Base of templates that cancel bookings. Slot: ``bookings``, pairs (id, label)."""

    site, intent, objects, pages = "booking", "cancel", "bookings", ("/bookings/{0}",)

    def goal(self, database: Database, slots: Slots) -> Goal:
        bookings, changes = {one["id"]: one for one in select_bookings(database)}, {}
        for number, _ in slots["bookings"]:
            booking, fee = bookings[number], 0
            if not booking["is_free"]:
                arrival = date.fromisoformat(booking["arrival"])
                fee = price_of_stay(booking, arrival, arrival + timedelta(days=1))
            changes[number] = {"status": "Cancelled", "fee": fee}
        return Goal(**change_rows(self.site, database, "bookings", changes), milestone_pages=self.paths(slots))

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
    """Cancel the named bookings, even if that costs a fee."""

    name = "cancel-bookings"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        bookings = select_bookings(database)
        if params["constraints"] == 1:
            bookings = [one for one in bookings if one["is_free"]]
        chosen = pick_in_order(rng, bookings, params["items"])
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
    """Draw conditions on the month or the town of bookings, or on both.

    Returns:
        (conditions, targets, others): the targets are the bookings that meet the conditions and whose cancellation is
        free of charge if ``is_free``, or costs a fee otherwise; the others meet the conditions only. None if there is
        no target, if there are more than ``items`` + 1 targets, or, below three conditions, if there are no others.
    """
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
    """Return the bookings that meet conditions in words."""
    town = f" in {conditions['town']}" if "town" in conditions else ""
    month = f" with arrival in {MONTHS[conditions['month']]}" if "month" in conditions else ""
    return f"my upcoming confirmed bookings{town}{month}"


_EMAILS = ("robin.vega@example.net", "r.vega@mail.example.org", "vega.robin@example.org")
_PHONES = ("555 0110", "555 0101", "+49 30 5550 0100")
_NAMES = ("Robin Vega Haddad", "Robin A. Vega", "Robín Vega")
_TEXTS = (
    "We arrive by train at ten in the evening.",
    "Could we have a quiet room, please?",
    "Is there a place for two bicycles?",
    "One of us eats no nuts.",
    "Könnten wir ein Kinderbett haben?",
)


@add_template
class CorrectContact(ChangeTemplate):
    """Correct the contact data of bookings, and leave the profile unchanged."""

    site, name, intent, table, objects = "booking", "correct-contact", "write", "bookings", "bookings"
    pages = ("/bookings/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_in_order(rng, select_bookings(database), params["items"])
        if len(chosen) < params["items"]:
            return None
        changes = {"phone": pick(rng, _PHONES), "email": pick(rng, _EMAILS)}
        if params["constraints"] == 1:
            del changes[pick(rng, ("phone", "email"))]
        return {"bookings": tuple((one["id"], label_of(one)) for one in chosen), "changes": tuple(changes.items())}

    def ask(self, slots: Slots) -> str:
        bookings = describe_bookings([label for _, label in slots["bookings"]])
        return f"In {bookings}, change {describe_contact(dict(slots['changes']))}. Leave my profile as it is."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {booking: dict(slots["changes"]) for booking, _ in slots["bookings"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label in slots["bookings"]:
            open_booking(walk, label)
            walk.click("link", "Change contact data")
            fill_contact(walk, dict(slots["changes"]))
            walk.click("button", "Save changes")


def describe_contact(changes: Mapping[str, str]) -> str:
    """Return changes of contact data in words."""
    labels = {"name": "the full name", "email": "the e-mail address", "phone": "the phone number"}
    return name_all([f"{labels[name]} to {value}" for name, value in changes.items()])


def fill_contact(walk: Walk, changes: Mapping[str, str]) -> None:
    """Fill in contact data."""
    for name, value in changes.items():
        walk.fill({"name": "Full name", "email": "E-mail", "phone": "Phone"}[name], value)


@add_template
class UpdateProfile(WebTemplate):
    """Change contact data in the profile; the contact data of bookings stay as they are."""

    site, name, intent = "booking", "update-profile", "write"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        values = {"name": pick(rng, _NAMES), "email": pick(rng, _EMAILS), "phone": pick(rng, _PHONES)}
        return {"changes": tuple(pick_in_order(rng, list(values.items()), params["constraints"]))}

    def ask(self, slots: Slots) -> str:
        return f"In my profile, change {describe_contact(dict(slots['changes']))}. Leave my bookings as they are."

    def goal(self, database: Database, slots: Slots) -> Goal:
        before = {"name": VISITOR_NAME, "email": EMAIL, "phone": PHONE}
        after = {**before, **dict(slots["changes"])}
        rows = (tuple(before.values()),), (tuple(after.values()),)
        return Goal(removed={"account": rows[0]}, added={"account": rows[1]}, milestone_pages=("/profile",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Profile")
        fill_contact(walk, dict(slots["changes"]))
        walk.click("button", "Save profile")


class MessageTemplate(WebTemplate):
    """Base of templates that write to the houses of bookings. Slots: ``bookings``, pairs (id, label); ``topic``;
    ``texts``, one for each booking."""

    site, intent, objects = "booking", "write", "bookings"
    pages = ("/bookings/{0}", "/bookings/{0}/message")

    def goal(self, database: Database, slots: Slots) -> Goal:
        pairs = zip(slots["bookings"], slots["texts"], strict=True)
        rows = tuple((booking, slots["topic"], text) for (booking, _), text in pairs)
        return Goal(added={"messages": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, label), text in zip(slots["bookings"], slots["texts"], strict=True):
            open_booking(walk, label)
            walk.click("link", "Write to the house")
            walk.select("Topic", slots["topic"])
            walk.fill("Text", text)
            walk.click("button", "Send message")


@add_template
class SendMessages(MessageTemplate):
    """Write to the houses of bookings, to each with a given text."""

    name = "send-messages"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_in_order(rng, select_bookings(database), params["items"])
        texts = tuple(pick_several(rng, _TEXTS, params["items"]))
        if len(chosen) < params["items"]:
            return None
        bookings = tuple((one["id"], label_of(one)) for one in chosen)
        return {"bookings": bookings, "topic": pick(rng, TOPICS), "texts": texts}

    def ask(self, slots: Slots) -> str:
        pairs = zip(slots["bookings"], slots["texts"], strict=True)
        parts = [f'about {describe_bookings([label])} "{text}"' for (_, label), text in pairs]
        return f'Write to the house, with the topic "{slots["topic"]}", {name_all(parts)}'


@add_template
class AskLateHouses(MessageTemplate):
    """Write to the houses of all bookings that meet conditions and can no longer be cancelled free of charge."""

    name = "ask-late-houses"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        found = draw_by_charge(rng, database, params, is_free=False)
        if found is None:
            return None
        text, about = pick(rng, _TEXTS), {"conditions": found[0], "bookings": found[1], "others": found[2]}
        return {**about, "topic": pick(rng, TOPICS), "texts": (text,) * len(found[1])}

    def ask(self, slots: Slots) -> str:
        which = describe_matching(dict(slots["conditions"]))
        return (
            f"About each of {which} that can no longer be cancelled free of charge, and about no other, write to the "
            f'house, with the topic "{slots["topic"]}": "{slots["texts"][0]}"'
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, label in slots["others"]:
            open_booking(walk, label)
        super().solve(walk, slots, goal)
