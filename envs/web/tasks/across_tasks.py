"""Templates across sites: report a value from the last site, to which clues lead, or change that site."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..sites.admin_content import LICENCES
from ..sites.portal import TITLES
from .across_clues import ClueTemplate, FinalAction
from .admin_user_tasks import apply_to_users
from .template import Goal, Params, Rng, Slots, add_template, change_rows
from .walk import Walk

_PRICE = FinalAction("shop/report-price", "product", lambda slots: f"the {slots['name']}", {})
_VALUE = FinalAction("wiki/report-value", "article", lambda slots: slots["title"], {})


class _ValueTemplate(ClueTemplate):
    """Base of templates that report a value of an article."""

    intent, final_action = "report", _VALUE

    def ask_final_action(self, slots: Slots) -> str:
        return super().ask_final_action(slots).replace("that article", "the subject of that article")


@add_template
class ReportNamedPrice(ClueTemplate):
    """Report the price of the product named by a forum reply."""

    name, intent, clue_sites, final_action = "report-named-price", "report", ("forum",), _PRICE


@add_template
class ComparePrices(ClueTemplate):
    """Report the difference between a price in the shop and the price named by a forum reply."""

    name, intent, clue_sites, final_action = "compare-prices", "report", ("forum",), _PRICE

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        slots = super().draw(rng, database, params)
        return slots and {**slots, "paid": int(rng.integers(200, 20_000))}

    def say(self, slots: Slots, name: str) -> str:
        # The decoy states another price, so that it leads to a wrong answer.
        cents = slots["paid"] if name == slots["name"] else slots["paid"] + 150
        return f"At the market I paid {_write_price(cents)} for {name}."

    def ask_final_action(self, slots: Slots) -> str:
        price = super().ask_final_action(slots).removesuffix(" Answer with the price.")
        return (
            f"{price} Compare that with what the reply says was paid for it at the market, and answer with the "
            "difference of the two prices, as a number without a sign."
        )

    def goal(self, database: Any, slots: Slots) -> Goal:
        goal = super().goal(database, slots)
        assert goal.answer is not None
        return replace(goal, answer=_write_price(abs(int(goal.answer.replace(".", "")) - slots["paid"])))


@add_template
class ReportNamedValue(_ValueTemplate):
    """Report a value of the article named by a forum reply."""

    name, clue_sites = "report-named-value", ("forum",)


@add_template
class ReportTicketValue(_ValueTemplate):
    """Report a value of an article. A comment on a ticket names a thread, and a reply in the thread the article."""

    name, clue_sites = "report-ticket-value", ("tracker", "forum")


@add_template
class ReportTicketPrice(ClueTemplate):
    """Report the price of a product. A comment on a ticket names a thread, and a reply in the thread the product."""

    name, intent, clue_sites, final_action = "report-ticket-price", "report", ("tracker", "forum"), _PRICE


def _write_price(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"


_CART = FinalAction("shop/add-to-cart", "product", lambda slots: slots["items"][0][1], {"items": 1})
_ROOM = FinalAction(
    "booking/book-room", "room", lambda slots: "the {} at {}".format(*slots["stays"][0][1:3]), {"items": 1}
)
_USER = FinalAction(
    "admin/move-users", "user", lambda slots: f"the user {slots['users'][0][1]}", {"items": 1, "constraints": 1}
)
_WATCH = FinalAction("wiki/watch-articles", "article", lambda slots: f'"{slots["articles"][0][1]}"', {"items": 1})


@add_template
class BuyNamedProduct(ClueTemplate):
    """Put the product named by a forum reply into the cart."""

    name, intent, clue_sites, final_action = "buy-named-product", "act", ("forum",), _CART


@add_template
class BookNamedRoom(ClueTemplate):
    """Book the room named by the text of an article."""

    name, intent, clue_sites, final_action = "book-named-room", "act", ("wiki",), _ROOM


@add_template
class MoveNamedUser(ClueTemplate):
    """Move the user named by a comment on a ticket to another team."""

    name, intent, clue_sites, final_action = "move-named-user", "act", ("tracker",), _USER


@add_template
class SuspendNamedUser(ClueTemplate):
    """Suspend a user whom a comment on a ticket names."""

    name, intent, clue_sites, final_action = "suspend-named-user", "act", ("tracker",), _USER

    def ask_final_action(self, slots: Slots) -> str:
        return "Suspend that user, who then has no licence any more."

    def goal(self, database: Any, slots: Slots) -> Goal:
        pages = super().goal(database, slots).milestone_pages
        ((user, _, _),) = dict(slots["deed"])["users"]
        change = {user: {"state": "Suspended", "licence": LICENCES[0]}}
        rows = change_rows("admin", database["admin"], "users", change)
        removed, added = ({f"admin {name}": each for name, each in rows[kind].items()} for kind in ("removed", "added"))
        return Goal(removed=removed, added=added, milestone_pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.read_clues(walk, slots)
        walk.click("link", f"Go to the {TITLES['admin']}")
        ((_, name, mail),) = dict(slots["deed"])["users"]
        walk.search("Search users", mail)
        apply_to_users(walk, [name], "Suspend")


@add_template
class WatchNamedArticle(ClueTemplate):
    """Watch the article named by a forum reply."""

    name, intent, clue_sites, final_action = "watch-named-article", "act", ("forum",), _WATCH


@add_template
class BuyTicketProduct(ClueTemplate):
    """Put a product into the cart. A comment on a ticket names a thread, and a reply in the thread the product."""

    name, intent, clue_sites, final_action = "buy-ticket-product", "act", ("tracker", "forum"), _CART


@add_template
class BookThreadRoom(ClueTemplate):
    """Book a room. A forum reply names an article, and the text of the article names the room."""

    name, intent, clue_sites, final_action = "book-thread-room", "act", ("forum", "wiki"), _ROOM
