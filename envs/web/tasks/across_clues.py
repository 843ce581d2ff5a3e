"""`ClueTemplate`: tasks that ask for an action on one site, the object of which is named by clues on other sites.

A clue is a sentence on another site: a comment on a ticket, a reply in a thread, a sentence of an article. The first
clue may name the place of the next one. On tickets and in threads another author names a decoy. The last clue names the
object of a single-site template; the question of this template then says, for example, "that product" instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..sites.databases import Content
from ..sites.encyclopaedia_content import read_text
from ..sites.forum import SUMMARISE_THREADS, THREADS
from ..sites.forum_content import NAMES, NOW
from ..sites.portal import TITLES
from ..sites.site import generate
from ..sites.tracker import TICKETS
from ..sites.tracker_content import PEOPLE
from . import wiki_reading_tasks
from .draws import pick_several
from .parts import TaskPart, portal_goal
from .template import TEMPLATES, Database, Goal, Params, Rng, Slots, WebTemplate
from .walk import Walk


@dataclass(frozen=True)
class ClueSite:
    """A site on which clues are written.

    Args:
        kind: the kind of place in which a clue is written, such as "thread".
        path: the beginning of the address of such a place.
        places: an SQL query for the ids and titles of all places.
        authors: possible authors of clues; empty if clues have no author.
        open: function (walk, title) that opens a place.
        write: function (database, id of a place, author, text) that adds a text to the place.
    """

    kind: str
    path: str
    places: str
    authors: tuple[str, ...]
    open: Callable[[Walk, str], None]
    write: Callable[[Database, int, str, str], Any]


def _write_reply(database: Database, thread: int, author: str, text: str) -> None:
    sql = """INSERT INTO posts (thread, number, author, day, body)
             SELECT ?, max(number) + 1, ?, ?, ? FROM posts WHERE thread = ?"""
    database.execute(sql, (thread, NAMES.index(author) + 1, NOW.isoformat(), text, thread))
    database.execute(f"{SUMMARISE_THREADS} WHERE id = ?", (thread,))


def _write_comment(database: Database, ticket: int, author: str, text: str) -> None:
    sql = "INSERT INTO comments (ticket, author, day, body) VALUES (?, ?, ?, ?)"
    database.execute(sql, (ticket, author, NOW.isoformat(), text))


def _write_sentence(database: Database, article: int, author: str, text: str) -> None:
    body = f"{read_text(database, article)} {text}"
    database.execute("UPDATE articles SET body = ? WHERE id = ?", (body, article))


CLUE_SITES: Mapping[str, ClueSite] = {
    "tracker": ClueSite(
        *("ticket", "/ticket/", "SELECT id, title FROM tickets ORDER BY id", PEOPLE[1:]),
        *(TICKETS.open_row, _write_comment),
    ),
    "forum": ClueSite(
        *("thread", "/thread/", "SELECT id, title FROM threads ORDER BY id", NAMES[1:]),
        *(THREADS.open_row, _write_reply),
    ),
    "wiki": ClueSite(
        *("article", "/article/", "SELECT id, title FROM articles WHERE kind <> 'disambiguation' ORDER BY id", ()),
        *(wiki_reading_tasks.open_article, _write_sentence),
    ),
}


@dataclass(frozen=True)
class FinalAction:
    """Action on the last site: a single-site template whose object is given by clues.

    Args:
        template: the name of the single-site template in `TEMPLATES`.
        noun: a noun for the object; the question says "that" and this noun instead of the name.
        name: function that returns the name of the object, given the slots of the single-site template. The name must
            occur exactly once in the question of the template.
        params: parameters that override those of the environment.
    """

    template: str
    noun: str
    name: Callable[[Slots], str]
    params: Params

    @property
    def site(self) -> str:
        return self.template.partition("/")[0]


class ClueTemplate(WebTemplate):
    """Base of tasks across sites. A subclass sets ``clue_sites``, the names of the sites with clues in the order of the
    clues, and ``final_action``, the action on the last site."""

    site = "across"
    clue_sites: tuple[str, ...]
    final_action: FinalAction

    @property
    def sites(self) -> tuple[str, ...]:
        return (*self.clue_sites, self.final_action.site)

    @property
    def axes(self) -> dict[str, Any]:
        return {**super().axes, "sites": len(self.sites)}

    def generate(self, size: int, seed: int) -> Content:
        return tuple((site, generate(site, size, seed)) for site in sorted(self.sites))

    def draw(self, rng: Rng, database: Any, params: Params) -> Slots | None:
        template, where = TEMPLATES[self.final_action.template], database[self.final_action.site]
        params = {**params, **self.final_action.params}
        slots, other = (template.draw(rng, where, params) for _ in range(2))
        if slots is None or other is None:
            return None
        name, decoy = self.final_action.name(slots), self.final_action.name(other)
        if name in decoy or decoy in name or template.ask(slots).count(name) != 1:
            return None
        places = []
        for site in self.clue_sites:
            clue_site = CLUE_SITES[site]
            rows = pick_several(rng, database[site].execute(clue_site.places).fetchall(), 2)
            authors = pick_several(rng, clue_site.authors, 2) if clue_site.authors else ["", ""]
            if any(row["title"] in name for row in rows):
                return None
            places.append((rows[0]["id"], rows[0]["title"], authors[0], rows[1]["title"], authors[1]))
        return {
            "deed": tuple(sorted(slots.items())),
            "name": name,
            "decoy": decoy,
            "places": tuple(places),
            "first": bool(rng.integers(2)),
        }

    def _said(self, slots: Slots) -> list[tuple[str, str]]:
        """Return for each site with clues (text of the clue, text of the decoy)."""
        said = []
        for place in range(1, len(self.clue_sites)):
            site, (_, title, _, other, _) = self.clue_sites[place], slots["places"][place]
            where = f"The {CLUE_SITES[site].kind} “{{}}” in the {TITLES[site]} has what we need."
            said.append((where.format(title), where.format(other)))
        return [*said, (self.say(slots, slots["name"]), self.say(slots, slots["decoy"]))]

    def say(self, slots: Slots, name: str) -> str:
        """Return the text of the last clue, which names the object ``name``."""
        return f"It has to be {name}."

    def ask(self, slots: Slots) -> str:
        sentences = []
        for place, site in enumerate(self.clue_sites):
            _, title, author, _, _ = slots["places"][place]
            clue_site, last = CLUE_SITES[site], place == len(self.clue_sites) - 1
            after = self.final_action.site if last else self.clue_sites[place + 1]
            named = self.final_action.noun if last else CLUE_SITES[after].kind
            what = f"{'an' if named[0] in 'aeio' else 'a'} {named} of the {TITLES[after]}"
            where = f'the {clue_site.kind} "{title}" of the {TITLES[site]}' if place == 0 else f"that {clue_site.kind}"
            sentences.append(f"In {where}, {author or 'the text'} names {what}.")
        return " ".join([*sentences, self.ask_final_action(slots)])

    def ask_final_action(self, slots: Slots) -> str:
        """Return the question of the single-site template, with the object's name replaced by "that" and its noun."""
        text = TEMPLATES[self.final_action.template].ask(dict(slots["deed"]))
        text = text.replace(slots["name"], f"that {self.final_action.noun}")
        return text[0].upper() + text[1:]

    def prepare(self, database: Any, slots: Slots) -> None:
        for place, (site, said) in enumerate(zip(self.clue_sites, self._said(slots), strict=True)):
            number, _, author, _, other = slots["places"][place]
            texts = [(author, said[0])]
            if other:
                texts.insert(0 if slots["first"] else 1, (other, said[1]))
            for who, text in texts:
                CLUE_SITES[site].write(database[site], number, who, text)
        TEMPLATES[self.final_action.template].prepare(database[self.final_action.site], dict(slots["deed"]))

    def goal(self, database: Any, slots: Slots) -> Goal:
        site = self.final_action.site
        goal = portal_goal(site, TEMPLATES[self.final_action.template].goal(database[site], dict(slots["deed"])))
        pages = [
            f"/{one}{CLUE_SITES[one].path}{slots['places'][place][0]}" for place, one in enumerate(self.clue_sites)
        ]
        return replace(goal, milestone_pages=tuple(dict.fromkeys([*pages, *goal.milestone_pages])))

    def read_clues(self, walk: Walk, slots: Slots) -> None:
        """Go to the place of each clue, and turn pages until the clue is shown."""
        for place, (site, said) in enumerate(zip(self.clue_sites, self._said(slots), strict=True)):
            walk.click("link", f"Go to the {TITLES[site]}")
            CLUE_SITES[site].open(walk, slots["places"][place][1])
            while not any(said[0] in line.name for line in walk.browser.page.lines):
                walk.click("link", "Next page")

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        self.read_clues(walk, slots)
        TaskPart(self.final_action.template).solve(walk, dict(slots["deed"]), goal)
