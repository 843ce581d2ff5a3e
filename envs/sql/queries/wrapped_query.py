"""Near misses that treat the rows of a whole query: each once, or the first few only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from .query_tree import Condition, WholeQuery


@dataclass(frozen=True, slots=True)
class WrappedQuery(WholeQuery):
    """The rows of a query, each once if ``once``, and only ``most`` of them unless it is 0."""

    inner: WholeQuery
    once: bool = False
    most: int = 0
    table: ClassVar[str] = ""
    columns: ClassVar[tuple[Any, ...]] = ()
    where: ClassVar[tuple[Condition, ...]] = ()

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        end = f" LIMIT {self.most}" if self.most else ""
        return f"SELECT {'DISTINCT ' * self.once}* FROM ({self.inner.sql()}) AS answer{end}"
