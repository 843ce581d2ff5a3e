"""Templates that need the widgets of a site's `DetailsPages`: what they ask about is not shown before one is used.

Each class of templates has a row for each site in `ROWS`.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping
from datetime import date

from ..sites.details import FIRST_EVENTS, MONTHS, MOST_CARDS, list_weeks
from ..sites.details_content import DETAILS, DetailsPages
from ..sites.list_page import name_all
from .draws import pick, pick_several, quote_titles
from .template import TEMPLATES, Database, Goal, Params, Rng, Slots, WebTemplate
from .walk import Walk

_TEXTS = ("please call first", "as agreed", "for the archive", "with many thanks", "to be checked", "handle with care")


class DetailsTemplate(WebTemplate):
    """Base of templates on the details of several objects.

    Attributes:
        more_objects: number of objects beyond that of the axis "items".

    Args:
        site: the name of the site.
        intent: the kind of task.
        search_box: the label of the site's search box.
        start: the link to the start page.
    """

    objects, pages = "objects", ("/details/{0}",)
    more_objects = 0

    def __init__(self, site: str, intent: str, search_box: str, start: str):
        self.site, self.intent = site, intent  # type: ignore[misc]
        self.search_box, self.start = search_box, start

    @property
    def details(self) -> DetailsPages:
        return DETAILS[self.site]

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        rows = database.execute(f"{self.details.sql} ORDER BY id").fetchall()
        chosen = pick_several(rng, rows, params["items"] + self.more_objects)
        objects = tuple((row["id"], row["title"], row["search"], row["link"]) for row in chosen)
        links = [row["link"] for row in rows]
        if any(links.count(link) > 1 for *_, link in objects):
            return None
        more = self.draw_more(rng, [title for _, title, _, _ in objects], params)
        return None if more is None else {"objects": objects, **more}

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots | None:
        """Draw the slots other than the objects, whose titles are given. Return None if this draw gives no task."""
        raise NotImplementedError(f"{type(self).__name__} must implement draw_more(rng, titles, params).")

    def words(self, slots: Slots) -> Mapping[str, str]:
        noun = f"{self.details.noun}{'s' if len(slots['objects']) > 1 else ''}"
        return {"which": f"the {noun} {quote_titles(slots['objects'])}"}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title, search, link in slots["objects"]:
            walk.look_up(self.search_box, search, link)
            walk.click("link", "Details and plans")
            self.use(walk, slots, title)

    def follow_from_start(self, walk: Walk, link: str) -> None:
        """Let the solver follow a link of the start page."""
        if walk.find("link", link) is None:
            walk.click("link", self.start)
        walk.click("link", link)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        """Let the solver use the widgets on the page with details of an object."""
        raise NotImplementedError(f"{type(self).__name__} must implement use(walk, slots, title).")


class ReadTemplate(DetailsTemplate):
    """Base of templates that ask for something hidden about each object."""

    def value_of(self, title: str, label: str) -> str:
        """Return what is asked for about the object with this title."""
        raise NotImplementedError(f"{type(self).__name__} must implement value_of(title, label).")

    def labels(self, title: str) -> list[str]:
        """Return the labels of what is hidden about the object with this title."""
        raise NotImplementedError(f"{type(self).__name__} must implement labels(title).")

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots | None:
        shared = [label for label in self.labels(titles[0]) if all(label in self.labels(title) for title in titles)]
        label = pick(rng, shared) if shared else ""
        values = {self.value_of(title, label) for title in titles} if label else ()
        return {"label": label} if len(values) == len(titles) else None

    def ask(self, slots: Slots) -> str:
        form = "Answer with this only." if len(slots["objects"]) == 1 else "Answer with all, separated by commas."
        return f"{super().ask(slots)} {form}"

    def goal(self, database: Database, slots: Slots) -> Goal:
        values = [self.value_of(title, slots["label"]) for _, title, *_ in slots["objects"]]
        kind = "text" if len(values) == 1 else "list"
        return Goal(", ".join(values), kind, milestone_pages=self.paths(slots))


class ReadDetail(ReadTemplate):
    """Report a detail in a tab or section that is closed at first."""

    name, question = "read-detail", 'According to the details, what is under "{label}" for {which}?'

    def value_of(self, title: str, label: str) -> str:
        return self.details.detail_of(title, label)

    def labels(self, title: str) -> list[str]:
        return list(self.details.hidden)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", self.details.panel_of(slots["label"]))


class ReadHistory(ReadTemplate):
    """Report the day of an event in a list that has to be loaded further."""

    name, question = "read-history", 'On which day, as YYYY-MM-DD, does the history say "{label}" for {which}?'

    def value_of(self, title: str, label: str) -> str:
        return next(day for day, event in self.details.history_of(title) if event == label)

    def labels(self, title: str) -> list[str]:
        return sorted(event for _, event in self.details.history_of(title)[FIRST_EVENTS:])

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", "Load more")


class ReadCode(ReadTemplate):
    """Report a code that is shown for the length of one action."""

    name, question = "read-code", "What is the {label} of {which}?"

    def value_of(self, title: str, label: str) -> str:
        return self.details.code_of(title)

    def labels(self, title: str) -> list[str]:
        return [self.details.code]

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", f"Show the {slots['label']}")


class PlanTemplate(DetailsTemplate):
    """Base of templates whose goal is rows of the table of plans."""

    def plans(self, slots: Slots) -> Mapping[str, str]:
        """Return name of a plan -> value, for each object."""
        raise NotImplementedError(f"{type(self).__name__} must implement plans(slots).")

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = tuple((one[0], *plan) for one in slots["objects"] for plan in self.plans(slots).items())
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))


class ConfirmAction(PlanTemplate):
    """Choose an item of a menu, and confirm it in a dialog."""

    name, question = "confirm-action", 'Do "{action}" for {which}.'

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {"action": pick(rng, self.details.actions)}

    def plans(self, slots: Slots) -> Mapping[str, str]:
        return {slots["action"]: "yes"}

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", "Actions")
        walk.confirm(slots["action"])


class ActOnMatch(ConfirmAction):
    """Find the object with a detail that is hidden at first, and choose an item of its menu."""

    name, more_objects = "act-on-match", 1
    question = 'One of {which} has "{value}" under "{label}". Do "{action}" for this one, and for no other.'

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots | None:
        label, target = pick(rng, list(self.details.hidden)), int(rng.integers(len(titles)))
        values = [self.details.detail_of(title, label) for title in titles]
        if values.count(values[target]) > 1:
            return None
        return {**super().draw_more(rng, titles, params), "label": label, "value": values[target], "target": target}

    def paths(self, slots: Slots) -> tuple[str, ...]:
        return super().paths(slots)[: slots["target"] + 1]

    def goal(self, database: Database, slots: Slots) -> Goal:
        rows = ((slots["objects"][slots["target"]][0], slots["action"], "yes"),)
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        super().solve(walk, {**slots, "objects": slots["objects"][: slots["target"] + 1]}, goal)

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        walk.click("button", self.details.panel_of(slots["label"]))
        if self.details.detail_of(title, slots["label"]) == slots["value"]:
            super().use(walk, slots, title)


class CopyCode(PlanTemplate):
    """Write the code of an object, which is shown for one action, as a plan of the object named after it."""

    name, more_objects = "copy-code", 1
    question = 'For {which}: write as "{note}" of each but the first the {code} of the one named before it.'

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        return {}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {**super().words(slots), "note": self.details.note, "code": self.details.code}

    def goal(self, database: Database, slots: Slots) -> Goal:
        pairs = itertools.pairwise(slots["objects"])
        rows = tuple((after[0], self.details.note, self.details.code_of(before[1])) for before, after in pairs)
        return Goal(added={"plans": rows}, milestone_pages=self.paths(slots))

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        titles = [title for _, title, *_ in slots["objects"]]
        place = titles.index(title)
        if place < len(titles) - 1:
            walk.click("button", f"Show the {self.details.code}")
            walk.read(self.details.code_of(title))
        if place > 0:
            walk.fill(self.details.note, self.details.code_of(titles[place - 1]))
            walk.click("button", "Save plans")


class FieldsTemplate(PlanTemplate):
    """Plan a day with a date picker, a place with a list of suggestions, or a text with a toolbar.

    Args:
        name: the name of the template.
        fields: the fields that it fills in: "day", "place", "note".
        *row: as for `DetailsTemplate`.
    """

    def __init__(self, name: str, fields: tuple[str, ...], *row: str):
        super().__init__(*row)
        self.name, self.fields = name, fields  # type: ignore[misc]

    def draw_more(self, rng: Rng, titles: list[str], params: Params) -> Slots:
        days = [day for month in MONTHS for week in list_weeks(*month) for day in week if day]
        # Each value is drawn, so that templates with other fields draw alike.
        drawn = {"day": pick(rng, days), "place": pick(rng, self.details.places), "note": pick(rng, _TEXTS)}
        return {**{name: drawn[name] for name in self.fields}, "style": pick(rng, ("Bold", "Quote"))}

    def ask(self, slots: Slots) -> str:
        pages, parts = self.details, []
        if "day" in slots:
            day = date.fromisoformat(slots["day"])
            parts.append(f'"{pages.day}" is {day.day} {day:%B %Y}')
        if "place" in slots:
            parts.append(
                f'"{pages.place}" is the one place that has "{find_hint(slots["place"], pages.places)}" in its name'
            )
        if "note" in slots:
            style = "in bold" if slots["style"] == "Bold" else "as a quote"
            parts.append(f'"{pages.note}" is the text "{slots["note"]}" {style}, made so by the toolbar')
        return f"Plan for {self.words(slots)['which']} that {name_all(parts)}."

    def plans(self, slots: Slots) -> Mapping[str, str]:
        pages, found = self.details, {}
        if "day" in slots:
            found[pages.day] = slots["day"]
        if "place" in slots:
            found[pages.place] = slots["place"]
        if "note" in slots:
            found[pages.note] = f"**{slots['note']}**" if slots["style"] == "Bold" else f"> {slots['note']}"
        return found

    def use(self, walk: Walk, slots: Slots, title: str) -> None:
        pages = self.details
        if "day" in slots:
            year, month, day = map(int, slots["day"].split("-"))
            walk.click("button", f"Choose a date: {pages.day}")
            for _ in range(MONTHS.index((year, month))):
                walk.click("button", "Next month")
            walk.click("button", str(day))
        if "place" in slots:
            walk.fill(pages.place, find_hint(slots["place"], pages.places))
            if slots["style"] == "Bold":
                walk.click("button", slots["place"])
            else:
                walk.press_enter("textbox", pages.place)
        if "note" in slots:
            walk.fill(pages.note, slots["note"])
            walk.click("button", slots["style"])
        walk.click("button", "Save plans")


def find_hint(place: str, places: tuple[str, ...]) -> str:
    """Return the first word of a place's name that is in no other name."""
    words = place.replace(",", "").split()
    return next(word for word in words if sum(word.lower() in one.lower() for one in places) == 1)


