"""palaestra/Spider-v0: questions about databases, from any source in the layout of Spider."""

from __future__ import annotations

from typing import ClassVar

from ..registration import register
from .query_sets.query_record import SPIDER as LAYOUT
from .query_sets.query_set import DATA, QuerySet


class Spider(QuerySet):
    """Write a query that answers a question of a data set in the layout of Spider.

    Description:
        Questions come from ``source``; without one, from a small set made for this package. A source is a folder with
        ``dev.json`` or ``train_spider.json``, whose records have a ``db_id``, a ``question`` and a ``query``, and a
        folder ``database`` with a folder for each ``db_id``. ``tables.json`` is not needed: the schema is read from the
        database. If a database has several files, as in the distilled test suites, an answer is run on all.

    Parameters:
        level (1 to 4): the number of joins, clauses, conditions and inner queries of the reference query. With a custom
            source the range is that of its levels, and a level without questions stands for the nearest one.
        length (0.0 to 1.0): at 0, questions are drawn from the half of their level with the least to read and write; at
            1, from the half with the most.

    Observation:
        CREATE TABLE statements (if too long, only the names of tables and columns) with ``sample_rows`` rows in
        comments, and the question.

    Actions:
        Text with one query, best in a block ```` ```sql ````, as for `TextToSQL`.

    Reward:
        1 if the query has the reference query's result on every file of the database's folder, 0 otherwise; see
        `QuerySet` for the rule and for the differences from the published evaluators. If the reference query fails, the
        reward is invalid, whatever the answer.

    Termination:
        After the first answer.

    Source:
        The layout: Yu et al., Spider (arXiv 1809.08887); Zhong, Yu and Klein, Semantic Evaluation for Text-to-SQL with
        Distilled Test Suites (arXiv 2010.02840). The questions that come with the package are its own. Arguments: see
        `QuerySet`.
    """

    layout = LAYOUT
    built_in = str(DATA / "spider.jsonl")
    files: ClassVar = {"train": ("train_spider.json",), "dev": ("dev.json",), "test": ("test.json",)}


register("palaestra/Spider-v0", f"{__name__}:Spider")
