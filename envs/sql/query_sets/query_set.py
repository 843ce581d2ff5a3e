"""`QuerySet`: the base of families over the records of a data set of questions about databases.

gym.make("palaestra/Spider-v0", source="spider", part="dev", split="all")
gym.make("palaestra/BIRD-v0", source="bird/dev", difficulty=0.2)
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ....checks import check_count, check_number
from ....errors import InputError
from ....rewards import Verdict
from ....rewards.answers import MAX_PROGRAM, fenced, query_in
from ....rewards.verifiers.registry import WRONG
from ....rewards.verifiers.sql import Database, ResultRows
from ....rewards.verifiers.sql_order import is_ordered
from ...axes import Axis, FloatAxis, IntAxis
from ...datasets.collection import Collection, load_collection
from ...datasets.layouts import Item
from ...datasets.questions import DatasetQuestion
from ...datasets.sources import is_hub_name
from ...question import Task
from ..engines import EngineFailure, LoadedDatabase, QueryLimits, grade_query, make_engine
from ..engines.engine import unify_rows
from ..outcomes import try_query
from ..text_to_sql import write_script
from .database_folders import check_databases, describe_schema, find_folder, load_databases
from .query_record import QueryRecord

DATA = Path(__file__).parent.parent / "data"
REQUEST = "Answer with one SQLite query."
# Limits of the reference query.
_GOLD_SECONDS, _MOST_ROWS = 60.0, 100_000


class QuerySet(DatasetQuestion):
    """Base of families whose questions are about databases, from the records of a data set.

    A subclass sets ``layout``, ``built_in`` and ``files``. An answer is right if it has the reference query's rows on
    each file of the database's folder (a distilled test suite has many): with the same multiplicities, in order if the
    reference query has a top-level ORDER BY, columns by position, numbers at 12 significant digits. If the reference
    query has no rows on any file, an answer must also name the reference query's tables. The data sets' own evaluators
    differ:

    * Spider's (test-suite-sql-eval) takes columns in any order, drops DISTINCT from both queries, and compares the
      order of rows if ORDER BY occurs anywhere in the reference query; two empty results are equal.
    * BIRD's compares sets of rows, so that neither duplicates nor the order count; two queries that fail are equal.
    * Spider 2's accepts further columns, matches each column separately, numbers within 0.01, and if the order does not
      count, sorts each column separately.

    These evaluators run the model's query on a writable connection; this class uses a read-only one.

    Args:
        source: a folder in the layout of the data set (its records and its folder of databases), a file of records, or
            "owner/name" on the hub, which has only the records.
        part: the part of a folder or hub data set: "train", "dev", ... Required if there are several.
        databases: the folder with a subfolder for each database; by default the one beside the records.
        seconds: CPU time limit of an answer on all files of its database together.
        sample_rows: rows of each table shown in the prompt.
        **kwargs: as for `DatasetQuestion`.
    """

    # The file of each part, the first that exists.
    files: ClassVar[dict[str, tuple[str, ...]]] = {}
    rung_axis = "level"
    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    supplies = frozenset({"sql_reference"})

    def __init__(
        self,
        *,
        source: str | None = None,
        part: str | None = None,
        databases: str | None = None,
        seconds: float = 10.0,
        sample_rows: int = 0,
        **kwargs: Any,
    ):
        self.seconds = check_number("seconds", seconds, low=0.01)
        self.sample_rows = check_count("sample_rows", sample_rows, low=0)
        if source is not None and isinstance(source, (str, os.PathLike)) and Path(source).expanduser().is_dir():
            source, part = str(self._find_records(Path(source).expanduser(), part)), None
        elif isinstance(source, str) and databases is None and is_hub_name(source):
            raise InputError(f"{source} on the hub has no databases; give their folder as databases=.")
        super().__init__(source=source, part=part, **kwargs)
        self.databases = ""
        if self.source is None and databases is not None:
            raise InputError("databases= belongs to a source; say which, such as source='spider'.")
        if self.source is not None:
            folder = find_folder(Path(self.source)) if databases is None else Path(databases).expanduser()
            self.databases = str(folder.absolute())
            items = load_collection(self._source()).items
            check_databases(folder, {item.database for item in items if isinstance(item, QueryRecord)})

    def _find_records(self, folder: Path, part: str | None) -> Path:
        found = {
            name: next(path for path in map(folder.joinpath, files) if path.is_file())
            for name, files in self.files.items()
            if any(folder.joinpath(file).is_file() for file in files)
        }
        if part is None and len(found) == 1:
            return next(iter(found.values()))
        if part in found:
            return found[part]
        expected = ", ".join(file for files in self.files.values() for file in files)
        if not found:
            raise InputError(f"the folder {folder} has none of the files {expected}; give the data set's own folder.")
        known = ", ".join(found)
        raise InputError(f"{folder} has the parts {known}; say which, such as part={max(found)!r}, not {part!r}.")

    def axes_of(self, collection: Collection) -> list[Axis]:
        return [IntAxis("level", *collection.rungs), FloatAxis("length", 0.0, 1.0)]

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        assert isinstance(item, QueryRecord)
        database = load_databases(self.databases, item.database)[0]
        hint = f"\nHint: {item.evidence}" if item.evidence else ""
        shown = describe_schema(database, self.sample_rows)
        prompt = f"{shown}\n\n{item.question}{hint}\n{REQUEST}"
        return Task(prompt, item.answer, solution=fenced(item.answer, "sql"), data=item)

    def database_of(self, task: Task) -> LoadedDatabase:
        """Return the database whose schema the prompt shows."""
        return make_engine("sqlite").load(load_databases(self.databases, task.data.database)[0])

    def grading_of(self, task: Task) -> dict[str, Any]:
        """Return the arguments of `grade_query` by which queries are judged.

        Raises:
            EngineFailure: the reference query cannot be run.
        """
        expected = []
        for database in load_databases(self.databases, task.data.database):
            rows, error = run_gold(task.data.answer, database)
            if rows is None:
                raise EngineFailure(f"The right query cannot be run. {error}")
            expected.append((database, rows))
        limits = QueryLimits(self.seconds, _MOST_ROWS)
        return {"expected": expected, "ordered": is_ordered(task.data.answer), "limits": limits}

    def verify(self, task: Task, answer: str) -> Verdict:
        gold, query = task.data.answer, query_in(answer)
        try:
            grading = self.grading_of(task)
        except EngineFailure as failure:
            return Verdict(0.0, False, valid=False, feedback=str(failure))
        verdict, expected = grade_query(query, **grading), grading["expected"]
        if verdict.success and not any(rows for _, rows in expected):
            # Without a row to be right, a query must name all tables that the reference query names.
            names = try_query("SELECT name FROM sqlite_master", expected[0][0]).rows or ()
            tables = {str(row[0]).lower() for row in names}
            mine, theirs = (tables & set(re.findall(r"\w+", text.lower())) for text in (query, gold))
            return verdict if theirs <= mine else WRONG
        return verdict

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name != "sql_reference":
            return super().compute_extra(subject, name)
        database = self.database_of(subject).database
        if database.path is not None:
            return {"database": database.path, "gold": subject.data.answer}
        scripts = [write_script(one.image or b"") for one in load_databases(self.databases, subject.data.database)]
        return {"schema": scripts, "gold": subject.data.answer}


@functools.lru_cache(maxsize=1024)
def run_gold(gold: str, database: Database) -> tuple[ResultRows | None, str]:
    """Run the reference query. Return its rows and "", or None and the error."""
    outcome = try_query(gold, database, seconds=_GOLD_SECONDS, max_rows=_MOST_ROWS)
    return None if outcome.rows is None else unify_rows(outcome.rows), outcome.error
