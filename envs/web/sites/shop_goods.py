"""Contents of `shop`, drawn from a seed: products with variants and reviews, and a customer with past orders.

Names are combined from lists of words, so that some differ in one word only. Prices are in cents. The date is always
`TODAY`.
"""

from __future__ import annotations

import sqlite3
from datetime import date, timedelta
from typing import Any

import numpy as np

from .databases import insert_rows

TODAY = date(2026, 5, 4)
# Category -> pairs (kind of product, base price in whole units); clothes come in sizes.
CATEGORIES: dict[str, tuple[tuple[str, int], ...]] = {
    "Lighting": (("Desk Lamp", 38), ("Floor Lamp", 85), ("Lantern", 24), ("Reading Light", 19), ("Table Lamp", 45)),
    "Kitchen": (("Kettle", 42), ("Mug", 11), ("Cutting Board", 23), ("Teapot", 34), ("Saucepan", 47)),
    "Clothing": (("Jacket", 92), ("Sweater", 58), ("T-Shirt", 18), ("Raincoat", 75), ("Scarf", 21)),
    "Office": (("Notebook", 9), ("Desk Organiser", 27), ("Fountain Pen", 31), ("Bookend", 16), ("Wall Calendar", 14)),
    "Garden": (("Watering Can", 26), ("Plant Pot", 13), ("Trowel", 12), ("Bird Feeder", 29), ("Garden Chair", 66)),
    "Travel": (("Backpack", 79), ("Suitcase", 120), ("Water Bottle", 17), ("Neck Pillow", 22), ("Travel Adapter", 20)),
}
SIZED = "Clothing"
SIZES = ("Small", "Medium", "Large")
COLOURS = ("Black", "Blue", "Green", "Red", "White", "Yellow")
BRANDS = ("Alder & Co", "Brightwell", "Castelló", "Dunmore", "Estrella", "Fjordhaus", "Grünwald", "Harrow")
STYLES = ("Classic", "Compact", "Folding", "Nordic", "Rustic", "Slim", "Sturdy", "Vintage")
SERIES = ("", " Mini", " Plus", " II")
SHIPPING = {"Standard": 499, "Express": 1299, "Pickup": 0}
REASONS = ("Arrived damaged", "Wrong size", "Not as described", "No longer needed")
STATUSES = ("Processing", "Shipped", "Delivered", "Delivered", "Cancelled")
PEOPLE = ("Robin Vega", "Sam Okafor", "Noor Haddad", "Alex Lindqvist", "Maya Costa", "Jules Martin", "Kim Novak")
STREETS = ("12 Harbour Lane", "7 Mill Road", "48 Station Street", "3 Orchard Close", "26 Castle Hill", "91 River Walk")
CITIES = ("Ashford", "Bexley", "Corran", "Dalby", "Elmstead", "Fairview")
POSTCODES = ("10412", "20977", "31805", "44260", "58133", "69714")
PRAISE = ("Just what I needed", "Well made", "Good value", "A lovely gift", "Sehr schön", "Better than I expected")
BLAME = ("Not for me", "Smaller than I thought", "Arrived late", "The colour is off", "Feels cheap", "It broke")
BODIES = (
    "I have used it every day for a month.",
    "The colour is a little darker than in the picture.",
    "My sister bought one as well.",
    "It came well packed and on time.",
    "C’est parfait pour la maison.",
    "I would buy it again.",
)


