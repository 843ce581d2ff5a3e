"""Templates of the shop that end in a cart or an order."""

from __future__ import annotations

from collections.abc import Mapping

from ..sites.list_page import name_all
from ..sites.shop import PRODUCTS
from ..sites.shop_goods import CITIES, PEOPLE, POSTCODES, SHIPPING, STREETS
from .shop_goods_tasks import ProductTemplate, name_choice
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick
from .walk import Walk

_IN_STOCK = """
    SELECT v.id, v.colour, v.size, v.product, p.name FROM variants v JOIN products p ON p.id = v.product
    WHERE v.stock >= 5 ORDER BY v.id
"""
Item = tuple[int, str, str, str, int]
"""A variant: its id, product, colour and size; and a quantity."""


def draw_items(rng: Rng, database: Database, number: int) -> tuple[Item, ...]:
    """Draw variants of different products, with quantities from 1 to 3."""
    rows = database.execute(_IN_STOCK).fetchall()
    items: dict[int, Item] = {}
    while len(items) < number:
        row = pick(rng, rows)
        items[row["product"]] = (row["id"], row["name"], row["colour"], row["size"], int(rng.integers(1, 4)))
    return tuple(items.values())


def name_items(items: tuple[Item, ...]) -> str:
    """Items in words."""
    return name_all([f"{number} x {name} ({name_choice(colour, size)})" for _, name, colour, size, number in items])


def fill_cart(walk: Walk, items: tuple[Item, ...]) -> None:
    """Add items to the cart that are not yet in it."""
    for _, name, colour, size, number in items:
        PRODUCTS.open_row(walk, name)
        choose_variant(walk, colour, size, number)


def choose_variant(walk: Walk, colour: str, size: str, number: int) -> None:
    """Put the product of this page into the cart."""
    if size:
        walk.select("Size", size)
    walk.tick("radio", colour)
    walk.fill("Quantity", str(number))
    walk.click("button", "Add to cart")


@add_template
class AddToCart(WebTemplate):
    """Put products into the cart."""

    site, name, intent = "shop", "add-to-cart", "cart"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return {"items": draw_items(rng, database, params["items"])}

    def ask(self, slots: Slots) -> str:
        return f"Put into the cart: {name_items(slots['items'])}. Do not order yet."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(added={"cart": tuple((item[0], item[4]) for item in slots["items"])})

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        fill_cart(walk, slots["items"])


@add_template
class EditCart(WebTemplate):
    """Change quantities in the cart, and remove a product from it."""

    site, name, intent = "shop", "edit-cart", "cart"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        items = draw_items(rng, database, params["items"] + 1 + params["constraints"])
        changed = tuple(int(number) for number in rng.integers(4, 9, params["items"]))
        return {"items": items, "changed": changed}

    def ask(self, slots: Slots) -> str:
        items, changed = slots["items"], slots["changed"]
        changes = name_all([f"{items[place][1]} to {number}" for place, number in enumerate(changed)])
        return f"In the cart, change the quantity of {changes}, and remove {items[len(changed)][1]}. Do not order."

    def prepare(self, database: Database, slots: Slots) -> None:
        lines = sorted((item[0], item[4]) for item in slots["items"])
        database.executemany("INSERT INTO cart (variant, quantity) VALUES (?, ?)", lines)

    def goal(self, database: Database, slots: Slots) -> Goal:
        items, changed = slots["items"], slots["changed"]
        lines = [(item[0], item[4]) for item in items]
        added = tuple((lines[place][0], number) for place, number in enumerate(changed))
        return Goal(removed={"cart": tuple(lines[: len(changed) + 1])}, added={"cart": added})

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        items, changed = slots["items"], slots["changed"]
        link = next(one.name for one in walk.browser.page.controls if one.name.startswith("Cart ("))
        walk.click("link", link)

        def label(item: Item) -> str:
            return f"{item[1]}, {item[2]}, {item[3]}" if item[3] else f"{item[1]}, {item[2]}"

        for place, number in enumerate(changed):
            walk.fill(f"Quantity of {label(items[place])}", str(number))
            walk.click("button", f"Update {label(items[place])}")
        walk.click("button", f"Remove {label(items[len(changed)])}")


