"""Templates of the shop about its goods: find and report, count, compare, fill the cart, order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..sites.list_page import name_all
from ..sites.shop import PRODUCTS
from ..sites.shop_goods import BRANDS, CATEGORIES, CITIES, COLOURS, PEOPLE, POSTCODES, SHIPPING, STREETS
from .draws import pick, pick_in_order, pick_several
from .list_page_templates import BestTemplate, CountTemplate, ListPageTemplate, OpeningTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk


def name_choice(colour: str, size: str) -> str:
    """Return a variant of a product in words: "red, size M"."""
    return f"{colour}, size {size}" if size else colour


@add_template
class ReportPrice(WebTemplate):
    """Report the price of a product in a given colour and size."""

    site, name, intent, pages = "shop", "report-price", "report", ("/product/{product}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, database.execute("SELECT id, product, colour, size FROM variants ORDER BY id").fetchall())
        (name,) = database.execute("SELECT name FROM products WHERE id = ?", (row["product"],)).fetchone()
        return {"variant": row["id"], "product": row["product"], "name": name, "choice": (row["colour"], row["size"])}

    def ask(self, slots: Slots) -> str:
        return f"How much does the {slots['name']} cost ({name_choice(*slots['choice'])})? Answer with the price."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (cents,) = database.execute("SELECT price FROM variants WHERE id = ?", (slots["variant"],)).fetchone()
        return Goal(f"{cents // 100}.{cents % 100:02d}", "number", milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.open_row(walk, slots["name"])


@add_template
class ReportReviewer(WebTemplate):
    """Report the author of a product review, which may be on a later page of reviews."""

    site, name, intent, pages = "shop", "report-reviewer", "report", ("/product/{product}",)
    question = 'Who wrote the review "{title}" of the {name}? Answer with the name.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        least = 1 + 2 * (params["constraints"] - 1)
        sql = """
            SELECT r.id, r.product, r.title, p.name FROM reviews r JOIN products p ON p.id = r.product
            WHERE (SELECT count(*) FROM reviews s WHERE s.product = r.product) >= ?
            AND (SELECT count(*) FROM reviews s WHERE s.product = r.product AND s.title = r.title) = 1 ORDER BY r.id
        """
        found = database.execute(sql, (least,)).fetchall()
        if not found:
            return None
        row = pick(rng, found)
        return {"review": row["id"], "product": row["product"], "name": row["name"], "title": row["title"]}

    def goal(self, database: Database, slots: Slots) -> Goal:
        (author,) = database.execute("SELECT author FROM reviews WHERE id = ?", (slots["review"],)).fetchone()
        return Goal(author, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.open_row(walk, slots["name"])
        if not any(line.name.startswith(f"{slots['title']}, ") for line in walk.browser.page.lines):
            open_review(walk, slots["title"])


def open_review(walk: Walk, title: str) -> None:
    """Open a review on the pages with all reviews of the product that is shown."""
    links = [one.name for one in walk.browser.page.controls if one.name.startswith("All ")]
    walk.click("link", links[0] if links else "")
    while True:
        buttons = [one.name for one in walk.browser.page.controls if one.name.startswith(f"{title}, ")]
        if buttons:
            break
        walk.click("link", "Next page")
    walk.click("button", buttons[0])


@add_template
class ReadReview(WebTemplate):
    """Report the text of a product review that the page of the product does not show; it has to be opened."""

    site, name, intent, answer = "shop", "read-review", "report", "body"
    pages = ("/product/{product}", "/product/{product}/reviews")
    question = 'What does the review "{title}" of the {name} say below its author? Answer with this text.'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        # The page of a product shows its two latest reviews.
        sql = """
            SELECT r.product, r.title, r.body, p.name FROM reviews r JOIN products p ON p.id = r.product
            WHERE (SELECT count(*) FROM reviews s WHERE s.product = r.product AND s.id > r.id) >= 2
            AND (SELECT count(*) FROM reviews s WHERE s.product = r.product AND s.title = r.title) = 1 ORDER BY r.id
        """
        found = database.execute(sql).fetchall()
        return dict(pick(rng, found)) if found else None

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.open_row(walk, slots["name"])
        open_review(walk, slots["title"])
        walk.read(slots["body"])


# Filters besides the category, with values to draw from.
_VALUES = (("brand", BRANDS), ("colour", COLOURS), ("stars", (2, 3, 4)), ("highest", (20, 40, 60, 80)))


class ProductTemplate(ListPageTemplate):
    """Base of templates about the products of a category that meet conditions."""

    site, list_page = "shop", PRODUCTS
    # Minimum number of products that meet the conditions.
    fewest = 1

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        for _ in range(12):
            chosen = pick_in_order(rng, _VALUES, params["constraints"] - 1)
            conditions = {"category": pick(rng, list(CATEGORIES))} | {name: pick(rng, some) for name, some in chosen}
            found = PRODUCTS.find(database, conditions)
            if len(found) >= self.fewest and (len(found) == 1 or found[0]["price"] < found[1]["price"]):
                return {"conditions": tuple(conditions.items())}
        return None


@add_template
class CountProducts(ProductTemplate, CountTemplate):
    """Count the products that meet conditions."""

    name, question = "count-products", "How many products are there {what}? Answer with the number."


@add_template
class FindCheapest(ProductTemplate, BestTemplate):
    """Name the cheapest product that meets conditions."""

    name, question, fewest = "find-cheapest", "Which of the products {what} is the cheapest? Answer with its name.", 2
    measures: ClassVar = {None: ("", "Price, lowest first")}

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(self.rows(database, slots)[0]["name"], milestone_pages=self.paths(slots))


@add_template
class CompareProducts(OpeningTemplate):
    """Name the cheapest of several products, by opening their pages."""

    site, name, objects, pages = "shop", "compare-products", "products", ("/product/{0}",)
    question = "Which of these has the lowest price: {names}? Answer with its name."
    search_box, measure = PRODUCTS.search_box, "saving"
    rows = "SELECT id, name AS title, -price AS saving FROM products ORDER BY id"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        chosen = pick_several(rng, database.execute(self.rows).fetchall(), params["items"] + 1)
        if len({row["saving"] for row in chosen}) < len(chosen):
            return None
        return {"products": tuple((row["id"], row["title"]) for row in chosen)}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"names": ", ".join(name for _, name in slots["products"])}


_IN_STOCK = """
    SELECT v.id, v.colour, v.size, v.product, p.name FROM variants v JOIN products p ON p.id = v.product
    WHERE v.stock >= 5 ORDER BY v.id