class BestOfTable(DetailsTemplate):
    """Report the object with the smallest or largest value in a table that has to be sorted or loaded further."""

    name, answer, pages, objects = "best-of-table", "best", ("/table",), ""
    question = "Which {noun} of all has the {words}? Answer with its name as the table has it."

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        pages = self.details
        every = database.execute(pages.sql).fetchall()
        found = []
        for place, (label, column) in enumerate(pages.columns.items(), 4):
            for falls, words in ((False, column.least), (True, column.most)):
                if not words:
                    continue
                rows = sorted(every, key=operator.itemgetter(place), reverse=falls)
                if rows[0][place] != rows[1][place]:
                    found.append({"best": rows[0]["title"], "label": label, "words": words, "falls": falls})
        return pick(rng, found) if found else None

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"noun": self.details.noun}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.follow_from_start(walk, f"Table of all {self.details.noun}s")
        for _ in range(1 + slots["falls"]):
            walk.click("button", slots["label"])


class MoveCards(PlanTemplate):
    """Move cards into a lane of a board."""

    name, pages = "move-cards", ("/lanes",)
    question = 'On the board, put {which} into the lane "{lane}".'

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        pages = self.details
        rows = database.execute(f"{pages.sql} ORDER BY id LIMIT {MOST_CARDS}").fetchall()
        chosen = pick_several(rng, rows, params["items"])
        titles = [row["title"] for row in rows]
        if any(titles.count(row["title"]) > 1 for row in chosen):
            return None
        return {"objects": tuple((row["id"], row["title"]) for row in chosen), "lane": pick(rng, pages.lanes[1:])}

    def plans(self, slots: Slots) -> Mapping[str, str]:
        return {"Lane": slots["lane"]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.follow_from_start(walk, "Board")
        for _, title in slots["objects"]:
            walk.click("button", f"Grab {title}")
            walk.click("button", f"Drop in {slots['lane']}")
        walk.click("button", "Save board")


FIELDS: Mapping[str, tuple[str, ...]] = {
    "plan-day": ("day",),
    "plan-place": ("place",),
    "plan-note": ("note",),
    "plan-all": ("day", "place", "note"),
}
"""Name of a template of fields -> its fields."""
ROWS: Mapping[str, tuple[str, str, str]] = {
    "shop": ("account", "Search products", "Corner Goods"),
    "booking": ("write", "Search houses and rooms", "Quiet Coast"),
    "forum": ("bookmark", "Search threads", "Village Forum"),
    "tracker": ("plan", "Search tickets", "Lighthouse Tracker"),
    "admin": ("edit", "Search users", "Harbour Admin"),
    "wiki": ("watch", "Search articles", "Open Almanac"),
}
"""Name of a site -> intent of templates that change something, label of the search box, link to the start page."""


def _templates(site: str, intent: str, *row: str) -> list[DetailsTemplate]:
    found: list[DetailsTemplate] = [kind(site, "report", *row) for kind in (ReadDetail, ReadHistory, ReadCode)]
    found += [FieldsTemplate(name, fields, site, intent, *row) for name, fields in FIELDS.items()]
    found += [BestOfTable(site, "compare", *row)]
    found += [kind(site, intent, *row) for kind in (ConfirmAction, ActOnMatch, CopyCode)]
    return [*found, MoveCards(site, intent, *row)] if DETAILS[site].lanes else found


for _site, _row in ROWS.items():
    for _one in _templates(_site, *_row):
        TEMPLATES.add(f"{_site}/{_one.name}", _one)
