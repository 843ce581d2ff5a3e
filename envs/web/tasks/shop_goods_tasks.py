"""Templates of the shop about its goods: find and report, count, compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ..sites.shop import PRODUCTS
from ..sites.shop_goods import BRANDS, CATEGORIES, COLOURS
from .listing_templates import BestTemplate, CountTemplate, ListingTemplate, OpeningTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template, pick, pick_several
from .walk import Walk


def name_choice(colour: str, size: str) -> str:
    """A variant in words."""
    return f"{colour}, size {size}" if size else colour


@add_template
class ReportPrice(WebTemplate):
    """Report the price of a product in a colour and size."""

    site, name, intent, pages = "shop", "report-price", "report", ("/product/{product}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, database.execute("SELECT id, product, colour, size FROM variants ORDER BY id").fetchall())
        (name,) = database.execute("SELECT name FROM products WHERE id = ?", (row["product"],)).fetchone()
        return {"variant": row["id"], "product": row["product"], "name": name, "choice": (row["colour"], row["size"])}

    def ask(self, slots: Slots) -> str:
        return f"How much does the {slots['name']} cost ({name_choice(*slots['choice'])})? Answer with the price."

    def goal(self, database: Database, slots: Slots) -> Goal:
        (cents,) = database.execute("SELECT price FROM variants WHERE id = ?", (slots["variant"],)).fetchone()
        return Goal(f"{cents // 100}.{cents % 100:02d}", "number", pages=self.paths(slots))

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
        return Goal(author, pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        PRODUCTS.open_row(walk, slots["name"])
        link = next((one.name for one in walk.browser.page.controls if one.name.startswith("All ")), "")
        lines = {line.name for line in walk.browser.page.lines}
        if not any(line.startswith(f"{slots['title']}, ") for line in lines):
            walk.click("link", link)
            while not any(line.name.startswith(f"{slots['title']}, ") for line in walk.browser.page.lines):
                walk.click("link", "Next page")


# Filters besides the category, with values to draw from.
_VALUES = (("brand", BRANDS), ("colour", COLOURS), ("stars", (2, 3, 4)), ("highest", (20, 40, 60, 80)))


class ProductTemplate(ListingTemplate):
    """Base of templates about the products of a category that meet conditions."""

    site, listing = "shop", PRODUCTS
    # Minimum number of products that meet the conditions.
    fewest = 1

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        for _ in range(12):
            places = sorted(rng.permutation(len(_VALUES))[: params["constraints"] - 1].tolist())
            conditions = {"category": pick(rng, list(CATEGORIES))}
            conditions |= {name: pick(rng, values) for name, values in (_VALUES[place] for place in places)}
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
        return Goal(self.rows(database, slots)[0]["name"], pages=self.paths(slots))


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
