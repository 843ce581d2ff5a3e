"""`ListPage`: a list page as data, read by the page, the goals and questions of tasks, and the solver.

A site declares the rows of a list page, the filters of its form with their conditions in SQL and in words, the orders
and the number of rows on a page.
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
    """A condition on the rows of a list page.

    Args:
        sql: the condition in SQL; "?" is the value. "" if the site adds the condition itself.
        label: the field of the form; "" if the solver follows a link instead.
        words: writes the condition with its value in words.
        named: the condition in SQL for values as pages write them, if forms have ids or other spellings as well.
        read: reads the text that a form sends; returns None for text that is not valid.
        error: message for text that is not valid; without a message such text is ignored.
        control: the kind of field: "list", "text" or "box", a box for each value.
        option: writes a value as its option in a list.
        special: values with an option and words of their own.
        special_sql: values with a condition of their own.
    """

    sql: str = ""
    label: str = ""
    words: Callable[[Any], str] = str
    named: str = ""
    read: Callable[[str], Any] = str
    error: str = ""
    control: str = "list"
    option: Callable[[Any], str] = str
    special: Mapping[Any, tuple[str, str]] = field(default_factory=dict)
    special_sql: Mapping[Any, str] = field(default_factory=dict)

    def describe(self, value: Any) -> str:
        """The condition in words."""
        return self.special[value][1] if value in self.special else self.words(value)

    def fill(self, walk: Walk, value: Any) -> None:
        """Fill in the field of the form."""
        if self.control == "list":
            walk.select(self.label, self.special[value][0] if value in self.special else self.option(value))
        elif self.control == "text":
            walk.fill(self.label, str(value))
        else:
            walk.tick("checkbox", value)


def date_filter(sql: str, label: str, words: str = "") -> Filter:
    """A filter by a date that the visitor writes."""
    return Filter(
        sql,
        label,
        words.format,
        read=lambda text: text if is_date(text) else None,
        error="Write a date as YYYY-MM-DD.",
        control="text",
    )


def read_id(text: str) -> int:
    """Read the id of a row; 0, which no row has, for any other text."""
    return read_number(text, 1, 10_000, 0)


def name_all(parts: list[str]) -> str:
    """Join parts of a sentence."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


@dataclass(frozen=True)
class ListPage:
    """A list page with filters.

    Args:
        table: the FROM clause, without the word.
        columns: the columns of a row.
        key: the column by which rows are ordered in `select`.
        filters: by the names of the form's fields.
        sorts: orders by the values of the field "sort", with option and ORDER BY clause; the first is the default.
        per_page: rows on a page.
        path: address of the page.
        links: links that lead to the page; conditions in braces are filled in. Without links, a search for nothing.
        search_box: label of the site's search box, which leads to the page.
        search: the text in SQL that must contain each word of the field "q".
        most_words: words of "q" that count.
        always: condition in SQL on the rows of the page.
        joins: further tables of the columns, on which no filter of the form depends.
        page_columns, page_joins: further columns and tables that only the page needs.
        join: joins the conditions in words, by name.
        in_given_order: the solver fills in the form in the order of the conditions, not of the fields.
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
        """The query for the rows of the page, up to WHERE."""
        columns = ", ".join(filter(None, (self.columns, self.page_columns)))
        return f"SELECT {columns} FROM {self.table} {self.joins} {self.page_joins}"

    @functools.cached_property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields of the form."""
        return (*(("q",) if self.search else ()), *self.filters, "sort")

    def order_of(self, sort: str) -> str:
        """The ORDER BY clause for a value of the field "sort"."""
        return self.sorts.get(sort, next(iter(self.sorts.values())))[1]

    def read(self, wanted: Mapping[str, str]) -> tuple[str, list[Any], dict[str, str]]:
        """Read a form. Return the condition in SQL with its values, and error messages by field."""
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
        """Return the values of the page's template for a form and the number of the page in ``args``. ``before`` are
        the values of `always`."""
        where, values, errors = self.read(wanted)
        values = [*before, *values]
        (number,) = site.one(f"SELECT count(*) FROM {self.table} WHERE {where}", *values)
        shown, limits = paginate(args, number, self.per_page)
        found = site.query(f"{self.sql} WHERE {where} ORDER BY {self.order_of(wanted['sort'])} {limits}", *values)
        same = urlencode([(name, value) for name, value in wanted.items() if value])
        about = {"number": number, "wanted": wanted, "errors": errors, "same": same, "sorts": self.sorts}
        return {"found": found, **about, **shown}

    # Tasks: conditions are values by the names of filters.

    def select(self, database: sqlite3.Connection, where: str = "1", *values: Any) -> list[sqlite3.Row]:
        """Select rows by a condition in SQL."""
        sql = f"SELECT {self.columns} FROM {self.table} {self.joins} WHERE {where} ORDER BY {self.key}"
        return database.execute(sql, values).fetchall()

    def find(self, database: sqlite3.Connection, conditions: Mapping[str, Any]) -> list[sqlite3.Row]:
        """Select the rows that meet conditions."""
        found = [(self.filters[name], value) for name, value in conditions.items()]
        where = " AND ".join(one.special_sql.get(value) or one.named or one.sql for one, value in found)
        return self.select(database, where or "1", *conditions.values())

    def describe(self, conditions: Mapping[str, Any]) -> str:
        """Describe conditions in words."""
        return self.join({name: self.filters[name].describe(value) for name, value in conditions.items()})

    def filter(self, walk: Walk, conditions: Mapping[str, Any], sort: str = "") -> None:
        """List the rows that meet conditions, in the order with the option ``sort``."""
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
        """Fill in the fields of the form."""
        for name in conditions if self.in_given_order else self.filters:
            if name in conditions:
                self.filters[name].fill(walk, conditions[name])

    def open_row(self, walk: Walk, text: str, link: str = "") -> None:
        """Search for a row by a text, and follow its link: ``link``, or the text."""
        walk.look_up(self.search_box, text, link)
