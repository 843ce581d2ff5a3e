"""Templates across sites whose action changes the site that the clues lead to."""

from __future__ import annotations

from typing import Any

from ..sites.admin_content import LICENCES
from ..sites.portal import TITLES
from .across_clues import ClueTemplate, Deed
from .admin_user_tasks import apply_to_users
from .template import Goal, Slots, add_template, change_rows
from .walk import Walk

_CART = Deed("shop/add-to-cart", "product", lambda slots: slots["items"][0][1], {"items": 1})
_ROOM = Deed("booking/book-room", "room", lambda slots: "the {} at {}".format(*slots["stays"][0][1:3]), {"items": 1})
_USER = Deed(
    "admin/move-users", "user", lambda slots: f"the user {slots['users'][0][1]}", {"items": 1, "constraints": 1}
)
_WATCH = Deed("wiki/watch-articles", "article", lambda slots: f'"{slots["articles"][0][1]}"', {"items": 1})


@add_template
class BuyNamedProduct(ClueTemplate):
    """Put the product named by a forum reply into the cart."""

    name, intent, carriers, deed = "buy-named-product", "act", ("forum",), _CART


@add_template
class BookNamedRoom(ClueTemplate):
    """Book the room named by the text of an article."""

    name, intent, carriers, deed = "book-named-room", "act", ("wiki",), _ROOM


@add_template
class MoveNamedUser(ClueTemplate):
    """Move the user named by a comment on a ticket to another team."""

    name, intent, carriers, deed = "move-named-user", "act", ("tracker",), _USER


@add_template
class SuspendNamedUser(ClueTemplate):
    """Suspend a user whom a comment on a ticket names."""

    name, intent, carriers, deed = "suspend-named-user", "act", ("tracker",), _USER

    def ask_deed(self, slots: Slots) -> str:
        return "Suspend that user, who then has no licence any more."

    def goal(self, database: Any, slots: Slots) -> Goal:
        pages = super().goal(database, slots).pages
        ((user, _, _),) = dict(slots["deed"])["users"]
        change = {user: {"state": "Suspended", "licence": LICENCES[0]}}
        rows = change_rows("admin", database["admin"], "users", change)
        removed, added = ({f"admin {name}": each for name, each in rows[kind].items()} for kind in ("removed", "added"))
        return Goal(removed=removed, added=added, pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.read_clues(walk, slots)
        walk.click("link", f"Go to the {TITLES['admin']}")
        ((_, name, mail),) = dict(slots["deed"])["users"]
        walk.search("Search users", mail)
        apply_to_users(walk, [name], "Suspend")


@add_template
class WatchNamedArticle(ClueTemplate):
    """Watch the article named by a forum reply."""

    name, intent, carriers, deed = "watch-named-article", "act", ("forum",), _WATCH


@add_template
class BuyTicketProduct(ClueTemplate):
    """Put a product into the cart: a comment on a ticket names a thread, and a reply there names the product."""

    name, intent, carriers, deed = "buy-ticket-product", "act", ("tracker", "forum"), _CART


@add_template
class BookThreadRoom(ClueTemplate):
    """Book a room: a forum reply names an article, and its text names the room."""

    name, intent, carriers, deed = "book-thread-room", "act", ("forum", "wiki"), _ROOM
