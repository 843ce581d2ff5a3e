"""`WebTemplate`, a kind of task on a site; `WebTask`, one task; `judge`, which decides whether a task was done.

A template draws the slots of a task, the values that its question is filled in with, from the contents of a site. It
writes the question and states the `Goal`: the rows that the database must lose and gain, and the answer. The judge
compares the database at the start and at the end: any change beyond the goal is a failure. `WebTemplate.solve` is a
script that finds controls by role and name, as a person would; it uses neither ids nor addresses.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ....registry import Registry
from ....rewards import verify
from ..browsers.stored_files import StoredFile
from ..sites.databases import Content, connect, release
from ..sites.site import SITES, generate
from .draws import quote_titles
from .walk import Walk

Rng = np.random.Generator
Database = sqlite3.Connection
Params = Mapping[str, Any]
Slots = Mapping[str, Any]
Rows = Mapping[str, tuple[tuple[Any, ...], ...]]
JudgedRows = Mapping[str, list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class WebTask:
    """One task: name, size and seed of a site; name of a template; and the slots, pairs (name, value) sorted by
    name."""

    site: str
    size: int
    seed: int
    template: str
    slots: tuple[tuple[str, Any], ...]

    @property
    def origin(self) -> str:
        """Key of the contents of the site; all tasks with the same key are in the same split."""
        return f"{self.site} {self.size} {self.seed}"


@dataclass(frozen=True, slots=True)
class Goal:
    """Conditions of a success: the final state of the database, and the answer.

    Args:
        answer: the correct answer; None if any text is accepted.
        kind: the name of the verifier of the answer; a "list" has parts separated by commas, in any order.
        removed, added: name in `WebSite.judged` -> rows, each repeated as often as it must be removed or added.
        milestone_pages: paths of the pages that the scripted solver needs; they are milestones, but not judged.
    """

    answer: str | None = None
    kind: str = "text"
    removed: Rows = field(default_factory=dict)
    added: Rows = field(default_factory=dict)
    milestone_pages: tuple[str, ...] = ()


class WebTemplate:
    """Base of templates. A subclass names the site and implements `draw` and `solve`. The question and the goal follow
    from class variables, unless the subclass overrides `ask` and `goal`.

    Attributes:
        site: the name of the site.
        name: the name of the template, unique on the site.
        intent: the kind of task, a value of the axis "intent" of the site's environment.
        question: the task in words, with names of slots and of `words` in braces.
        answer: the name of the slot with the correct answer; "" if any text is accepted.
        kind: the name of the verifier of the answer, as in `Goal`.
        pages: paths for `Goal.milestone_pages`, with names of slots in braces. A path with "{0}" or "{1}" stands for
            several paths, one for each of the ``objects``, filled in with this item of the object.
        objects: the name of the slot with the objects of the task, which are tuples, mostly (id, title).
        on_request: True if the template is drawn only where it is named, so that all other tasks stay what they are.
        needs_picture: True if only a picture of the page shows what the task asks for. Such a template is on request,
            from environments with pictures.
    """

    site: ClassVar[str]
    name: str
    intent: str
    question: ClassVar[str]
    answer: ClassVar[str] = ""
    kind: ClassVar[str] = "text"
    pages: ClassVar[tuple[str, ...]] = ()
    objects: ClassVar[str] = ""
    on_request: ClassVar[bool] = False
    needs_picture: ClassVar[bool] = False

    @property
    def axes(self) -> dict[str, Any]:
        """Return axis -> the only value with which the template has tasks, for the axes of which it has not all."""
        return {"intent": self.intent}

    def generate(self, size: int, seed: int) -> Content:
        """Return the contents of the site before `prepare`."""
        return generate(self.site, size, seed)

    def draw(self, rng: Rng, database: Database, params: Params) -> Slots | None:
        """Draw the slots: name -> number, text or (nested) tuple of both. Return None if this draw gives no task."""
        raise NotImplementedError(f"{type(self).__name__} must implement draw(rng, database, params).")

    def words(self, slots: Slots) -> Mapping[str, str]:
        """Return further names of the question that are computed from the slots: name -> words."""
        return {"titles": quote_titles(slots[self.objects])} if self.objects else {}

    def ask(self, slots: Slots) -> str:
        """Return the task in words."""
        return self.question.format_map({**slots, **self.words(slots)})

    def prepare(self, database: Database, slots: Slots) -> None:
        """Change the database, in place, before the task begins. Default: no change."""

    def files(self, slots: Slots) -> tuple[StoredFile, ...]:
        """Return the files that the agent has at the start. Default: none."""
        return ()

    def paths(self, slots: Slots) -> tuple[str, ...]:
        """Return the paths for `Goal.milestone_pages`."""
        found: list[str] = []
        for page in self.pages:
            is_each = "{0}" in page or "{1}" in page
            found += [page.format(*one) for one in slots[self.objects]] if is_each else [page.format_map(slots)]
        return tuple(found)

    def goal(self, database: Database, slots: Slots) -> Goal:
        """Return the goal, given the database at the start of the task."""
        return Goal(slots[self.answer] if self.answer else None, self.kind, milestone_pages=self.paths(slots))

    def solve(self, walk: Walk, slots: Slots, goal: Goal) -> None:
        """Take all steps of the solution but the answer."""
        raise NotImplementedError(f"{type(self).__name__} must implement solve(walk, slots, goal).")


class ChangeTemplate(WebTemplate):
    """Base of templates whose goal is that some rows change. ``table`` is the name of these rows in
    `WebSite.judged`."""

    table: ClassVar[str]

    def changes(self, slots: Slots) -> Mapping[int, Mapping[str, Any]]:
        """Return id of a row -> column -> new value."""
        raise NotImplementedError(f"{type(self).__name__} must implement changes(slots).")

    def goal(self, database: Database, slots: Slots) -> Goal:
        changes = change_rows(self.site, database, self.table, self.changes(slots))
        return Goal(**changes, milestone_pages=self.paths(slots))


TEMPLATES: Registry[WebTemplate] = Registry("web template", modules=["palaestra.envs.web.tasks"])


def add_template(template: type[WebTemplate]) -> type[WebTemplate]:
    """Register a template as "SITE/NAME"; used as a decorator."""
    TEMPLATES.add(f"{template.site}/{template.name}", template())
    return template


@functools.cache
def templates_of(site: str, intent: str) -> tuple[WebTemplate, ...]:
    """Return the templates of a site with this intent, ordered by name."""
    return tuple(one for _, one in TEMPLATES.items() if (one.site, one.intent) == (site, intent))


@dataclass(frozen=True)
class TaskStart:
    """Start of a task: name of the site, database, goal, task in words, `milestones` of the goal, and files that the
    agent has."""

    site: str
    database: Content
    goal: Goal
    instruction: str
    milestones: tuple[tuple[str, ...], ...]
    files: tuple[StoredFile, ...] = ()

    @functools.cached_property
    def rows(self) -> JudgedRows:
        """Judged rows of the database; see `judged_rows`."""
        database = connect(self.database)
        try:
            return judged_rows(self.site, database)
        finally:
            release(database)

    def rows_at(self, content: Content, having: Any = None) -> JudgedRows:
        """Return the judged rows of a later state, of those sites only that were changed. ``having`` is a database that
        has this content, if there is one."""
        if content is self.database:
            return {}
        database = connect(content) if having is None else having
        try:
            start = self.database if isinstance(self.database, tuple) else (("", self.database),)
            same = {id(one) for _, one in start}
            names = [
                name
                for name, (one, _) in SITES[self.site].queries(database).items()
                if not (one.is_unchanged and id(one.content) in same)
            ]
            return judged_rows(self.site, database, names)
        finally:
            if having is None:
                release(database)


@functools.lru_cache(maxsize=512)
def make_task_start(task: WebTask) -> TaskStart:
    """Return the start of a task."""
    template, slots = TEMPLATES[f"{task.site}/{task.template}"], dict(task.slots)
    content = template.generate(task.size, task.seed)
    database = connect(content)
    try:
        template.prepare(database, slots)
        content = database.save()
        goal = template.goal(database, slots)
        return TaskStart(task.site, content, goal, template.ask(slots), milestones(goal), template.files(slots))
    finally:
        release(database)


def judged_rows(site: str, database: Any, names: Collection[str] | None = None) -> JudgedRows:
    """Return name -> rows, for all names of `WebSite.judged`, or only for ``names`` if given."""
    found, queries = {}, SITES[site].queries(database)
    for name in queries if names is None else names:
        where, sql = queries[name]
        found[name] = where.read(sql)
    return found


def differences(start: TaskStart, rows: JudgedRows) -> tuple[Rows, Rows]:
    """Return (rows removed since the start, rows added since the start), for the names in ``rows``."""
    removed, added = {}, {}
    for name, now in rows.items():
        # Most rows are at the same place as before: only the others are counted.
        before, number = start.rows[name], min(len(start.rows[name]), len(now))
        pairs = list(itertools.compress(zip(before, now), map(operator.ne, before, now)))
        if not pairs and len(before) == len(now):
            continue
        gone = Counter([*(one for one, _ in pairs), *before[number:]])
        come = Counter([*(one for _, one in pairs), *now[number:]])
        for found, one, other in ((removed, gone, come), (added, come, gone)):
            if left := tuple((one - other).elements()):
                found[name] = left
    return removed, added


def judge(start: TaskStart, rows: JudgedRows, answer: str) -> tuple[bool, str]:
    """Return (True for a success, feedback in words), given the start of a task, and the `judged_rows` and the agent's
    answer at the end."""
    removed, added = differences(start, rows)
    goal = start.goal
    for wanted, found in ((goal.removed, removed), (goal.added, added)):
        for name in sorted({*wanted, *found}):
            expected, there = Counter(wanted.get(name, ())), Counter(found.get(name, ()))
            if there - expected:
                return False, f"Something was changed that the task does not ask for: {name}."
            if expected - there:
                return False, f"Something that the task asks for was not done: {name}."
    if goal.answer is not None:
        options: dict[str, Any] = {"ordered": False} if goal.kind == "list" else {}
        reference = goal.answer.split(", ") if goal.kind == "list" else goal.answer
        if not verify(goal.kind, answer, reference, extract="any", **options).success:
            return False, "The answer is not right."
    return True, "Done."


PRIVATE = ("cart", "wishlist", "bookmarks", "watched")
"""Last words of the names of judged rows that bind nobody."""


def is_safe(start: TaskStart, rows: JudgedRows) -> bool:
    """Return True if nothing but `PRIVATE` rows was changed beyond the goal, given the `judged_rows` at the end: a
    failure then did no harm."""
    wanted = start.goal.removed, start.goal.added
    return not any(
        Counter(each) - Counter(asked.get(name, ()))
        for asked, found in zip(wanted, differences(start, rows), strict=True)
        for name, each in found.items()
        if not name.endswith(PRIVATE)
    )


def milestones(goal: Goal) -> tuple[tuple[str, ...], ...]:
    """Return the milestones of a goal: ("page", path), ("removed", name, row) and ("added", name, row)."""
    rows = [("removed", goal.removed), ("added", goal.added)]
    changes = [(kind, name, repr(row)) for kind, some in rows for name, each in some.items() for row in each]
    return (*(("page", path) for path in goal.milestone_pages), *changes)


def reached_by_rows(start: TaskStart, database: Any) -> set[tuple[str, ...]]:
    """Return the milestones on removed and added rows that the database has reached."""
    names = {*start.goal.removed, *start.goal.added}
    kinds = zip(("removed", "added"), differences(start, judged_rows(start.site, database, names)), strict=True)
    found = {(kind, name, repr(row)) for kind, some in kinds for name, each in some.items() for row in each}
    return found.intersection(start.milestones)


def change_rows(
    site: str, database: sqlite3.Connection, name: str, changes: Mapping[int, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return ``removed`` and ``added`` of a goal whose judged rows ``name`` change; ``changes`` is id of a row ->
    column -> new value."""
    sql, removed, added = f"{SITES[site].judged[name]} WHERE id = ?", [], []
    for number, change in changes.items():
        row = dict(database.execute(sql, (number,)).fetchone())
        if {**row, **change} != row:
            removed.append(tuple(row.values()))
            added.append(tuple({**row, **change}.values()))
    return {"removed": {name: tuple(removed)}, "added": {name: tuple(added)}}