def fill_shop(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables of the shop: ``size`` products in up to three colours (clothes also in three sizes), reviews, the
    customer's account, orders and wish list."""
    kinds = [(category, noun, price) for category, nouns in CATEGORIES.items() for noun, price in nouns]
    # Cycle through the kinds, so that each kind has several products.
    shown = [kinds[index] for index in rng.permutation(len(kinds))[: max(6, size // 4)].tolist()]
    names: set[str] = set()
    products: list[tuple[Any, ...]] = []
    variants: list[tuple[Any, ...]] = []
    reviews: list[tuple[Any, ...]] = []
    draws = rng.integers(0, 1 << 30, (size, 12)).tolist()
    for number, draw in enumerate(draws, 1):
        category, noun, price = shown[draw[0] % len(shown)]
        style, series = STYLES[draw[1] % len(STYLES)], SERIES[draw[2] % len(SERIES)]
        while (name := f"{style} {noun}{series}") in names:
            draw[1] += 1
            draw[2] += draw[1] % len(STYLES) == 0
            style, series = STYLES[draw[1] % len(STYLES)], SERIES[draw[2] % len(SERIES)]
        names.add(name)
        brand = BRANDS[draw[3] % len(BRANDS)]
        cents = price * (60 + draw[4] % 90) // 100 * 100 + (0, 25, 50, 99)[draw[5] % 4]
        colours = [COLOURS[(draw[6] + step * 2) % len(COLOURS)] for step in range(1 + draw[7] % 3)]
        products.append((number, name, brand, category, f"{name} by {brand}: made to last, and easy to look after."))
        sizes = SIZES if category == SIZED else ("",)
        for place, colour in enumerate(colours):
            for step, label in enumerate(sizes):
                stock = 0 if (draw[8] >> place) % 7 == 0 and place else 5 + (draw[9] + place * 3 + step) % 16
                variants.append((number, label, colour, cents + 300 * step, stock))
        for place in range(draw[10] % 7):
            stars = 1 + min(4, ((draw[11] >> 3 * place) % 8 + draw[8] % 4) // 2)
            title = (PRAISE if stars > 3 else BLAME)[(draw[3] + place) % 6]
            reviews.append((number, PEOPLE[1 + (draw[1] + place) % 6], stars, title, BODIES[(draw[2] + place) % 6]))
    insert_rows(database, "products (id, name, brand, category, description)", products)
    insert_rows(database, "variants (product, size, colour, price, stock)", variants)
    insert_rows(database, "reviews (product, author, stars, title, body)", reviews)
    home = rng.integers(0, 6, 3).tolist()
    address = (PEOPLE[0], STREETS[home[0]], CITIES[home[1]], POSTCODES[home[2]], "555 0100")
    database.execute("INSERT INTO account VALUES (1, ?, ?, ?, ?, ?)", address)
    _fill_orders(database, variants, address[:4], rng)
    saved = rng.permutation(size)[: int(rng.integers(2, 5))].tolist()
    insert_rows(database, "wishlist (product)", [(product + 1,) for product in saved])


def _fill_orders(
    database: sqlite3.Connection, variants: list[tuple[Any, ...]], address: tuple[str, ...], rng: np.random.Generator
) -> None:
    """Place six to nine orders, the newest last, with at least one of each status and no product in two orders."""
    count = int(rng.integers(6, 10))
    statuses = [STATUSES[place % len(STATUSES)] for place in rng.permutation(count).tolist()]
    order_of = rng.permutation(len(variants)).tolist()
    used: set[int] = set()
    orders, lines = [], []
    number, day = 1000 + int(rng.integers(1, 900)), TODAY - timedelta(days=12 * count)
    for status in statuses:
        number += int(rng.integers(1, 30))
        day += timedelta(days=int(rng.integers(2, 12)))
        shipping = list(SHIPPING)[int(rng.integers(3))]
        part: list[tuple[int, int, int, int]] = []
        while order_of and len(part) < 1 + number % 3:
            index = order_of.pop()
            if variants[index][0] not in used:
                used.add(variants[index][0])
                part.append((number, index + 1, 1 + index % 3, variants[index][3]))
        total = sum(quantity * price for _, _, quantity, price in part) + SHIPPING[shipping]
        orders.append((number, day.isoformat(), status, *address, shipping, total))
        lines += part
    insert_rows(database, "orders", orders)
    insert_rows(database, 'lines ("order", variant, quantity, price)', lines)
