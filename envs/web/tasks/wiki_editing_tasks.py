"""Templates of the encyclopaedia that make changes: watch articles, stop watching, correct and update values."""

from __future__ import annotations

import sqlite3

from ..sites.encyclopaedia_content import MEASURES, NOTES, PLURALS, read_value
from ..sites.list_page import name_all
from ..wiki.world import MONTHS
from .draws import pick, pick_several, quote_titles
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk
from .wiki_reading_tasks import draw_measure, list_category, open_article, select_facts

SUMMARIES = ("as the text says", "new figures", "typing error", "see the talk of Monday", "census office")


def watch_article(walk: Walk, title: str, note: str) -> None:
    """Watch an article with a note."""
    open_article(walk, title)
    walk.fill("Note for yourself", note)
    walk.click("button", "Watch article")


def alter_value(rng: Rng, row: sqlite3.Row) -> str | None:
    """Return a value that differs from the value of the fact ``row`` in one part; None if that is no valid value."""
    kind = dict(MEASURES[row["kind"]])[row["label"]]
    if kind == "date":
        day, month, year = row["value"].split()
        others = [(str(place % 28 + 1), MONTHS[place % 12]) for place in rng.permutation(28).tolist()]
        other = next((one for one in others if one != (day, month)), None)
        return None if other is None else f"{other[0]} {other[1]} {year}"
    amount = row["amount"] + int(rng.integers(1, 9)) * int(rng.choice((-1, 1)))
    read = read_value(kind, str(max(1, amount)))
    return None if read is None or read[0] == row["value"] else read[0]


class _EditTask(WebTemplate):
    """Base of templates that edit values. Slots: "changes", tuples (article, title, label, value before, value after),
    and "summary"."""

    site, intent = "wiki", "edit"

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes, summary = slots["changes"], slots["summary"]
        removed = tuple((article, label, before) for article, _, label, before, _ in changes)
        added = tuple((article, label, after) for article, _, label, _, after in changes)
        edits = tuple((article, label, after, summary) for article, _, label, _, after in changes)
        pages = tuple(dict.fromkeys(f"/article/{article}" for article, *_ in changes))
        return Goal(removed={"facts": removed}, added={"facts": added, "edits": edits}, milestone_pages=pages)

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for title in dict.fromkeys(title for _, title, *_ in slots["changes"]):
            open_article(walk, title)
            walk.click("link", "Edit values")
            for _, other, label, _, after in slots["changes"]:
                if other == title:
                    walk.fill(label, after)
            walk.fill("Summary of the edit", slots["summary"])
            walk.click("button", "Save values")


@add_template
class CorrectValues(_EditTask):
    """Correct values that contradict the text of the article."""

    name = "correct-values"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        changes = []
        for row in pick_several(rng, select_facts(database), params["items"]):
            wrong = alter_value(rng, row)
            if wrong is None or any(row["article"] == one[0] for one in changes):
                return None
            changes.append((row["article"], row["title"], row["label"], wrong, row["value"]))
        return {"changes": tuple(changes), "summary": pick(rng, SUMMARIES), "named": params["constraints"] < 2}

    def ask(self, slots: Slots) -> str:
        titles = quote_titles(slots["changes"])
        where = f" under {quote_titles(slots['changes'], 2)}" if slots["named"] else ""
        return (
            f"In each of these articles one value at a glance{where} differs from what the text says: {titles}. Make "
            f'it that of the text, with the summary "{slots["summary"]}".'
        )

    def prepare(self, database: Database, slots: Slots) -> None:
        for article, _, label, wrong, _ in slots["changes"]:
            (kind,) = database.execute("SELECT kind FROM articles WHERE id = ?", (article,)).fetchone()
            read = read_value(dict(MEASURES[kind])[label], wrong)
            assert read is not None
            sql = "UPDATE facts SET value = ?, place = ?, amount = ? WHERE article = ? AND label = ?"
            database.execute(sql, (*read, article, label))


