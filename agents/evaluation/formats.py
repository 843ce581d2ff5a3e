"""Conversion of result rows to CSV, Markdown, LaTeX, JSON or a data frame.

report = palaestra.evaluate("random", "palaestra/Arithmetic-v0")
print(format_rows(report.rows(), "latex"))
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from ...errors import InputError

Format: TypeAlias = Literal["table", "csv", "markdown", "latex", "json"]
Row: TypeAlias = Mapping[str, Any]
_LATEX = str.maketrans({"&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}"})


def format_rows(rows: Sequence[Row], form: Format) -> str:
    """Format rows as text.

    Args:
        form: "csv" or "json", with all columns and exact numbers; "markdown" or "latex" (needs the LaTeX package
            booktabs), rounded, with ``x_low`` and ``x_high`` in brackets after ``x``.

    Raises:
        InputError: an unknown form.
    """
    if form == "json":
        return json.dumps([{name: _known(value) for name, value in row.items()} for row in rows], indent=2) + "\n"
    names = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        stream = io.StringIO()
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: "" if _known(value) is None else value for name, value in row.items()} for row in rows)
        return stream.getvalue()
    shown = [name for name in names if not name.endswith(("_low", "_high"))]
    cells = [[_cell(row, name) for name in shown] for row in rows]
    numeric = [all(isinstance(row.get(name), int | float | None) for row in rows) for name in shown]
    if form == "markdown":
        rule = [" ---: " if right else " --- " for right in numeric]
        lines = [shown, *cells]
        table = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
        return "\n".join([table[0], "|" + "|".join(rule) + "|", *table[1:]]) + "\n"
    if form == "latex":
        columns = "".join("r" if right else "l" for right in numeric)
        body = [" & ".join(cell.translate(_LATEX) for cell in line) + r" \\" for line in [shown, *cells]]
        begin, end = rf"\begin{{tabular}}{{{columns}}}", r"\end{tabular}"
        return "\n".join([begin, r"\toprule", body[0], r"\midrule", *body[1:], r"\bottomrule", end]) + "\n"
    raise InputError(f"the form of a table must be csv, markdown, latex or json, not {form!r}.")


def to_frame(rows: Sequence[Row]) -> Any:
    """Return rows as a pandas data frame.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise InputError("a data frame needs pandas; pip install pandas, or take rows().") from None
    return pandas.DataFrame(list(rows))


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(row: Row, name: str) -> str:
    value, low, high = (_known(row.get(key)) for key in (name, f"{name}_low", f"{name}_high"))
    text = _number(value)
    return text if low is None or high is None or not text else f"{text} [{_number(low)}, {_number(high)}]"


def _number(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