"""
Item = tuple[int, str, str, str, int]
"""(id of a variant, name of the product, colour, size, quantity)."""


def draw_items(rng: Rng, database: Database, number: int) -> tuple[Item, ...]:
    """Draw variants of different products, with quantities from 1 to 3."""
    rows = database.execute(_IN_STOCK).fetchall()
    items: dict[int, Item] = {}
    while len(items) < number:
        row = pick(rng, rows)
        items[row["product"]] = (row["id"], row["name"], row["colour"], row["size"], int(rng.integers(1, 4)))
    return tuple(items.values())


def name_items(items: tuple[Item, ...]) -> str:
    """Return items in words."""
    return name_all([f"{number} x {name} ({name_choice(colour, size)})" for _, name, colour, size, number in items])


def fill_cart(walk: Walk, items: tuple[Item, ...]) -> None:
    """Put items into the cart."""
    for _, name, colour, size, number in items:
        PRODUCTS.open_row(walk, name)
        choose_variant(walk, colour, size, number)


def choose_variant(walk: Walk, colour: str, size: str, number: int) -> None:
    """Put ``number`` pieces of the product of the present page into the cart, in this colour and size."""
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
        walk.confirm(f"Remove {label(items[len(changed)])}")


@add_template
class BuyCheapest(ProductTemplate):
    """Put the cheapest product that meets conditions into the cart."""

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
        return Goal(added={"cart": ((slots["variant"], 1),)}, milestone_pages=("/search", f"/product/{best['id']}"))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.filter(walk, self.conditions_of(slots), "Price, lowest first")
        products = [one for one in walk.browser.page.controls if one.element.getparent().tag == "li"]
        walk.click("link", products[0].name)
        choose_variant(walk, slots["colour"], slots["size"], 1)


class OrderTemplate(WebTemplate):
    """Base of templates that place an order. Slots: ``items`` and ``shipping``."""

    site, intent = "shop", "order"

    def address(self, database: Database, slots: Slots) -> tuple[str, str, str, str]:
        """Return name, street, city and postcode of the delivery address."""
        raise NotImplementedError

    def goal(self, database: Database, slots: Slots) -> Goal:
        content = ", ".join(f"{item[0]} x {item[4]}" for item in sorted(slots["items"]))
        row = ("Processing", *self.address(database, slots), slots["shipping"], content)
        return Goal(added={"orders": (row,)}, milestone_pages=("/cart", "/checkout"))

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
