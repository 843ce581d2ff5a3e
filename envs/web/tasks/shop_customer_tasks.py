"""Templates of the shop about the customer's data: orders, returns, reviews, the wish list, the account."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..sites.list_page import name_all
from ..sites.shop import PRODUCTS
from ..sites.shop_goods import BODIES, CITIES, POSTCODES, REASONS, STREETS
from .draws import pick, pick_in_order, pick_several
from .template import ChangeTemplate, Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

_LINES = """
    SELECT l.id, l."order", o.status, p.name FROM lines l JOIN orders o ON o.id = l."order"
    JOIN variants v ON v.id = l.variant JOIN products p ON p.id = v.product ORDER BY l.id
"""
_DETAILS = {"street": "Street", "city": "City", "postcode": "Postcode", "phone": "Phone"}
_TITLES = ("Good choice", "As described", "Could be better", "Would buy again")


class LineTemplate(WebTemplate):
    """Base of templates about a past order, which the question names by its number or by a product in the order."""

    site = "shop"
    # Statuses of the orders that the template may draw; empty for all.
    statuses: tuple[str, ...] = ()

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = [row for row in database.execute(_LINES) if not self.statuses or row["status"] in self.statuses]
        if not rows:
            return None
        row = pick(rng, rows)
        # The product identifies the order, because no product is in two orders.
        return {"line": row["id"], "order": row["order"], "name": row["name"], "by_number": params["constraints"] == 1}

    def name_order(self, slots: Slots) -> str:
        return f"order {slots['order']}" if slots["by_number"] else f"the order with the {slots['name']}"

    def open_order(self, walk: Walk, slots: Slots) -> None:
        """Open the order: by its number, or by opening orders, newest first, until one has the product."""
        walk.click("link", "Orders")
        if slots["by_number"]:
            walk.click("link", f"Order {slots['order']}")
            return
        for name in [one.name for one in walk.browser.page.controls if one.name.startswith("Order ")]:
            walk.click("link", name)
            if walk.find("link", slots["name"]) is not None:
                return
            walk.click("link", "Orders")


@add_template
class ReportTotal(LineTemplate):
    """Report the total of an order."""

    name, intent, pages = "report-total", "report", ("/orders", "/orders/{order}")

    def ask(self, slots: Slots) -> str:
        return f"What is the total of {self.name_order(slots)}? Answer with the amount."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (cents,) = database.execute("SELECT total FROM orders WHERE id = ?", (slots["order"],)).fetchone()
        return Goal(f"{cents // 100}.{cents % 100:02d}", "number", milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.open_order(walk, slots)


@add_template
class CancelOrder(LineTemplate, ChangeTemplate):
    """Cancel an order that is not yet shipped."""

    name, intent, statuses = "cancel-order", "after-sales", ("Processing",)
    table, pages = "orders", ("/orders", "/orders/{order}")

    def ask(self, slots: Slots) -> str:
        return f"Cancel {self.name_order(slots)}."

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        return {slots["order"]: {"status": "Cancelled"}}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.open_order(walk, slots)
        walk.confirm("Cancel order")


@add_template
class ReturnProduct(LineTemplate):
    """Send a product back, with a reason and a comment."""

    name, intent, statuses = "return-product", "after-sales", ("Delivered",)
    pages = ("/orders", "/orders/{order}")

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = super().draw(rng, database, params)
        comment = pick(rng, BODIES[:4]) if params["constraints"] > 1 else ""
        return None if slots is None else {**slots, "reason": pick(rng, REASONS), "comment": comment}

    def ask(self, slots: Slots) -> str:
        comment = f' and the comment "{slots["comment"]}"' if slots["comment"] else ""
        of = f" of order {slots['order']}" if slots["by_number"] else ", which I have ordered"
        return f'Return the {slots["name"]}{of}, with the reason "{slots["reason"]}"{comment}.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        row = (slots["line"], slots["reason"], slots["comment"])
        return Goal(added={"returns": (row,)}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.open_order(walk, slots)
        walk.click("link", f"Return {slots['name']}")
        walk.select("Reason", slots["reason"])
        walk.fill("Comment", slots["comment"])
        walk.click("button", "Send return")


@add_template
class WriteReview(WebTemplate):
    """Review products, each with stars, a title and a text."""

    site, name, intent, objects, pages = "shop", "write-review", "after-sales", "products", ("/product/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = database.execute("SELECT id, name FROM products ORDER BY id").fetchall()
        chosen = pick_several(rng, rows, params["items"])
        reviews = [(int(rng.integers(1, 6)), pick(rng, _TITLES), pick(rng, BODIES[:4])) for _ in chosen]
        return {"products": tuple((row["id"], row["name"]) for row in chosen), "reviews": tuple(reviews)}

    def ask(self, slots: Slots) -> str:
        parts = [
            f'the {name} ({stars} star{"s" if stars > 1 else ""}, title "{title}", text "{body}")'
            for (_, name), (stars, title, body) in zip(slots["products"], slots["reviews"], strict=True)
        ]
        return f"Review {name_all(parts)}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (author,) = database.execute("SELECT name FROM account").fetchone()
        pairs = zip(slots["products"], slots["reviews"], strict=True)
        rows = tuple((product, author, *review) for (product, _), review in pairs)
        return Goal(added={"reviews": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (_, name), (stars, title, body) in zip(slots["products"], slots["reviews"], strict=True):
            PRODUCTS.open_row(walk, name)
            walk.click("link", "Write a review")
            walk.tick("radio", f"{stars} star{'s' if stars > 1 else ''}")
            walk.fill("Title", title)
            walk.fill("Review", body)
            walk.click("button", "Send review")


class WishTemplate(WebTemplate):
    """Base of templates about the wish list."""

    site, intent, objects = "shop", "account", "products"
    verb: str
    sql: str

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = database.execute(self.sql).fetchall()
        chosen = pick_several(rng, rows, params["items"])
        return {"products": tuple((row["id"], row["name"]) for row in chosen)} if chosen else None

    def ask(self, slots: Slots) -> str:
        return f"{self.verb} my wish list: {name_all([name for _, name in slots['products']])}."


@add_template
class AddWishes(WishTemplate):
    """Put products on the wish list."""

    name, verb, pages = "add-wishes", "Put on", ("/product/{0}",)
    sql = "SELECT id, name FROM products WHERE id NOT IN (SELECT product FROM wishlist) ORDER BY id"

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(
            added={"wishlist": tuple((product,) for product, _ in slots["products"])}, milestone_pages=self.paths(slots)
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, name in slots["products"]:
            PRODUCTS.open_row(walk, name)
            walk.click("button", "Add to wish list")


@add_template
class RemoveWishes(WishTemplate):
    """Take products off the wish list."""

    name, verb, pages = "remove-wishes", "Remove from", ("/wishlist",)
    sql = "SELECT id, name FROM products WHERE id IN (SELECT product FROM wishlist) ORDER BY id"

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(
            removed={"wishlist": tuple((product,) for product, _ in slots["products"])}, milestone_pages=self.pages
        )

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Wish list")
        for _, name in slots["products"]:
            walk.click("button", f"Remove {name}")


@add_template
class ChangeDetails(WebTemplate):
    """Change some details of the account, and leave the others."""

    site, name, intent = "shop", "change-details", "account"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        present = database.execute("SELECT * FROM account").fetchone()
        fresh = {
            "street": pick(rng, STREETS),
            "city": pick(rng, CITIES),
            "postcode": pick(rng, POSTCODES),
            "phone": f"555 {int(rng.integers(200, 10_000)):04d}",
        }
        names = pick_in_order(rng, list(fresh), params["items"])
        if any(present[name] == fresh[name] for name in names):
            return None
        return {"details": tuple((name, fresh[name]) for name in names)}

    def ask(self, slots: Slots) -> str:
        return f"In my account, set {name_all([f'the {name} to {value}' for name, value in slots['details']])}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        sql = "SELECT name, street, city, postcode, phone FROM account"
        present = dict(database.execute(sql).fetchone())
        after = {**present, **dict(slots["details"])}
        rows = {"account": (tuple(present.values()),)}, {"account": (tuple(after.values()),)}
        return Goal(removed=rows[0], added=rows[1], milestone_pages=("/account",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Account")
        for name, value in slots["details"]:
            walk.fill(_DETAILS[name], value)
        walk.click("button", "Save details")
