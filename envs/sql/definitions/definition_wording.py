"""Ask for a change of a schema in English: all names, rules and values are in the request."""

from __future__ import annotations

from ...code.programs.dice import Dice
from ..databases.contents import format_literal
from .definition import Definition
from .table_design import ColumnDesign, TableDesign, design_of

_TYPES = {"int": "whole number", "real": "real number", "text": "text", "date": "date"}


def write_definition(definition: Definition, dice: Dice, question: str = "") -> str:
    """Write the request that ``definition`` fulfils; ``question`` asks for the rows of a view."""
    table, old = definition.table, definition.old
    if definition.view:
        name, columns, _ = definition.view
        return (
            f"Create a view {name} with the columns {', '.join(columns)} (in this order). It always shows the present "
            f"answer to this question: {question} Round nothing; aggregates skip NULL, and without values are NULL "
            "(counts: 0)."
        )
    if table is None:
        return dice.one((f"Drop the table {old}.", f"Remove the table {old} from the database."))
    if definition.kind == "create":
        lines = [f"- {table.key}: whole number, the primary key", *map(_column, table.columns)]
        lines += [f"- {pair[0]} and {pair[1]} together: unique" for pair in table.pairs]
        return "\n".join([f"Create a table {table.name} with these columns and rules:", *lines])
    before = design_of(definition.before[old])
    if definition.kind == "drop":
        gone = [f"{one.name}" for one in before.columns if one.name not in table.names]
        words = f"column {gone[0]}" if len(gone) == 1 else f"columns {', '.join(gone[:-1])} and {gone[-1]}"
        return dice.one((f"Drop the {words} of {old}.", f"Remove the {words} from {old}."))
    if definition.kind == "rename":
        texts = [f"the column {b} of {old} to {a}" for a, b in zip(table.names, definition.sources) if a != b]
        texts += [f"the table {old} to {table.name}"] * (table.name != old)
        return f"Rename {' and '.join([', '.join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)}."
    if definition.kind == "add":
        new = table.columns[-1]
        text = f"Add a column to {old}:\n{_column(new)}\n"
        if definition.filled:
            return f"{text}Rows so far get {format_literal(definition.filled[1])}."
        return f"{text}Rows so far get NULL."
    if definition.kind == "rule":
        return "\n".join([f"From now on, let {old} also keep these rules:", *_new_rules(before, table, definition)])
    part = definition.part
    assert part is not None
    moved = part.columns[0]
    rows = f"{old} whose {moved.name} is not NULL" if not before[moved.name].required else old
    return (
        f"Move the column {moved.name} of {old} to a new table {part.name} with these columns and rules:\n"
        f"- {part.key}: whole number, the primary key, refers to {old}\n{_column(moved)}\n"
        f"It has one row for each row of {rows}. The table {old} keeps its other columns."
    )


def _new_rules(before: TableDesign, table: TableDesign, definition: Definition) -> list[str]:
    found = []
    for old, new in zip(before.columns, table.columns):
        known = set(_rules(old))
        rules = [one for one in _rules(new) if one not in known]
        if definition.filled and definition.filled[0] == new.name:
            rules.append(f"rows so far with NULL get {format_literal(definition.filled[1])}")
        if rules:
            found.append(f"- {new.name}: {', '.join(rules)}")
    return found + [f"- {pair[0]} and {pair[1]} together: unique" for pair in table.pairs]


def _column(column: ColumnDesign) -> str:
    return f"- {column.name}: {', '.join([_TYPES[column.kind], *_rules(column)])}"


def _rules(column: ColumnDesign) -> list[str]:
    found = []
    if column.parent:
        found.append(f"refers to {column.parent}")
    found += ["required"] * column.required + ["unique"] * column.unique
    if column.low is not None:
        found.append(f"at least {format_literal(column.low)}")
    if column.among:
        found.append(f"one of ({', '.join(map(format_literal, column.among))})")
    if column.default is not None:
        found.append(f"{format_literal(column.default)} if a new row does not state it")
    if column.action:
        what = "deletes the rows that refer to it" if column.action == "CASCADE" else "sets it to NULL"
        found.append(f"deleting the row of {column.parent} {what}")
    return found
