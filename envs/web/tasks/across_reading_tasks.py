"""Templates across sites that are answered by reading the site that the clues lead to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .across_clues import ClueTemplate, Deed
from .template import Goal, Params, Rng, Slots, add_template

_PRICE = Deed("shop/report-price", "product", lambda slots: f"the {slots['name']}", {})
_VALUE = Deed("wiki/report-value", "article", lambda slots: slots["title"], {})


class _ValueTemplate(ClueTemplate):
    """Base of templates that report a value of an article."""

    intent, deed = "report", _VALUE

    def ask_deed(self, slots: Slots) -> str:
        return super().ask_deed(slots).replace("that article", "the subject of that article")


@add_template
class ReportNamedPrice(ClueTemplate):
    """Report the price of the product named by a forum reply."""

    name, intent, carriers, deed = "report-named-price", "report", ("forum",), _PRICE


@add_template
class ComparePrices(ClueTemplate):
    """Report the difference between a price in the shop and the price named by a forum reply."""

    name, intent, carriers, deed = "compare-prices", "report", ("forum",), _PRICE

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        slots = super().draw(rng, database, params)
        return slots and {**slots, "paid": int(rng.integers(200, 20_000))}

    def say(self, slots: Slots, name: str) -> str:
        # The decoy's price must differ.
        cents = slots["paid"] if name == slots["name"] else slots["paid"] + 150
        return f"At the market I paid {_write_price(cents)} for {name}."

    def ask_deed(self, slots: Slots) -> str:
        price = super().ask_deed(slots).removesuffix(" Answer with the price.")
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

    name, carriers = "report-named-value", ("forum",)


@add_template
class ReportTicketValue(_ValueTemplate):
    """Report a value of an article: a comment on a ticket names a thread, and a reply there names the article."""

    name, carriers = "report-ticket-value", ("tracker", "forum")


@add_template
class ReportTicketPrice(ClueTemplate):
    """Report the price of a product: a comment on a ticket names a thread, and a reply there names the product."""

    name, intent, carriers, deed = "report-ticket-price", "report", ("tracker", "forum"), _PRICE


def _write_price(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
