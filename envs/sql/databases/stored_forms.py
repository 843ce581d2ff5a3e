"""Forms in which columns keep their values untidily, as in databases that people fill by hand.

A form has a name, such as "case", or a name and a word, such as "unit km", which is a field's ``stored``. It changes
each value in the same way for the same ``draw``, so that contents with and without the form differ in nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredForm:
    """A form of values.

    Args:
        soil: function (tidy value, draw from 0 to 1) -> value as it is kept; also of None.
        tidy: function from a value as it is kept to the tidy value.
        clean: SQL of the tidy value; ``{}`` is the column.
        wrong: SQL that leaves some values untidy, or changes them; ``{}`` alone takes the column as it is.
        note: a sentence on the column, ``{}``.
        is_text: True if the column's type is TEXT.
        marks_missing: True if a mark stands for missing values, so that none is NULL.
        one_way: True if each value is kept in one way only.
    """

    soil: Callable[[Any, float], Any]
    tidy: Callable[[Any], Any]
    clean: str
    wrong: tuple[str, ...]
    note: str
    is_text: bool = True
    marks_missing: bool = False
    one_way: bool = False


@functools.cache
def find_form(stored: str) -> StoredForm:
    """Return the form of a field's ``stored``."""
    name, _, word = stored.partition(" ")
    return _FORMS[name](word)


def _mixed_case(_: str) -> StoredForm:
    ways: tuple[Callable[[str], str], ...] = (
        str,
        str.upper,
        str.capitalize,
        " {}".format,
        lambda value: f"{value.capitalize()} ",
        lambda value: f" {value.upper()} ",
    )
    return StoredForm(
        lambda value, draw: value and ways[int(draw * len(ways))](value),
        lambda value: value and value.strip().lower(),
        "LOWER(TRIM({}))",
        ("{}", "LOWER({})", "TRIM({})"),
        "{} is kept in small or capital letters and with or without spaces around it, which makes no difference; where "
        "it is asked for, give it in small letters and without spaces around it.",
    )


def _spaces(_: str) -> StoredForm:
    ways = ("{}", " {}", "{} ", "  {} ")
    return StoredForm(
        lambda value, draw: value and ways[int(draw * len(ways))].format(value),
        lambda value: value and value.strip(),
        "TRIM({})",
        ("{}",),
        "{} is kept with or without spaces around it, which makes no difference; where it is asked for, give it "
        "without spaces around it.",
    )


def _unit(unit: str) -> StoredForm:
    """Whole numbers with a comma between thousands and a unit behind: '1,200 km'."""
    end = f" {unit}" if unit else ""
    bare = f"REPLACE({{}}, '{end}', '')" if unit else "{}"
    example = f"'1,200{end}' for 1200" + (f" and '300{end}' for 300" if unit else "")
    return StoredForm(
        lambda value, _: value if value is None else f"{value:,}{end}",
        lambda value: value and int(value.removesuffix(end).replace(",", "")),
        f"CAST(REPLACE({bare}, ',', '') AS INTEGER)",
        ("{}", "CAST({} AS INTEGER)", f"REPLACE({bare}, ',', '')"),
        f"{{}} is kept as text, such as {example}; compare it as a number, and where it is asked for, give the number.",
        one_way=True,
    )


def _currency(currency: str) -> StoredForm:
    """Amounts with a currency before them: 'EUR 12.5'."""
    start = f"{currency} "
    return StoredForm(
        lambda value, _: value if value is None else f"{start}{value:g}",
        lambda value: value and float(value.removeprefix(start)),
        f"CAST(REPLACE({{}}, '{start}', '') AS DOUBLE PRECISION)",
        ("{}", f"REPLACE({{}}, '{start}', '')", "CAST({} AS DOUBLE PRECISION)"),
        f"{{}} is kept as text, such as '{start}12.5' for 12.5; compare it as a number, and where it is asked for, "
        "give the number.",
        one_way=True,
    )


def _number_mark(mark: str) -> StoredForm:
    """A number that stands for a missing one: -1."""
    number = int(mark)
    return StoredForm(
        lambda value, _: number if value is None else value,
        lambda value: None if value == number else value,
        f"NULLIF({{}}, {mark})",
        ("{}", f"CASE WHEN {{}} = {mark} THEN 0 ELSE {{}} END"),
        f"{{}} is kept as {mark} if it is missing; treat that as NULL.",
        is_text=False,
        marks_missing=True,
        one_way=True,
    )


def _text_mark(mark: str) -> StoredForm:
    """A text that stands for a missing one: 'N/A'."""
    return StoredForm(
        lambda value, _: mark if value is None else value,
        lambda value: None if value == mark else value,
        f"NULLIF({{}}, '{mark}')",
        ("{}",),
        f"{{}} is kept as '{mark}'{'' if mark else ' (the empty text)'} if it is missing; treat that as NULL.",
        marks_missing=True,
        one_way=True,
    )


def _two_dates(_: str) -> StoredForm:
    def soil(value: str | None, draw: float) -> str | None:
        if value is None or draw < 0.5:
            return value
        year, month, day = value.split("-")
        return f"{day}.{month}.{year}"

    def tidy(value: str | None) -> str | None:
        return value if value is None or value[2] != "." else "-".join(reversed(value.split(".")))

    form = (
        "CASE WHEN SUBSTR({{}}, 3, 1) = '.' THEN SUBSTR({{}}, 7, 4) || '-' || SUBSTR({{}}, {}, 2) || '-' || "
        "SUBSTR({{}}, {}, 2) ELSE {{}} END"
    )
    return StoredForm(
        soil,
        tidy,
        form.format(4, 1),
        # Also months for days, and days with too few or many digits.
        ("{}", form.format(1, 4), form.format(4, 2), form.format(4, 1).replace("1, 2)", "1, 3)")),
        "{} is kept as text, some dates as YYYY-MM-DD and others as DD.MM.YYYY; where it is asked for, give it as "
        "YYYY-MM-DD.",
    )


_FORMS: dict[str, Callable[[str], StoredForm]] = {
    "case": _mixed_case,
    "spaces": _spaces,
    "unit": _unit,
    "currency": _currency,
    "mark": _number_mark,
    "word": _text_mark,
    "dates": _two_dates,
}