@add_template
class UpdateValues(_EditTask):
    """Write given new values in one or several articles."""

    name = "update-values"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        changes = []
        for row in pick_several(rng, select_facts(database), params["items"]):
            after = alter_value(rng, row)
            if after is None:
                return None
            changes.append((row["article"], row["title"], row["label"], row["value"], after))
        return {"changes": tuple(changes), "summary": pick(rng, SUMMARIES)}

    def ask(self, slots: Slots) -> str:
        changes = [f'"{label}" of "{title}" to {after}' for _, title, label, _, after in slots["changes"]]
        return f'Change these values at a glance, with the summary "{slots["summary"]}": {name_all(changes)}.'


@add_template
class WatchArticles(WebTemplate):
    """Watch articles, all with the same note."""

    site, name, intent = "wiki", "watch-articles", "watch"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT id, title FROM articles WHERE id NOT IN (SELECT article FROM watched) ORDER BY id"
        rows = pick_several(rng, database.execute(sql).fetchall(), params["items"])
        note = pick(rng, NOTES) if params["constraints"] > 1 else ""
        return {"articles": tuple((row["id"], row["title"]) for row in rows), "note": note}

    def ask(self, slots: Slots) -> str:
        note = f'the note "{slots["note"]}"' if slots["note"] else "no note"
        return f"Watch {quote_titles(slots['articles'])}, with {note}."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(added={"watched": tuple((article, slots["note"]) for article, _ in slots["articles"])})

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        for _, title in slots["articles"]:
            watch_article(walk, title, slots["note"])


@add_template
class WatchHighest(WebTemplate):
    """Watch the articles of a category with the highest values, up to a limit with more conditions."""

    site, name, intent, pages = "wiki", "watch-highest", "watch", ("/category/{kind}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        kind, label = draw_measure(rng)
        rows = select_facts(database, "a.kind = ? AND f.label = ?", kind, label)
        if not rows:
            return None
        high = pick(rng, rows)["amount"] if params["constraints"] > 1 else None
        ranked = sorted((row for row in rows if high is None or row["amount"] <= high), key=lambda row: -row["place"])
        number = params["items"]
        best = ranked[:number]
        if len(best) < number or (len(ranked) > number and ranked[number]["place"] == best[-1]["place"]):
            return None
        watched = {row[0] for row in database.execute("SELECT article FROM watched")}
        if any(row["article"] in watched for row in best):
            return None
        articles = tuple((row["article"], row["title"]) for row in best)
        return {"kind": kind, "label": label, "high": high, "articles": articles}

    def ask(self, slots: Slots) -> str:
        number = len(slots["articles"])
        what = "the article" if number == 1 else f"the {number} articles"
        limit = "" if slots["high"] is None else f", of those with at most {slots['high']}"
        return (
            f"In the category {PLURALS[slots['kind']]}, watch {what} with the highest or latest "
            f'"{slots["label"]}"{limit}, without a note.'
        )

    def goal(self, database: Database, slots: Slots) -> Goal:
        added = tuple((article, "") for article, _ in slots["articles"])
        return Goal(added={"watched": added}, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        list_category(walk, slots["kind"], slots["label"], high=slots["high"])
        for _, title in slots["articles"]:
            watch_article(walk, title, "")


@add_template
class StopWatching(WebTemplate):
    """Remove all articles of some categories, or all of these without a note, from the watch list."""

    site, name, intent = "wiki", "stop-watching", "watch"

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT a.id, a.title, a.kind, w.note FROM watched w JOIN articles a ON a.id = w.article ORDER BY w.id"
        rows = database.execute(sql).fetchall()
        kinds = dict.fromkeys(row["kind"] for row in pick_several(rng, rows, params["items"]))
        unmarked = params["constraints"] > 1
        gone = tuple(
            (row["id"], row["title"], row["note"])
            for row in rows
            if row["kind"] in kinds and not (unmarked and row["note"])
        )
        return {"kinds": tuple(kinds), "unmarked": unmarked, "gone": gone} if gone else None

    def ask(self, slots: Slots) -> str:
        kinds = name_all([PLURALS[kind] for kind in slots["kinds"]])
        which = "each article without a note" if slots["unmarked"] else "each article"
        return f"Take {which} that is in the category {kinds} off your watch list, and keep the others."

    def goal(self, database: Database, slots: Slots) -> Goal:
        return Goal(removed={"watched": tuple((article, note) for article, _, note in slots["gone"])})

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        walk.click("link", "Watch list")
        for _, title, _ in slots["gone"]:
            walk.click("button", f"Remove {title}")
