"""Site "shop": search with filters, products with options, a cart, checkout, orders, returns, reviews, a wish list.

One customer is signed in. The server checks forms and shows error messages beside the fields.
"""

from __future__ import annotations

import sqlite3
from typing import Any
from urllib.parse import urlencode

import numpy as np
from werkzeug.exceptions import NotFound

from .details import HasDetails
from .exchange import Response, WebRequest
from .list_page import Filter, ListPage
from .shop_goods import BRANDS, CATEGORIES, COLOURS, REASONS, SHIPPING, TODAY, fill_shop
from .site import SITES, need_number, read_form, read_number, route

MOST_OF_ONE = 9
PRODUCTS = ListPage(
    path="/search",
    links=("Corner Goods", "{category}"),
    search_box="Search products",
    table="products p",
    columns="p.*",
    key="p.price, p.name",
    search="p.name || ' ' || p.brand || ' ' || p.category",
    most_words=8,
    filters={
        "category": Filter("p.category = ?", words="in the category {}".format),
        "brand": Filter("p.brand = ?", "Brand", "made by {}".format),
        "colour": Filter(
            "EXISTS (SELECT 1 FROM variants w WHERE w.product = p.id AND w.colour = ?)",
            "Colour",
            lambda colour: f"that can be had in {colour.lower()}",
        ),
        "stars": Filter(
            "p.stars >= ?",
            "Rating",
            "rated {} stars or more".format,
            read=lambda text: read_number(text, 1, 5, 0) or None,
            option="{} stars or more".format,
        ),
        "highest": Filter(
            "p.price <= 100 * ?",
            "Highest price",
            "that start at {} or less".format,
            read=lambda text: read_number(text, 1, 100_000, 0) or None,
            control="text",
        ),
    },
    sorts={
        "name": ("Name", "name"),
        "price": ("Price, lowest first", "price, name"),
        "price-down": ("Price, highest first", "price DESC, name"),
        "stars": ("Rating, best first", "stars DESC, name"),
    },
    per_page=8,
    join=lambda parts: ", ".join(parts.values()),
)
# Statement that must be run after every change of reviews or variants.
UPDATE_SUMMARIES = """
    UPDATE products SET price = (SELECT min(price) FROM variants WHERE product = products.id),
    stars = (SELECT round(avg(stars), 1) FROM reviews WHERE product = products.id),
    number = (SELECT count(*) FROM reviews WHERE product = products.id)
"""
_CART = """
    SELECT c.variant, c.quantity, v.size, v.colour, v.price, v.stock, p.id AS product, p.name,
    c.quantity * v.price AS sum FROM cart c
    JOIN variants v ON v.id = c.variant JOIN products p ON p.id = v.product ORDER BY c.id
"""
_LINES = """
    SELECT l.id, l.variant, l.quantity, l.price, v.size, v.colour, p.id AS product, p.name, t.reason
    FROM lines l JOIN variants v ON v.id = l.variant JOIN products p ON p.id = v.product
    LEFT JOIN returns t ON t.line = l.id WHERE l."order" = ? ORDER BY l.id
"""