@add_template
class BuyCheapest(ProductTemplate):
    """Put the cheapest product under conditions into the cart."""

    name, intent, fewest = "add-cheapest", "cart", 2
    question = "Of the products {what}, put the cheapest into the cart, once ({choice}). Do not order yet."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        slots = super().draw(rng, database, params)
        if slots is None:
            return None
        best, wanted = self.rows(database, slots)[0], dict(slots["conditions"]).get("colour")
        rows = [row for row in database.execute(_IN_STOCK) if row["product"] == best["id"]]
        rows = [row for row in rows if wanted in (None, row["colour"])]
        if not rows:
            return None
        row = pick(rng, rows)
        return {**slots, "variant": row["id"], "colour": row["colour"], "size": row["size"]}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "choice": name_choice(slots["colour"], slots["size"])}

    def goal(self, database: Database, slots: Slots) -> Goal:
        best = self.rows(database, slots)[0]
        return Goal(added={"cart": ((slots["variant"], 1),)}, pages=("/search", f"/product/{best['id']}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.filter(walk, self.conditions_of(slots), "Price, lowest first")
        products = [one for one in walk.browser.page.controls if one.element.getparent().tag == "li"]
        walk.click("link", products[0].name)
        choose_variant(walk, slots["colour"], slots["size"], 1)


class OrderTemplate(WebTemplate):
    """Base of templates that end in an order."""

    site, intent = "shop", "order"

    def address(self, database: Database, slots: Slots) -> tuple[str, str, str, str]:
        """Return name, street, city and postcode of the delivery address."""
        raise NotImplementedError

    def goal(self, database: Database, slots: Slots) -> Goal:
        content = ", ".join(f"{item[0]} x {item[4]}" for item in sorted(slots["items"]))
        row = ("Processing", *self.address(database, slots), slots["shipping"], content)
        return Goal(added={"orders": (row,)}, pages=("/cart", "/checkout"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        fill_cart(walk, slots["items"])
        walk.click("link", "Go to checkout")
        (order,) = goal.added["orders"]
        for label, value in zip(("Full name", "Street", "City", "Postcode"), order[1:5], strict=True):
            walk.fill(label, value)
        cost = SHIPPING[slots["shipping"]]
        walk.tick("radio", f"{slots['shipping']}, {cost // 100}.{cost % 100:02d}")
        walk.tick("checkbox", "I accept the terms of sale")
        walk.click("button", "Place order")


@add_template
class Buy(OrderTemplate):
    """Order products to the address of the account."""

    name = "buy"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        return {"items": draw_items(rng, database, params["items"]), "shipping": pick(rng, list(SHIPPING))}

    def ask(self, slots: Slots) -> str:
        return f"Order {name_items(slots['items'])} to my address, with {slots['shipping']} delivery."

    def address(self, database: Database, slots: Slots) -> tuple[str, str, str, str]:
        return tuple(database.execute("SELECT name, street, city, postcode FROM account").fetchone())


@add_template
class BuyAsGift(OrderTemplate):
    """Order products to the address of somebody else."""

    name = "buy-as-gift"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        address = (pick(rng, PEOPLE[1:]), pick(rng, STREETS), pick(rng, CITIES), pick(rng, POSTCODES))
        items = draw_items(rng, database, params["items"])
        return {"items": items, "shipping": pick(rng, list(SHIPPING)), "address": address}

    def ask(self, slots: Slots) -> str:
        name, street, city, postcode = slots["address"]
        where = f"{name}, {street}, {postcode} {city}"
        return f"Order {name_items(slots['items'])} to {where}, with {slots['shipping']} delivery."

    def address(self, database: Database, slots: Slots) -> tuple[str, str, str, str]:
        return slots["address"]
