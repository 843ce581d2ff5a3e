"""Templates of the encyclopaedia that ask a question: report a fact, follow links, count, compare."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from ..sites.encyclopaedia_content import MEASURES, PLURALS
from ..wiki.wiki_relations import RELATIONS
from .draws import best_of, pick, pick_several
from .list_page_templates import OpeningTemplate
from .template import Database, Goal, Params, Rng, Slots, WebTemplate, add_template
from .walk import Walk

_FACTS = """
    SELECT f.article, f.label, f.relation, f.value, f.place, f.amount, a.title, a.kind FROM facts f
    JOIN articles a ON a.id = f.article
"""


SEARCH_BOX = "Search articles"


def select_facts(database: Database, where: str = "1", *values: Any) -> list[sqlite3.Row]:
    """Return the facts that meet an SQL condition, in which ``f`` is the table of facts and ``a`` that of articles.
    ``values`` fill in the question marks of the condition."""
    return database.execute(f"{_FACTS} WHERE {where} ORDER BY f.id", values).fetchall()


def draw_measure(rng: Rng, kinds: tuple[str, ...] = ("number", "year", "date")) -> tuple[str, str]:
    """Draw (category, label of a value that its articles have), where the value is of one of the ``kinds``."""
    return pick(rng, [(one, label) for one, some in MEASURES.items() for label, kind in some if kind in kinds])


def answer_with(relation: str) -> tuple[str, str]:
    """Return (form of the answer that a question for a relation asks for, name of the verifier)."""
    if RELATIONS[relation].value == "date":
        return "the date as the article has it", "text"
    return f"the {RELATIONS[relation].value}", "number"


def open_article(walk: Walk, title: str) -> None:
    """Search for an article by its title, and open it."""
    walk.look_up(SEARCH_BOX, title)


def list_category(
    walk: Walk, kind: str, label: str, low: int | None = None, high: int | None = None, word: str = ""
) -> None:
    """Show the articles of a category, ordered by a value, within limits of this value and with a word in the title."""
    walk.click("link", "Open Almanac")
    walk.click("link", PLURALS[kind])
    walk.fill("Words in the title", word)
    walk.select("Sort by", f"{label}, highest or latest first")
    walk.fill("At least", "" if low is None else str(low))
    walk.fill("At most", "" if high is None else str(high))
    walk.click("button", "Apply filters")


def describe_limits(label: str, low: int | None, high: int | None) -> str:
    """Return limits of a value in words: '"Pages" of at least 90 and at most 200'."""
    limits = [f"at {word} {limit}" for word, limit in (("least", low), ("most", high)) if limit is not None]
    return f'"{label}" of {" and ".join(limits)}'


class ArticleTemplate(WebTemplate):
    """Base of templates that report a value of an article. Slots: ``value``, and ``relation``, or ``relations`` of
    which the last one has the value."""

    site = "wiki"

    def goal(self, database: Database, slots: Slots) -> Goal:
        relation = slots["relations"][-1] if "relations" in slots else slots["relation"]
        return Goal(slots["value"].replace(",", ""), answer_with(relation)[1], milestone_pages=self.paths(slots))


@add_template
class ReportOldValue(WebTemplate):
    """Report a value before a change, from the history of an article, where the change has to be opened."""

    site, name, intent, answer, pages = "wiki", "report-old-value", "report", "old", ("/article/{article}/history",)
    question = (
        'According to the history of the article "{title}", what was the value of "{label}" before it was changed? '
        "Answer with this value only."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        facts = select_facts(database)
        row = pick(rng, facts)
        values = sorted({one["value"] for one in facts if one["label"] == row["label"]} - {row["value"]})
        # Later changes of other articles, which alone are on the start page.
        others = pick_several(rng, [one for one in facts if one["article"] != row["article"]], 5)
        if not values or len(others) < 5:
            return None
        later = tuple((one["article"], one["label"], one["value"]) for one in others)
        found = {name: row[name] for name in ("article", "title", "label", "value")}
        return {**found, "old": pick(rng, values), "later": later}

    def prepare(self, database: Database, slots: Slots) -> None:
        sql = "INSERT INTO edits (article, label, old, new, summary) VALUES (?, ?, ?, ?, ?)"
        change = (slots["article"], slots["label"], slots["old"], slots["value"], "Corrected after the register.")
        later = [(article, label, f"{value}?", value, "Checked.") for article, label, value in slots["later"]]
        database.executemany(sql, [change, *later])

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_article(walk, slots["title"])
        walk.click("link", "History")
        walk.click("button", slots["label"])


@add_template
class ReportValue(ArticleTemplate):
    """Report a number, a year or a date of an article."""

    name, intent, pages = "report-value", "report", ("/article/{article}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        row = pick(rng, select_facts(database))
        return {name: row[name] for name in ("article", "relation", "title", "value")}

    def ask(self, slots: Slots) -> str:
        question = RELATIONS[slots["relation"]].ask.format(slots["title"])
        return f"{question}? Answer with {answer_with(slots['relation'])[0]}."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_article(walk, slots["title"])


@add_template
class ReportArticle(WebTemplate):
    """Report the title of the article to which a relation leads from a given article; only the text states this."""

    site, name, intent, answer, pages = "wiki", "report-article", "report", "answer", ("/article/{article}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = """SELECT l.source AS article, l.relation, a.title, b.title AS answer FROM links l
                 JOIN articles a ON a.id = l.source JOIN articles b ON b.id = l.target
                 WHERE l.relation <> '' ORDER BY l.rowid"""
        return dict(pick(rng, database.execute(sql).fetchall()))

    def ask(self, slots: Slots) -> str:
        question = RELATIONS[slots["relation"]].ask.format(slots["title"])
        return f"{question}? Answer with the title of that article, as the link has it."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_article(walk, slots["title"])


@add_template
class FollowRelations(ArticleTemplate):
    """Follow relations from article to article, and report a value of the last article."""

    name, intent, objects, pages = "follow-relations", "follow", "path", ("/article/{0}",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        starts = database.execute("SELECT id, title FROM articles WHERE kind <> 'disambiguation' ORDER BY id")
        article, start = pick(rng, starts.fetchall())
        path, relations = [(article, start)], []
        sql = """SELECT l.target, a.title, l.relation FROM links l JOIN articles a ON a.id = l.target
                 WHERE l.source = ? AND l.relation <> '' ORDER BY l.rowid"""
        for _ in range(params["items"] + 1):
            steps = [row for row in database.execute(sql, (article,)) if (row["target"], row["title"]) not in path]
            if not steps:
                return None
            article, title, relation = pick(rng, steps)
            path.append((article, title))
            relations.append(relation)
        values = select_facts(database, "f.article = ?", article)
        if not values:
            return None
        row = pick(rng, values)
        return {"path": tuple(path), "relations": (*relations, row["relation"]), "value": row["value"]}

    def ask(self, slots: Slots) -> str:
        *before, last = slots["relations"]
        what = slots["path"][0][1]
        for relation in before:
            what = RELATIONS[relation].noun.format(what)
        question = RELATIONS[last].ask.format(what)
        return f"{question}? Answer with {answer_with(last)[0]}."

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        (_, start), *others = slots["path"]
        open_article(walk, start)
        for _, title in others:
            walk.click("link", title)


@add_template
class FollowBacklinks(WebTemplate):
    """Name the article with the highest value among the articles of a category that link to a given article."""

    site, name, intent, answer = "wiki", "follow-backlinks", "follow", "best"
    pages = ("/article/{target}/links",)
    question = (
        'Of the articles in the category {category} that link to "{title}", which has the highest value of "{label}"? '
        "Answer with its title."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        kind, label = draw_measure(rng, ("number", "year"))
        sql = """SELECT DISTINCT l.target, b.title FROM links l JOIN articles a ON a.id = l.source
                 JOIN articles b ON b.id = l.target WHERE a.kind = ? GROUP BY l.target HAVING count(*) > ?
                 ORDER BY l.target"""
        targets = database.execute(sql, (kind, min(params["items"], 2))).fetchall()
        if not targets:
            return None
        target, title = pick(rng, targets)
        where = "a.kind = ? AND f.label = ? AND a.id IN (SELECT source FROM links WHERE target = ?)"
        rows = select_facts(database, where, kind, label, target)
        best = best_of(rows, "place")
        if best is None or len(rows) > 10:
            return None
        linking = tuple((row["article"], row["title"]) for row in rows)
        return {"target": target, "title": title, "kind": kind, "label": label, "from": linking, "best": best["title"]}

    def words(self, slots: Slots) -> Mapping[str, str]:
        return {"category": PLURALS[slots["kind"]]}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_article(walk, slots["title"])
        walk.click("link", "What links here")
        walk.select("Category", PLURALS[slots["kind"]])
        walk.click("button", "Filter")
        list_category(walk, slots["kind"], slots["label"])


@add_template
class CountCategory(WebTemplate):
    """Count the articles of a category with a value within limits and, with more conditions, a word in the title."""

    site, name, intent, pages = "wiki", "count-category", "count", ("/category/{kind}",)
    question = (
        "How many articles in the category {category} have a value of {limits}{in_title}? Of dates, the year counts. "
        "Answer with the number."
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        kind, label = draw_measure(rng)
        rows = select_facts(database, "a.kind = ? AND f.label = ?", kind, label)
        if len(rows) < 3:
            return None
        low, high = sorted(row["amount"] for row in pick_several(rng, rows, 2))
        if params["constraints"] < 2:
            low, high = (low, None) if rng.random() < 0.5 else (None, high)
        # The third condition is on the title.
        word = pick(rng, rows)["title"].split()[0] if params["constraints"] > 2 else ""
        return {"kind": kind, "label": label, "low": low, "high": high, "word": word}

    def words(self, slots: Slots) -> Mapping[str, str]:
        limits = describe_limits(slots["label"], slots["low"], slots["high"])
        in_title = f' and "{slots["word"]}" in their title' if slots["word"] else ""
        return {"category": PLURALS[slots["kind"]], "limits": limits, "in_title": in_title}

    def goal(self, database: Database, slots: Slots) -> Goal:
        low = 0 if slots["low"] is None else slots["low"]
        high = 10**9 if slots["high"] is None else slots["high"]
        where = "a.kind = ? AND f.label = ? AND f.amount BETWEEN ? AND ? AND instr(lower(a.title), lower(?))"
        found = select_facts(database, where, slots["kind"], slots["label"], low, high, slots["word"])
        return Goal(str(len(found)), "number", milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        list_category(walk, slots["kind"], slots["label"], slots["low"], slots["high"], slots["word"])


@add_template
class CountLinks(WebTemplate):
    """Count the articles, all or those of one category, that link to a given article."""

    site, name, intent, pages = "wiki", "count-links", "count", ("/article/{target}/links",)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        sql = "SELECT l.target, b.title, a.kind FROM links l JOIN articles a ON a.id = l.source"
        rows = database.execute(f"{sql} JOIN articles b ON b.id = l.target ORDER BY l.rowid").fetchall()
        target, title, kind = pick(rng, rows)
        return {"target": target, "title": title, "kind": kind if params["constraints"] > 1 else ""}

    def ask(self, slots: Slots) -> str:
        kind = f" in the category {PLURALS[slots['kind']]}" if slots["kind"] else ""
        return f'How many articles{kind} link to "{slots["title"]}"? Answer with the number.'

    def goal(self, database: Database, slots: Slots) -> Goal:
        sql = "SELECT count(DISTINCT l.source) FROM links l JOIN articles a ON a.id = l.source WHERE l.target = ?"
        (number,) = database.execute(f"{sql} AND ? IN (a.kind, '')", (slots["target"], slots["kind"])).fetchone()
        return Goal(str(number), "number", milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        open_article(walk, slots["title"])
        walk.click("link", "What links here")
        if slots["kind"]:
            walk.select("Category", PLURALS[slots["kind"]])
            walk.click("button", "Filter")


@add_template
class CompareArticles(OpeningTemplate):
    """Name the article with the highest value among several, by opening each."""

    site, name, objects, answer, pages = "wiki", "compare-articles", "articles", "best", ("/article/{0}",)
    question = 'Which of these articles has the highest or latest "{label}": {titles}? Answer with its title.'
    search_box = SEARCH_BOX

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        kind, label = draw_measure(rng)
        rows = select_facts(database, "a.kind = ? AND f.label = ?", kind, label)
        chosen = pick_several(rng, rows, params["items"] + 1)
        best = best_of(chosen, "place")
        if len(chosen) < 2 or best is None:
            return None
        articles = tuple((row["article"], row["title"]) for row in chosen)
        return {"label": label, "articles": articles, "best": best["title"]}


@add_template
class FindHighest(WebTemplate):
    """Name the article of a category with the highest value, up to a limit with more conditions."""

    site, name, intent, answer, pages = "wiki", "find-highest", "compare", "best", ("/category/{kind}",)
    question = (
        "Of the articles in the category {category}{limit}, which has the highest or latest "
        '"{label}"? Answer with its title.'
    )

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        kind, label = draw_measure(rng)
        rows = select_facts(database, "a.kind = ? AND f.label = ?", kind, label)
        if len(rows) < 3:
            return None
        high = pick(rng, rows)["amount"] if params["constraints"] > 1 else None
        best = best_of([row for row in rows if high is None or row["amount"] <= high], "place")
        return None if best is None else {"kind": kind, "label": label, "high": high, "best": best["title"]}

    def words(self, slots: Slots) -> Mapping[str, str]:
        limit = "" if slots["high"] is None else f" with {describe_limits(slots['label'], None, slots['high'])}"
        return {"category": PLURALS[slots["kind"]], "limit": limit}

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        list_category(walk, slots["kind"], slots["label"], high=slots["high"])
