"""Templates of the shop about its goods: find and report, count, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from ..sites.shop_goods import BRANDS, CATEGORIES, COLOURS
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick, pick_several
from .walk import Walk

HOME = "Corner Goods"


def find_product(walk: Walk, name: str) -> None:
    """Search for a product by its name, and open its page."""
    walk.fill("Search products", name)
    walk.press_enter("searchbox", "Search products")
    walk.seek("link", name)


def name_choice(colour: str, size: str) -> str:
    """A variant in words."""
    return f"{colour}, size {size}" if size else colour


@add_template
class ReportPrice(WebTemplate):
    """Report the price of a product in a colour and size."""

    site, name, intent = "shop", "report-price", "report"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, database.execute("SELECT id, product, colour, size FROM variants ORDER BY id").fetchall())
        (name,) = database.execute("SELECT name FROM products WHERE id = ?", (row["product"],)).fetchone()
        return {"variant": row["id"], "product": row["product"], "name": name, "choice": (row["colour"], row["size"])}

    def ask(self, slots: Slots) -> str:
        return f"How much does the {slots['name']} cost ({name_choice(*slots['choice'])})? Answer with the price."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (cents,) = database.execute("SELECT price FROM variants WHERE id = ?", (slots["variant"],)).fetchone()
        return Goal(f"{cents // 100}.{cents % 100:02d}", "number", pages=(f"/product/{slots['product']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        find_product(walk, slots["name"])


@add_template
class ReportReviewer(WebTemplate):
    """Report the author of a product review, which may be on a later page of reviews."""

    site, name, intent = "shop", "report-reviewer", "report"

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

    def ask(self, slots: Slots) -> str:
        return f'Who wrote the review "{slots["title"]}" of the {slots["name"]}? Answer with the name.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        (author,) = database.execute("SELECT author FROM reviews WHERE id = ?", (slots["review"],)).fetchone()
        return Goal(author, pages=(f"/product/{slots['product']}",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        find_product(walk, slots["name"])
        link = next((one.name for one in walk.browser.page.controls if one.name.startswith("All ")), "")
        lines = {line.name for line in walk.browser.page.lines}
        if not any(line.startswith(f"{slots['title']}, ") for line in lines):
            walk.click("link", link)
            while not any(line.name.startswith(f"{slots['title']}, ") for line in walk.browser.page.lines):
                walk.click("link", "Next page")


class FilterTemplate(WebTemplate):
    """Base of templates about the products of a category that meet conditions, found with the search filters."""

    site = "shop"
    # Minimum number of products that meet the conditions.
    fewest = 1

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        for _ in range(12):
            kinds = sorted(rng.permutation(4)[: params["constraints"] - 1].tolist())
            conditions: dict[str, Any] = {"category": pick(rng, list(CATEGORIES))}
            for kind in kinds:
                name, values = (
                    ("brand", BRANDS),
                    ("colour", COLOURS),
                    ("stars", (2, 3, 4)),
                    ("highest", (20, 40, 60, 80)),
                )[kind]
                conditions[name] = pick(rng, values)
            slots = {"conditions": tuple(conditions.items())}
            found = matching(database, conditions)
            if len(found) >= self.fewest and (len(found) == 1 or found[0]["price"] < found[1]["price"]):
                return slots
        return None

    def apply_filters(self, walk: Walk, conditions: Mapping[str, Any], sort: str = "") -> None:
        walk.click("link", HOME)
        walk.click("link", conditions["category"])
        for name, label in (("brand", "Brand"), ("colour", "Colour")):
            if name in conditions:
                walk.select(label, conditions[name])
        if "stars" in conditions:
            walk.select("Rating", f"{conditions['stars']} stars or more")
        if "highest" in conditions:
            walk.fill("Highest price", str(conditions["highest"]))
        if sort:
            walk.select("Sort by", sort)
        if len(conditions) > 1 or sort:
            walk.click("button", "Apply filters")


def matching(database: Database, conditions: Mapping[str, Any]) -> list[sqlite3.Row]:
    """Return the products that meet conditions, the cheapest first."""
    clauses = {
        "category": "category = ?",
        "brand": "brand = ?",
        "colour": "id IN (SELECT product FROM variants WHERE colour = ?)",
        "stars": "stars >= ?",
        "highest": "price <= 100 * ?",
    }
    where = " AND ".join(clauses[name] for name in conditions)
    sql = f"SELECT id, name, price FROM products WHERE {where} ORDER BY price, name"
    return database.execute(sql, tuple(conditions.values())).fetchall()


def describe_conditions(conditions: Mapping[str, Any]) -> str:
    """The conditions in words, behind "products"."""
    words = [f"in the category {conditions['category']}"]
    if "brand" in conditions:
        words.append(f"made by {conditions['brand']}")
    if "colour" in conditions:
        words.append(f"that can be had in {conditions['colour'].lower()}")
    if "stars" in conditions:
        words.append(f"rated {conditions['stars']} stars or more")
    if "highest" in conditions:
        words.append(f"that start at {conditions['highest']} or less")
    return ", ".join(words)


@add_template
class CountProducts(FilterTemplate):
    """Count the products that meet conditions."""

    name, intent = "count-products", "report"

    def ask(self, slots: Slots) -> str:
        return f"How many products are there {describe_conditions(dict(slots['conditions']))}? Answer with the number."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(str(len(matching(database, dict(slots["conditions"])))), "number", pages=("/search",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.apply_filters(walk, dict(slots["conditions"]))


@add_template
class FindCheapest(FilterTemplate):
    """Name the cheapest product that meets conditions."""

    name, intent, fewest = "find-cheapest", "compare", 2

    def ask(self, slots: Slots) -> str:
        conditions = describe_conditions(dict(slots["conditions"]))
        return f"Which of the products {conditions} is the cheapest? Answer with its name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(matching(database, dict(slots["conditions"]))[0]["name"], pages=("/search",))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.apply_filters(walk, dict(slots["conditions"]), sort="Price, lowest first")


@add_template
class CompareProducts(WebTemplate):
    """Name the cheapest of several products, by opening their pages."""

    site, name, intent = "shop", "compare-products", "compare"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = database.execute("SELECT id, name, price FROM products ORDER BY id").fetchall()
        chosen = pick_several(rng, rows, params["items"] + 1)
        if len({row["price"] for row in chosen}) < len(chosen):
            return None
        return {"products": tuple((row["id"], row["name"]) for row in chosen)}

    def ask(self, slots: Slots) -> str:
        names = ", ".join(name for _, name in slots["products"])
        return f"Which of these has the lowest price: {names}? Answer with its name."

    def goal(self, database: Database, slots: Slots) -> Goal:
        prices = dict(database.execute("SELECT id, price FROM products").fetchall())
        best = min(slots["products"], key=lambda product: prices[product[0]])
        return Goal(best[1], pages=tuple(f"/product/{product}" for product, _ in slots["products"]))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, name in slots["products"]:
            find_product(walk, name)
