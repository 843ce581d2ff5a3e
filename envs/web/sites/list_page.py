"""`ListPage`: a list page as data, from which the page, the goals and questions of tasks, and the solver are derived.

A site declares the rows of a list page, the filters of the form with their conditions in SQL and in words, the orders
of rows and the number of rows on a page.
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from .site import WebSite, is_date, paginate, read_number

if TYPE_CHECKING:
    from ..tasks.walk import Walk


@dataclass(frozen=True)
class Filter:
    """A condition on the rows of a list page, with a value.

    Args:
        sql: the condition in SQL; "?" is the value. "" if the site adds the condition itself.
        label: the label of the field in the form; "" if the solver follows a link instead.
        words: function that returns the condition in words, given the value.
        task_sql: the condition in SQL for values as tasks have them, such as names, if it differs from ``sql``, which
            is for values as forms send them, such as ids.
        read: function that returns the value in the text that a form sends, or None for invalid text.
        error: message for invalid text; "": invalid text is ignored.
        control: the kind of field: "list", "text" or "box" (a checkbox for each value).
        option: function that returns the option of a value in a list.
        special_words: value -> (option, words) that are used instead of ``option`` and ``words``.
        special_sql: value -> condition that is used instead of ``sql`` and ``task_sql``.
    """

    sql: str = ""
    label: str = ""
    words: Callable[[Any], str] = str
    task_sql: str = ""
    read: Callable[[str], Any] = str
    error: str = ""
    control: str = "list"
    option: Callable[[Any], str] = str
    special_words: Mapping[Any, tuple[str, str]] = field(default_factory=dict)
    special_sql: Mapping[Any, str] = field(default_factory=dict)

    def describe(self, value: Any) -> str:
        """Return the condition with this value in words."""
        return self.special_words[value][1] if value in self.special_words else self.words(value)

    def fill(self, walk: Walk, value: Any) -> None:
        """Fill in the field of the form with this value."""
        if self.control == "list":
            walk.select(self.label, self.special_words[value][0] if value in self.special_words else self.option(value))
        elif self.control == "text":
            walk.fill(self.label, str(value))
        else:
            walk.tick("checkbox", value)


def date_filter(sql: str, label: str, words: str = "") -> Filter:
    """Return a filter by a date that the visitor writes. ``words`` has {} for the date."""
    return Filter(
        sql,
        label,
        words.format,
        read=lambda text: text if is_date(text) else None,
        error="Write a date as YYYY-MM-DD.",
        control="text",
    )


def read_id(text: str) -> int:
    """Return the id of a row in a text; 0, which no row has, for any other text."""
    return read_number(text, 1, 10_000, 0)


def name_all(parts: list[str]) -> str:
    """Join parts of a sentence: "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class ListPage:
    """A list page with filters.

    Args:
        table: the FROM clause, without the word FROM.
        columns: the columns of a row.
        key: the column by which rows are ordered in `select`.
        filters: name of a field of the form -> filter.
        sorts: value of the field "sort" -> (option, ORDER BY clause); the first is the default.
        per_page: number of rows on a page.
        path: address of the page.
        links: names of the links that lead to the page, with names of conditions in braces. Without links, an empty
            search leads to the page.
        search_box: label of the site's search box, which leads to the page.
        search: the SQL expression that must contain each word of the field "q".
        most_words: the maximum number of words of "q" that count.
        always: condition in SQL on all rows of the page.
        joins: JOIN clauses that the columns need, but no filter of the form.
        page_columns, page_joins: further columns and JOIN clauses that only the page needs.
        join: function that joins conditions in words, given name of a condition -> words.
        in_given_order: True if the solver fills in the form in the order of the conditions, not of the fields.
    """

    table: str
    columns: str
    key: str
    filters: Mapping[str, Filter]
    sorts: Mapping[str, tuple[str, str]]
    per_page: int
    path: str = ""
    links: tuple[str, ...] = ()
    search_box: str = ""
    search: str = ""
    most_words: int = 12
    always: str = "1"
    joins: str = ""
    page_columns: str = ""
    page_joins: str = ""
    join: Callable[[dict[str, str]], str] = lambda parts: name_all(list(parts.values()))
    in_given_order: bool = False

    # The page.

    @functools.cached_property
    def sql(self) -> str:
        """Query for the rows of the page, up to the WHERE clause."""
        columns = ", ".join(filter(None, (self.columns, self.page_columns)))
        return f"SELECT {columns} FROM {self.table} {self.joins} {self.page_joins}"

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields of the form."""
        return (*(("q",) if self.search else ()), *self.filters, "sort")

    def order_of(self, sort: str) -> str:
        """Return the ORDER BY clause, without the words, for a value of the field "sort"."""
        return self.sorts.get(sort, next(iter(self.sorts.values())))[1]

    def read(self, wanted: Mapping[str, str]) -> tuple[str, list[Any], dict[str, str]]:
        """Read a form. Return (condition in SQL, values of the condition, field -> error message)."""
        conditions: list[str] = [self.always]
        values: list[Any] = wanted["q"].split()[: self.most_words] if self.search and "q" in wanted else []
        conditions += [f"instr(lower({self.search}), lower(?))"] * len(values)
        errors = {}
        for name, one in self.filters.items():
            if not one.sql or not wanted[name]:
                continue
            value = one.read(wanted[name])
            if value is not None:
                conditions.append(one.special_sql.get(value, one.sql))
                values.append(value)
            elif one.error:
                errors[name] = one.error
        return " AND ".join(conditions), values, errors

    def show(self, site: WebSite, wanted: Mapping[str, str], args: Mapping[str, str], *before: Any) -> dict[str, Any]:
        """Return the values that the template of the page needs.

        Args:
            site: the site.
            wanted: the fields of the form.
            args: the query of the address, with the number of the page.
            before: the values of the condition `always`.
        """
        where, values, errors = self.read(wanted)
        values = [*before, *values]
        (number,) = site.one(f"SELECT count(*) FROM {self.table} WHERE {where}", *values)
        shown, limits = paginate(args, number, self.per_page)
        found = site.query(f"{self.sql} WHERE {where} ORDER BY {self.order_of(wanted['sort'])} {limits}", *values)
        same = urlencode([(name, value) for name, value in wanted.items() if value])
        about = {"number": number, "wanted": wanted, "errors": errors, "same": same, "sorts": self.sorts}
        return {"found": found, **about, **shown}

    # Tasks. Conditions are: name of a filter -> value.

    def select(self, database: sqlite3.Connection, where: str = "1", *values: Any) -> list[sqlite3.Row]:
        """Return the rows that meet a condition in SQL with these values."""
        sql = f"SELECT {self.columns} FROM {self.table} {self.joins} WHERE {where} ORDER BY {self.key}"
        return database.execute(sql, values).fetchall()

    def find(self, database: sqlite3.Connection, conditions: Mapping[str, Any]) -> list[sqlite3.Row]:
        """Return the rows that meet conditions."""
        found = [(self.filters[name], value) for name, value in conditions.items()]
        where = " AND ".join(one.special_sql.get(value) or one.task_sql or one.sql for one, value in found)
        return self.select(database, where or "1", *conditions.values())

    def describe(self, conditions: Mapping[str, Any]) -> str:
        """Return conditions in words."""
        return self.join({name: self.filters[name].describe(value) for name, value in conditions.items()})

    def filter(self, walk: Walk, conditions: Mapping[str, Any], sort: str = "") -> None:
        """Let the solver list the rows that meet conditions, in the order of the option ``sort`` if given."""
        for link in self.links:
            walk.click("link", link.format_map(conditions))
        if not self.links:
            walk.search(self.search_box, "")
        fields = {name: value for name, value in conditions.items() if self.filters[name].label}
        self.fill(walk, fields)
        if sort:
            walk.select("Sort by", sort)
        if fields or sort:
            walk.click("button", "Apply filters")

    def fill(self, walk: Walk, conditions: Mapping[str, Any]) -> None:
        """Let the solver fill in the fields of the form."""
        for name in conditions if self.in_given_order else self.filters:
            if name in conditions:
                self.filters[name].fill(walk, conditions[name])

    def open_row(self, walk: Walk, text: str, link: str = "") -> None:
        """Let the solver search for a row by a text, and follow the link with the name ``link``; default: the text."""
        walk.look_up(self.search_box, text, link)
