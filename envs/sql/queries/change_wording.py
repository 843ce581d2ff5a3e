"""Ask for a change of a database in English, so that the request alone determines the rows of all tables."""

from __future__ import annotations

from typing import Any

from ...code.programs.dice import Dice
from ..databases.contents import format_literal
from ..databases.relations import Field, Schema
from .change_tree import (
    CaseValue,
    Change,
    ChildTotal,
    DeleteRows,
    GivenValue,
    InsertSelected,
    InsertValues,
    ParentValue,
    SetColumn,
    Shifted,
    Step,
    UpdateRows,
)
from .query_tree import ColumnName, SelectQuery
from .wording import QuestionWriter

_STEPS = ("First: ", "Then, on the result of that: ", "Finally, on the result of that: ")


def write_request(change: Change, schema: Schema, style: str, dice: Dice) -> str:
    """Write the request that ``change`` fulfils.

    Args:
        change: a change that `change_grammar` drew.
        schema: the schema of its database.
        style: one of `wording.STYLES`.
        dice: chooses between equivalent wordings.
    """
    texts = []
    for step in change.steps:
        rows = SelectQuery((), step.table) if isinstance(step, InsertValues) else step.rows
        texts.append(ChangeWriter(rows, schema, style, dice).write_step(step))
    if len(texts) == 1:
        return texts[0]
    return "\n".join(f"{lead}{text}" for lead, text in zip(_STEPS, texts))


class ChangeWriter(QuestionWriter):
    """Writer of the request for one step, whose rows are those of the query."""

    def write_step(self, step: Step) -> str:
        """Write the whole step."""
        if isinstance(step, InsertValues):
            return self._write_values(step)
        rows = step.rows
        every = f"every {self.singular(rows.table)}{self.main_clauses(rows, 'its')}"
        if isinstance(step, UpdateRows):
            parts = [f"set {self.name(one.column, 'its')} to {self._value(one)}" for one in step.sets]
            text = f"For {every}, {' and '.join(parts)}."
            if len(parts) > 1 and not all(isinstance(one.value, GivenValue) for one in step.sets):
                text += " Use the values before this change for both."
        elif isinstance(step, DeleteRows):
            text = self._write_delete(step, every)
        else:
            text = self._write_copy(step, every)
        return " ".join([text, *(note for join in rows.joins for note in self._notes(rows, join))])

    def _write_delete(self, step: DeleteRows, every: str) -> str:
        texts = [f"{self.dice.one(('Delete', 'Remove'))} {every}."]
        for link in step.children:
            what = self._referring(link)
            texts.append(f"Also delete {what}.")
        for link in step.cleared:
            column = self.name(link, "their") if self.named else f"their {self.field(link).phrase}"
            texts.append(f"Keep {self._referring(link)}, with NULL as {column}.")
        return " ".join(texts)

    def _referring(self, link: ColumnName) -> str:
        return f"all {self.plural(link.table)} that refer to one of them"

    def _write_copy(self, step: InsertSelected, every: str) -> str:
        relation = self.schema[step.table]
        new = "row of " + relation.name if self.named else relation.singular
        texts = []
        for name, value in zip(step.columns, step.values):
            texts.append(f"{self._column(relation[name], relation.name)}: {self._source(value, step.rows.table)}")
        rest = [one for one in relation.fields if one.name not in step.columns]
        if rest:
            texts.append(f"{self.join([self._column(one, relation.name) for one in rest])}: NULL")
        return f"For {every}, add one new {new}, with these values ({'; '.join(texts)})."

    def _column(self, field: Field, table: str) -> str:
        return f"{table}.{field.name}" if self.named else field.phrase

    def _source(self, value: Any, table: str) -> str:
        owner = f"the {self.schema[table].singular}'s"
        if isinstance(value, GivenValue):
            return _write(value.value)
        column = value.column if isinstance(value, Shifted) else value
        source = column.sql() if self.named else f"{owner} {self.field(column).phrase}"
        if self.named:
            source += " of that row"
        return f"{source} plus {value.amount}" if isinstance(value, Shifted) else source

    def _write_values(self, step: InsertValues) -> str:
        relation = self.schema[step.table]
        texts = []
        for row in step.rows:
            pairs = [f"{self._given(relation[name])} {_write(value)}" for name, value in zip(step.columns, row)]
            texts.append("- " + ", ".join(pairs))
        rest = [one for one in relation.fields if one.name not in step.columns]
        others = self.join([self._given(one) for one in rest])
        one = len(step.rows) == 1
        listed = "\n".join(texts)
        if not step.updated:
            head = f"Add this {self.singular(relation.name)}" if one else f"Add these {self.plural(relation.name)}"
            end = f"\n(with NULL as {others})" if rest else ""
            return f"{head}:\n{listed}{end}"
        key = relation.key if self.named else "id"
        keep = f", and keep its {others}" if rest else ""
        new = f", with NULL as {others}" if rest else ""
        thing = "row" if self.named else relation.singular
        return (
            f"Store these {self.plural(relation.name)}:\n{listed}\n"
            f"If there is a {thing} with the same {key}, replace its values by the given ones{keep}. "
            f"If there is none, add it{new}."
        )

    def _given(self, field: Field) -> str:
        return field.name if self.named else field.phrase

    def _value(self, one: SetColumn) -> str:
        value = one.value
        if isinstance(value, GivenValue):
            return _write(value.value)
        if isinstance(value, Shifted):
            words = {"+": "plus", "-": "minus", "*": "times"}[value.operator]
            null = " (NULL stays NULL)" if self.field(value.column).nullable else ""
            return f"{self.name(value.column, 'its')} {words} {format_literal(value.amount)}{null}"
        if isinstance(value, ParentValue):
            parent = self.schema[value.column.table]
            without = f" (NULL without {_article(parent.singular)})" if self.field(value.reference).nullable else ""
            if self.named:
                where = f"of the row of {parent.name} that {value.reference.sql()} refers to"
                null = f" (NULL where {value.reference.sql()} is NULL)" if without else ""
                return f"the {value.column.sql()} {where}{null}"
            return f"its {parent.singular}'s {self.field(value.column).phrase}{without}"
        if isinstance(value, ChildTotal):
            return self._total(value)
        assert isinstance(value, CaseValue)
        condition = self.clause(value.condition, "its")
        other = "leave it as it is" if isinstance(value.other, ColumnName) else _write(value.other.value)
        if isinstance(value.other, ColumnName):
            return f"{_write(value.value.value)} if {condition}, and {other} otherwise"
        return f"{_write(value.value.value)} if {condition}, and to {other} otherwise"

    def _total(self, value: ChildTotal) -> str:
        child, function = self.schema[value.reference.table], value.aggregate.function
        rows = f"{self.plural(child.name)} with {value.reference.sql()} = {value.key.sql()}"
        rows = rows if self.named else f"all {child.plural} that refer to it"
        if value.aggregate.column is None:
            return f"the number of {rows}"
        column = value.aggregate.column
        what = column.sql() if self.named else self.field(column).phrase
        extreme = ("earliest", "latest") if self.field(column).kind == "date" else ("smallest", "largest")
        word = {"SUM": "sum of the", "MIN": f"{extreme[0]}", "MAX": f"{extreme[1]}"}[function]
        return f"the {word} {what} of {rows} (NULL where there is none that is not NULL)"


def _write(value: Any) -> str:
    return format_literal(value)


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
