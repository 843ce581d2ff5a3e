"""Long tasks on one to three sites: a deed for many objects, errands, figures that are added up, answers that are
carried to another site, and clues on two sites.

Most solutions have 20 to 60 actions. The rows are below the classes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from ..sites.portal import TITLES
from .across_clues import ClueTemplate, FinalAction
from .draws import pick_several
from .parts import PartsTemplate, TaskPart, ask_part, changed_rows, number_parts, place_of
from .template import TEMPLATES, Goal, Params, Rng, Slots
from .walk import Walk

_REQUEST = re.compile(r" Answer with [^.]*\.")
"""The sentence that says what to answer, in the question of a reading template."""


class LongTemplate(PartsTemplate):
    """Several tasks in one, which change different rows. Only the last one may have an answer.

    Args:
        name: the name of the template.
        intent: the kind of task.
        parts: the tasks.
        extra: number by which "items" is raised, so that the solution is long.
    """

    site = "long"

    def __init__(self, name: str, intent: str, *parts: TaskPart, extra: int = 0):
        self.name, self.intent, self.parts, self.extra = name, intent, parts, extra

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        slots = super().draw(rng, database, {**params, "items": params["items"] + self.extra})
        if slots is None:
            return None
        seen: set[Any] = set()
        for part, own in self.pairs(slots):
            # The rows that a part changes must be there, unchanged by the others, and it must change some.
            rows = changed_rows(part.goal(database, own))
            if rows & seen or not (rows or part is self.parts[-1]):
                return None
            seen |= rows
        return slots


class CollectTemplate(LongTemplate):
    """Several figures of one kind that are added up."""

    def __init__(self, name: str, part: TaskPart, number: int, step: int = 1):
        super().__init__(name, "collect")
        self.parts, self.number, self.step = (part,), number, step

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        (part,), drawn = self.parts, {}
        number = self.number + self.step * params["items"]
        for _ in range(4 * number):
            if len(drawn) == number:
                break
            slots = part.draw(rng, database, params)
            if slots is not None:
                goal = part.goal(database, slots)
                if _is_figure(goal.answer):
                    drawn[part.ask(slots)] = tuple(sorted(slots.items())), goal.answer
        if len(drawn) < number:
            return None
        return {"parts": tuple(own for own, _ in drawn.values()), "figures": tuple(one for _, one in drawn.values())}

    def pairs(self, slots: Slots) -> list[tuple[TaskPart, Any]]:
        return [(self.parts[0], dict(own)) for own in slots["parts"]]

    def ask(self, slots: Slots) -> str:
        (part,) = self.parts
        texts = [_REQUEST.sub("", ask_part(part, own)) for _, own in self.pairs(slots)]
        return f"{place_of(part.site)}, find out these figures, and answer with their sum. {number_parts(texts)}"

    def goal(self, database: Any, slots: Slots) -> Goal:
        total = sum(Decimal(figure.replace(",", "")) for figure in slots["figures"])
        return replace(super().goal(database, slots), answer=str(total), kind="number")

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for (part, own), figure in zip(self.pairs(slots), slots["figures"], strict=True):
            part.solve(walk, own, replace(goal, answer=figure))


def _is_figure(answer: str | None) -> bool:
    return re.fullmatch(r"\d[\d,]*(\.\d+)?", answer or "") is not None


class CarryTemplate(LongTemplate):
    """Answers found on some sites that are written down on another one.

    Args:
        name: the name of the template.
        sources: the tasks that have the answers.
        sink: a task that writes one text, the only one in its slot ``texts``.
    """

    def __init__(self, name: str, sources: Sequence[TaskPart], sink: TaskPart):
        super().__init__(name, "carry", *sources, TaskPart(sink.template, {**sink.params, "items": 1}))

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        slots = PartsTemplate.draw(self, rng, database, params)
        if slots is None:
            return None
        *sources, (_, own) = self.pairs(slots)
        answers = [part.goal(database, each).answer or "" for part, each in sources]
        text = "; ".join(answers)
        if not all(answers):
            return None
        return {
            "parts": (*slots["parts"][:-1], tuple(sorted({**own, "texts": (text,)}.items()))),
            "answers": tuple(answers),
        }

    def ask(self, slots: Slots) -> str:
        *sources, (sink, own) = self.pairs(slots)
        marks = [f"ANSWER {place}" if len(sources) > 1 else "ANSWER" for place in range(1, len(sources) + 1)]
        asked = [
            part.ask(each).replace("Answer with", f"{mark} is")
            for (part, each), mark in zip(sources, marks, strict=True)
        ]
        written = sink.ask({**own, "texts": ("; ".join(marks),)})
        rest = "Put what you found in place of ANSWER, written as on the page."
        return f"Find this out. {number_parts(asked)} Then write it down. {written} {rest}"

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        *sources, (sink, own) = self.pairs(slots)
        for (part, each), answer in zip(sources, slots["answers"], strict=True):
            part.solve(walk, each, replace(goal, answer=answer))
        sink.solve(walk, own, goal)


class BuyWishes(LongTemplate):
    """Return a product, and order all products on the wish list up to a price."""

    # Products with one variant, so that there is nothing to choose.
    _products = """
        SELECT p.id, p.name, p.price, v.id AS variant, v.colour FROM products p JOIN variants v ON v.product = p.id
        GROUP BY p.id HAVING count(*) = 1 AND v.size = '' AND v.stock >= 5 ORDER BY p.id
    """

    def __init__(self) -> None:
        super().__init__("wishes-under-budget", "errands", TaskPart("shop/return-product"), TaskPart("shop/buy"))

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        slots, number = super().draw(rng, database, params), params["items"] + 2
        chosen = pick_several(rng, database["shop"].execute(self._products).fetchall(), number + 2)
        ranked = sorted(chosen, key=lambda row: row["price"])
        if slots is None or len(ranked) < number + 1 or ranked[number - 1]["price"] == ranked[number]["price"]:
            return None
        items = tuple((row["variant"], row["name"], row["colour"], "", 1) for row in ranked[:number])
        bought = {**dict(slots["parts"][1]), "items": items}
        highest, wishes = ranked[number - 1]["price"], tuple(row["id"] for row in chosen)
        return {"parts": (slots["parts"][0], tuple(sorted(bought.items()))), "highest": highest, "wishes": wishes}

    def ask(self, slots: Slots) -> str:
        (part, own), (_, bought) = self.pairs(slots)
        highest = f"{slots['highest'] // 100}.{slots['highest'] % 100:02d}"
        return (
            f"{part.ask(own)} Then order, in one order, one of each product on my wish list that costs {highest} or "
            f"less, to my address, with {bought['shipping']} delivery. Leave the wish list as it is."
        )

    def prepare(self, database: Any, slots: Slots) -> None:
        super().prepare(database, slots)
        database["shop"].execute("DELETE FROM wishlist")
        rows = [(product,) for product in slots["wishes"]]
        database["shop"].executemany("INSERT INTO wishlist (product) VALUES (?)", rows)

    def goal(self, database: Any, slots: Slots) -> Goal:
        goal = super().goal(database, slots)
        return replace(goal, milestone_pages=("/shop/wishlist", *goal.milestone_pages))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", f"Go to the {TITLES['shop']}")
        walk.click("link", "Wish list")
        super().solve(walk, slots, goal)


class ChainTemplate(ClueTemplate):
    """Clues on two sites, which lead to an object on a third one."""

    site = "long"

    def __init__(self, name: str, clue_sites: tuple[str, ...], final_action: FinalAction):
        self.name, self.intent = name, "chain"
        self.clue_sites, self.final_action = clue_sites, final_action

    @property
    def axes(self) -> dict[str, Any]:
        return {"intent": self.intent}


# Name -> (task, number by which "items" is raised).
_LISTS = {
    "list-wishes": ("shop/add-wishes", 4),
    "list-gift": ("shop/buy-as-gift", 2),
    "list-order": ("shop/buy", 2),
    "list-cart": ("shop/edit-cart", 5),
    "list-reviews": ("shop/write-review", 2),
    "list-prices": ("shop/compare-products", 5),
    "list-comments": ("tracker/write-comments", 4),
    "list-fields": ("tracker/edit-fields", 2),
    "list-duplicates": ("tracker/close-duplicates", 2),
    "list-milestone": ("tracker/make-milestone", 3),
    "list-due-dates": ("tracker/set-due-dates", 2),
    "list-chain": ("tracker/close-chain", 2),
    "list-tickets": ("tracker/compare-tickets", 5),
    "list-invitations": ("admin/invite-users", 2),
    "list-team": ("admin/create-team", 4),
    "list-guests": ("booking/add-guest", 2),
    "list-stays": ("booking/move-bookings", 2),
    "list-rooms": ("booking/book-several-rooms", 1),
    "list-tour": ("booking/book-tour", 1),
    "list-cancellations": ("booking/cancel-bookings", 2),
    "list-calendars": ("booking/compare-calendars", 2),
    "list-bookmarks": ("forum/add-bookmarks", 4),
    "list-replies": ("forum/write-reply", 2),
    "list-votes": ("forum/vote-on-best", 3),
    "list-posts": ("forum/edit-post", 2),
    "list-values": ("wiki/update-values", 2),
    "list-watches": ("wiki/watch-articles", 4),
    "list-articles": ("wiki/compare-articles", 6),
}
for _name, (_template, _extra) in _LISTS.items():
    TEMPLATES.add(f"long/{_name}", LongTemplate(_name, "list", TaskPart(_template), extra=_extra))

# Errands on one site, and then on three.
_ERRANDS = {
    "errands-shop": ("shop/return-product", "shop/write-review", "shop/add-wishes", "shop/buy"),
    "errands-after-sales": ("shop/return-product", "shop/change-details", "shop/remove-wishes", "shop/buy-as-gift"),
    "errands-forum": ("forum/start-thread", "forum/add-bookmarks", "forum/vote-on-best", "forum/pin-thread"),
    "errands-tracker": ("tracker/file-ticket", "tracker/write-comments", "tracker/replace-blockers"),
    "errands-admin": ("admin/invite-users", "admin/change-settings", "admin/adjust-permissions", "admin/edit-user"),
    "errands-booking": ("booking/book-room", "booking/send-messages", "booking/update-profile"),
    "errands-wiki": ("wiki/watch-articles", "wiki/update-values", "wiki/report-value"),
    "errands-joiner": ("admin/invite-users", "tracker/file-ticket", "forum/start-thread"),
    "errands-trip": ("booking/book-room", "shop/buy", "wiki/watch-articles"),
    "errands-leaver": ("admin/edit-user", "tracker/edit-fields", "booking/cancel-bookings"),
    "errands-present": ("shop/buy-as-gift", "forum/write-reply", "booking/send-messages"),
    "errands-fair": ("booking/book-several-rooms", "tracker/file-ticket", "shop/add-to-cart"),
    "errands-library": ("wiki/update-values", "forum/add-bookmarks", "tracker/write-comments"),
    "errands-audit": ("admin/set-permissions", "tracker/make-milestone", "wiki/report-value"),
    "errands-party": ("booking/add-guest", "shop/buy", "forum/start-thread"),
    "errands-office": ("shop/add-to-cart", "admin/change-settings", "tracker/close-duplicates"),
}
for _name, _parts in _ERRANDS.items():
    TEMPLATES.add(f"long/{_name}", LongTemplate(_name, "errands", *map(TaskPart, _parts)))
TEMPLATES.add("long/wishes-under-budget", BuyWishes())

# Name -> (task with a figure, least number of figures without those of "items").
_FIGURES = {
    "collect-values": ("wiki/report-value", 7),
    "collect-prices": ("shop/report-price", 4),
    "collect-totals": ("shop/report-total", 2),
    "collect-posts": ("forum/count-posts", 2),
    "collect-estimates": ("tracker/sum-estimates", 2),
    "collect-users": ("admin/count-users", 3),
    "collect-stays": ("booking/report-price", 2),
}
for _name, (_template, _number) in _FIGURES.items():
    TEMPLATES.add(f"long/{_name}", CollectTemplate(_name, TaskPart(_template), _number))

_REPLY, _COMMENT, _MESSAGE = (
    TaskPart("forum/write-reply"),
    TaskPart("tracker/write-comments"),
    TaskPart("booking/send-messages"),
)
# Name -> (tasks with answers, task that writes them down); the last seven are on three sites.
_CARRIED = {
    "carry-price": (("shop/find-cheapest",), _REPLY),
    "carry-value": (("wiki/find-highest",), _COMMENT),
    "carry-lead": (("admin/report-lead",), _COMMENT),
    "carry-deadline": (("booking/report-deadline",), _REPLY),
    "carry-ticket": (("tracker/find-ticket",), _MESSAGE),
    "carry-price-and-value": (("shop/report-price", "wiki/report-article"), _REPLY),
    "carry-ticket-and-login": (("tracker/report-reporter", "admin/find-login"), _REPLY),
    "carry-thread-and-price": (("forum/find-thread", "shop/compare-products"), _COMMENT),
    "carry-house-and-link": (("booking/find-cheapest-room", "wiki/follow-backlinks"), _REPLY),
    "carry-article-and-post": (("wiki/compare-articles", "forum/report-top-reply"), _COMMENT),
    "carry-count-and-milestone": (("shop/count-products", "tracker/compare-milestones"), _MESSAGE),
    "carry-suspension-and-user": (("admin/report-suspension", "forum/compare-users"), _COMMENT),
}
for _name, (_sources, _sink) in _CARRIED.items():
    TEMPLATES.add(f"long/{_name}", CarryTemplate(_name, [TaskPart(one) for one in _sources], _sink))

_PRODUCT = FinalAction("shop/add-wishes", "product", lambda slots: slots["products"][0][1], {"items": 1})
_REVIEW = FinalAction("shop/write-review", "product", lambda slots: f"the {slots['products'][0][1]}", {"items": 1})
_CART = FinalAction("shop/add-to-cart", "product", lambda slots: slots["items"][0][1], {"items": 1})
_GIFT = FinalAction("shop/buy-as-gift", "product", lambda slots: slots["items"][0][1], {"items": 1})
_ROOM = FinalAction(
    "booking/book-room", "room", lambda slots: "the {} at {}".format(*slots["stays"][0][1:3]), {"items": 1}
)
_USER = FinalAction(
    "admin/move-users", "user", lambda slots: f"the user {slots['users'][0][1]}", {"items": 1, "constraints": 1}
)
_THREAD = FinalAction("forum/add-bookmarks", "thread", lambda slots: f'"{slots["threads"][0][1]}"', {"items": 1})
_TICKET = FinalAction(
    "tracker/write-comments", "ticket", lambda slots: 'the ticket "{}"'.format(slots["tickets"][0][1]), {"items": 1}
)
_CHAINS = {
    "chain-to-wish": (("tracker", "wiki"), _PRODUCT),
    "chain-to-review": (("tracker", "forum"), _REVIEW),
    "chain-to-cart": (("forum", "wiki"), _CART),
    "chain-to-gift": (("wiki", "forum"), _GIFT),
    "chain-to-room": (("tracker", "wiki"), _ROOM),
    "chain-to-user": (("forum", "tracker"), _USER),
    "chain-to-user-by-article": (("wiki", "tracker"), _USER),
    "chain-to-thread": (("tracker", "wiki"), _THREAD),
    "chain-to-ticket": (("forum", "wiki"), _TICKET),
}
for _name, _row in _CHAINS.items():
    TEMPLATES.add(f"long/{_name}", ChainTemplate(_name, *_row))
