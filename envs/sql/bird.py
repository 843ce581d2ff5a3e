"""palaestra/BIRD-v0: questions about databases, from any source in the layout of BIRD."""

from __future__ import annotations

from typing import ClassVar

from ..registration import register
from .query_sets.query_record import BIRD as LAYOUT
from .query_sets.query_set import DATA, QuerySet


class BIRD(QuerySet):
    """Write a query that answers a question of a data set in the layout of BIRD.

    Description:
        Questions come from ``source``; without one, from a small set made for this package. A source is a folder with
        ``dev.json`` (or ``train.json``), whose records have a ``db_id``, a ``question``, ``SQL``, perhaps ``evidence``
        (knowledge from outside the database) and ``difficulty``, and a folder ``dev_databases`` (``train_databases``)
        with a folder for each ``db_id``.

    Parameters:
        level (1 to 3): simple, moderate or challenging. With a custom source the range is that of its levels, and a
            level without questions stands for the nearest one.
        length (0.0 to 1.0): at 0, questions are drawn from the half of their level with the least to read and write; at
            1, from the half with the most.

    Observation:
        CREATE TABLE statements (if too long, only the names of tables and columns) with ``sample_rows`` rows in
        comments, the question, and the evidence as a hint.

    Actions:
        Text with one query, best in a block ```` ```sql ````, as for `TextToSQL`.

    Reward:
        1 if the query has the reference query's result on every file of the database's folder, 0 otherwise; see
        `QuerySet` for the rule and for the differences from the published evaluators. If the reference query fails, the
        reward is invalid, whatever the answer.

    Termination:
        After the first answer.

    Source:
        The layout: Li et al., Can LLM Already Serve as A Database Interface? (BIRD, arXiv 2305.03111). The questions
        that come with the package are its own. Arguments: see `QuerySet`.
    """

    layout = LAYOUT
    built_in = str(DATA / "bird.jsonl")
    files: ClassVar = {
        "train": ("train.json", "train/train.json"),
        "dev": ("dev.json", "mini_dev_sqlite.json", "dev/dev.json"),
    }


register("palaestra/BIRD-v0", f"{__name__}:BIRD")