class Shop(HasDetails):
    """Web application of the shop; see the module."""

    name = "shop"
    schema = """
        CREATE TABLE products (
            id INTEGER PRIMARY KEY, name TEXT, brand TEXT, category TEXT, description TEXT,
            price INTEGER, stars REAL, number INTEGER
        );
        CREATE TABLE variants (
            id INTEGER PRIMARY KEY, product INTEGER, size TEXT, colour TEXT, price INTEGER, stock INTEGER
        );
        CREATE TABLE reviews (
            id INTEGER PRIMARY KEY, product INTEGER, author TEXT, stars INTEGER, title TEXT, body TEXT
        );
        CREATE INDEX variants_of ON variants (product);
        CREATE INDEX reviews_of ON reviews (product);
        CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT, street TEXT, city TEXT, postcode TEXT, phone TEXT);
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, placed TEXT, status TEXT,
            name TEXT, street TEXT, city TEXT, postcode TEXT, shipping TEXT, total INTEGER
        );
        CREATE TABLE lines (
            id INTEGER PRIMARY KEY, "order" INTEGER, variant INTEGER, quantity INTEGER, price INTEGER
        );
        CREATE TABLE returns (id INTEGER PRIMARY KEY, line INTEGER, reason TEXT, comment TEXT);
        CREATE TABLE wishlist (id INTEGER PRIMARY KEY, product INTEGER);
        CREATE TABLE cart (id INTEGER PRIMARY KEY, variant INTEGER, quantity INTEGER);
    """
    judged = {  # noqa: RUF012
        "cart": "SELECT variant, quantity FROM cart",
        "orders": """
            SELECT status, name, street, city, postcode, shipping,
            (SELECT group_concat(variant || ' x ' || quantity, ', ') FROM
            (SELECT variant, quantity FROM lines WHERE "order" = orders.id ORDER BY variant)) AS content FROM orders
        """,
        "returns": "SELECT line, reason, comment FROM returns",
        "reviews": "SELECT product, author, stars, title, body FROM reviews",
        "wishlist": "SELECT product FROM wishlist",
        "account": "SELECT name, street, city, postcode, phone FROM account",
    }

    @classmethod
    def fill(cls, database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
        fill_shop(database, size, rng)
        database.execute(UPDATE_SUMMARIES)

    def surroundings(self) -> dict[str, Any]:
        (number,) = self.database.execute("SELECT coalesce(sum(quantity), 0) FROM cart").fetchone()
        return {"in_cart": number, "categories": CATEGORIES}

    # Looking for products.

    @route("/")
    def home(self, request: WebRequest) -> Response:
        best = self.query(f"{PRODUCTS.sql} ORDER BY stars DESC, number DESC, name LIMIT 4")
        return self.page(request, "home.html", products=best)

    @route("/search")
    def search(self, request: WebRequest) -> Response:
        wanted = {name: request.args.get(name, "").strip() for name in PRODUCTS.fields}
        shown = PRODUCTS.show(self, wanted, request.args)
        shown["same"] = urlencode([(name, value) for name, value in request.args.items() if name != "page" and value])
        lists = {"brands": BRANDS, "colours": COLOURS, "least": read_number(wanted["stars"], 1, 5, 0)}
        lists["highest"] = read_number(wanted["highest"], 1, 100_000, 0)
        return self.page(request, "search.html", **lists, **shown)

    @route("/product/<int:product>")
    def product(self, request: WebRequest, product: int) -> Response:
        return self._show_product(request, product)

    def _show_product(self, request: WebRequest, product: int, **context: Any) -> Response:
        found = self.one("SELECT * FROM products WHERE id = ?", product)
        variants = self.query("SELECT * FROM variants WHERE product = ? ORDER BY id", product)
        reviews = self.query("SELECT * FROM reviews WHERE product = ? ORDER BY id DESC LIMIT 2", product)
        saved = bool(self.query("SELECT 1 FROM wishlist WHERE product = ?", product))
        options = {
            "sizes": list(dict.fromkeys(row["size"] for row in variants if row["size"])),
            "colours": list(dict.fromkeys(row["colour"] for row in variants)),
        }
        shown = {"variants": variants, "reviews": reviews, "saved": saved, **options}
        chosen = {"errors": {}, "form": {"quantity": "1", "size": "", "colour": ""}} | context
        return self.page(request, "product.html", product=found, **shown, **chosen)

    @route("/product/<int:product>/reviews")
    def reviews(self, request: WebRequest, product: int) -> Response:
        found = self.one(f"{PRODUCTS.sql} WHERE p.id = ?", product)
        pages = max(1, -(-found["number"] // 4))
        page = min(read_number(request.args.get("page"), 1, 10_000, 1), pages)
        reviews = self.query(
            f"SELECT * FROM reviews WHERE product = ? ORDER BY id LIMIT 4 OFFSET {4 * page - 4}", product
        )
        return self.page(request, "reviews.html", product=found, reviews=reviews, page_number=page, pages=pages)

    # Reviews, wish list and account.

    @route("/product/<int:product>/review", "GET", "POST")
    def review(self, request: WebRequest, product: int) -> Response:
        found = self.one(f"{PRODUCTS.sql} WHERE p.id = ?", product)
        form = read_form(request, "stars", "title", "body")
        if request.method == "GET":
            return self.page(request, "review.html", product=found, form=form, errors={})
        stars = read_number(form["stars"], 1, 5, 0)
        errors = {name: f"Enter a {name}." for name in ("title",) if not form[name]}
        if not stars:
            errors["stars"] = "Choose a number of stars."
        if len(form["body"]) < 10:
            errors["body"] = "Write at least 10 characters."
        if errors:
            return self.page(request, "review.html", product=found, form=form, errors=errors)
        (author,) = self.one("SELECT name FROM account")
        review = (product, author, stars, form["title"], form["body"])
        self.query("INSERT INTO reviews (product, author, stars, title, body) VALUES (?, ?, ?, ?, ?)", *review)
        self.query(f"{UPDATE_SUMMARIES} WHERE id = ?", product)
        return self.redirect(f"/product/{product}", "Thank you for your review.")

    @route("/wishlist", "GET", "POST")
    def wishlist(self, request: WebRequest) -> Response:
        if request.method == "GET":
            found = self.query(f"{PRODUCTS.sql} JOIN wishlist s ON s.product = p.id ORDER BY s.id")
            return self.page(request, "wishlist.html", products=found)
        product = need_number(request.form.get("product"))
        (name,) = self.one("SELECT name FROM products WHERE id = ?", product)
        self.query("DELETE FROM wishlist WHERE product = ?", product)
        if request.form.get("action") == "remove":
            return self.redirect("/wishlist", f"{name} is no longer on your wish list.")
        self.query("INSERT INTO wishlist (product) VALUES (?)", product)
        return self.redirect(f"/product/{product}", f"{name} is on your wish list.")

    @route("/account", "GET", "POST")
    def account(self, request: WebRequest) -> Response:
        names = ("name", "street", "city", "postcode", "phone")
        if request.method == "GET":
            return self.page(request, "account.html", form=dict(self.one("SELECT * FROM account")), errors={})
        form = read_form(request, *names)
        errors = _check_address(form)
        if not form["phone"]:
            errors["phone"] = "Enter a phone number."
        if errors:
            return self.page(request, "account.html", form=form, errors=errors)
        sql = "UPDATE account SET name = ?, street = ?, city = ?, postcode = ?, phone = ?"
        self.query(sql, *(form[name] for name in names))
        return self.redirect("/account", "Your details are saved.")

    # Cart and checkout.

    @route("/cart")
    def cart(self, request: WebRequest) -> Response:
        lines = self.query(_CART)
        return self.page(request, "cart.html", lines=lines, total=sum(line["sum"] for line in lines))

    @route("/cart/add", "POST")
    def add_to_cart(self, request: WebRequest) -> Response:
        product = need_number(request.form.get("product"))
        form = read_form(request, "size", "colour", "quantity")
        variants = self.query("SELECT * FROM variants WHERE product = ?", product)
        errors = {}
        if any(row["size"] for row in variants) and not form["size"]:
            errors["size"] = "Choose a size."
        if not form["colour"]:
            errors["colour"] = "Choose a colour."
        quantity = read_number(form["quantity"], 1, MOST_OF_ONE, 0)
        if not quantity:
            errors["quantity"] = f"Enter a number from 1 to {MOST_OF_ONE}."
        variant = next(
            (row for row in variants if (row["size"], row["colour"]) == (form["size"], form["colour"])), None
        )
        if not errors and (variant is None or variant["stock"] < quantity):
            errors["colour"] = "This choice is sold out."
        if errors or variant is None:
            return self._show_product(request, product, errors=errors, form=form)
        there = self.query("SELECT quantity FROM cart WHERE variant = ?", variant["id"])
        total = min(quantity + (there[0][0] if there else 0), MOST_OF_ONE)
        if there:
            self.query("UPDATE cart SET quantity = ? WHERE variant = ?", total, variant["id"])
        else:
            self.query("INSERT INTO cart (variant, quantity) VALUES (?, ?)", variant["id"], quantity)
        return self.redirect("/cart", "Added to your cart.")

    @route("/cart/change", "POST")
    def change_cart(self, request: WebRequest) -> Response:
        variant = need_number(request.form.get("variant"))
        quantity = read_number(request.form.get("quantity"), 0, MOST_OF_ONE, -1)
        self.one("SELECT 1 FROM cart WHERE variant = ?", variant)
        if request.form.get("action") == "remove" or quantity == 0:
            self.query("DELETE FROM cart WHERE variant = ?", variant)
            return self.redirect("/cart", "Removed from your cart.")
        if quantity < 0:
            return self.redirect("/cart", f"The quantity must be a number from 0 to {MOST_OF_ONE}.")
        self.query("UPDATE cart SET quantity = ? WHERE variant = ?", quantity, variant)
        return self.redirect("/cart", "Your cart is updated.")

    @route("/checkout", "GET", "POST")
    def checkout(self, request: WebRequest) -> Response:
        lines = self.query(_CART)
        if not lines:
            return self.redirect("/cart", "Your cart is empty.")
        total = sum(line["sum"] for line in lines)
        shown = {"lines": lines, "total": total, "methods": SHIPPING}
        if request.method == "GET":
            form = {**dict(self.one("SELECT * FROM account")), "shipping": "Standard", "terms": ""}
            return self.page(request, "checkout.html", form=form, errors={}, **shown)
        form = read_form(request, "name", "street", "city", "postcode", "shipping", "terms")
        errors = _check_address(form)
        if form["shipping"] not in SHIPPING:
            errors["shipping"] = "Choose a way of delivery."
        if form["terms"] != "yes":
            errors["terms"] = "Accept the terms of sale."
        if errors:
            return self.page(request, "checkout.html", form=form, errors=errors, **shown)
        (number,) = self.one("SELECT coalesce(max(id), 1000) + 1 FROM orders")
        address = (form["name"], form["street"], form["city"], form["postcode"], form["shipping"])
        order = (number, TODAY.isoformat(), "Processing", *address, total + SHIPPING[form["shipping"]])
        self.query("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", *order)
        for line in lines:
            values = (number, line["variant"], line["quantity"], line["price"])
            self.query('INSERT INTO lines ("order", variant, quantity, price) VALUES (?, ?, ?, ?)', *values)
            self.query("UPDATE variants SET stock = max(0, stock - ?) WHERE id = ?", line["quantity"], line["variant"])
        self.query("DELETE FROM cart")
        return self.redirect(f"/orders/{number}", "Thank you for your order.")

    # Orders and returns.

    @route("/orders")
    def orders(self, request: WebRequest) -> Response:
        return self.page(request, "orders.html", orders=self.query("SELECT * FROM orders ORDER BY id DESC"))

    @route("/orders/<int:order>")
    def order(self, request: WebRequest, order: int) -> Response:
        found = self.one("SELECT * FROM orders WHERE id = ?", order)
        return self.page(request, "order.html", order=found, lines=self.query(_LINES, order), methods=SHIPPING)

    @route("/orders/<int:order>/cancel", "POST")
    def cancel(self, request: WebRequest, order: int) -> Response:
        self.one("SELECT 1 FROM orders WHERE id = ? AND status = 'Processing'", order)
        self.query("UPDATE orders SET status = 'Cancelled' WHERE id = ?", order)
        return self.redirect(f"/orders/{order}", f"Order {order} is cancelled.")

    @route("/orders/<int:order>/return/<int:line>", "GET", "POST")
    def send_back(self, request: WebRequest, order: int, line: int) -> Response:
        found = self.one("SELECT * FROM orders WHERE id = ? AND status = 'Delivered'", order)
        sent = next((row for row in self.query(_LINES, order) if row["id"] == line), None)
        if sent is None or sent["reason"]:
            raise NotFound
        form = read_form(request, "reason", "comment")
        errors = {}
        if request.method == "POST":
            if form["reason"] in REASONS:
                self.query("INSERT INTO returns (line, reason, comment) VALUES (?, ?, ?)", line, *form.values())
                return self.redirect(f"/orders/{order}", "Your return is registered.")
            errors["reason"] = "Choose a reason."
        return self.page(request, "return.html", order=found, line=sent, form=form, errors=errors, reasons=REASONS)


def _check_address(form: dict[str, str]) -> dict[str, str]:
    errors = {name: f"Enter a {name}." for name in ("name", "street", "city") if not form[name]}
    if not (form["postcode"].isascii() and form["postcode"].isdigit() and len(form["postcode"]) == 5):
        errors["postcode"] = "Enter a postcode of five digits."
    return errors


SITES.add(Shop.name, Shop)
