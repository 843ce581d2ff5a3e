"""`DatasetQuestion`: the base of environments over the records of a data set.

gym.make("palaestra/GSM8K-v0", source="train.jsonl", difficulty=0.5)
gym.make("palaestra/MATH-v0", source="EleutherAI/hendrycks_math", config="algebra", part="test", split="all")
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, unknown_name
from ..axes import Axis
from ..param_space import ParamSpace
from ..question import Question, Task
from .collection import Collection, Source, load_collection
from .layouts import Item, Layout
from .sources import is_hub_name

BUILT_IN = Path(__file__).parent / "data"
# With fewer different questions, scores and training may not generalise, and a warning is logged.
FEW = 30
_log = logging.getLogger(__name__)
# Family, source and split for which the warning has been logged.
_warned: set[tuple[str, Source, str]] = set()


class DatasetQuestion(Question):
    """Base of families whose questions are records of a data set.

    A subclass sets ``layout``, ``built_in`` and perhaps ``rung_axis``, and implements `axes_of` and `task`, which keeps
    the `Item` in ``Task.data``. The first reset that draws from fewer than 30 different questions logs a warning, once
    in a process for each family, source and split.

    Args:
        source: a .jsonl, .ndjson, .json, .csv or .tsv file (also with .gz, .bz2 or .xz), a .parquet file, a folder of
            such files, or "owner/name" for a data set of the Hugging Face hub; None for the questions that come with
            this package. Parquet files and the hub need the library ``datasets``, extra [datasets].
        part: the part of a hub data set or folder to read: "train", "test", ... In a folder, the names of a file and of
            its folders decide its part. Required if there are several parts, so that they are never mixed. Within the
            part, ``split`` still separates a fifth of the questions by content; use ``split="all"`` for every question
            of a published test set. ``reset(options={"row": id})`` selects one row, in any split; the ids are
            ``env.unwrapped.rows``.
        config: the configuration of a hub data set, such as "main".
        against: test sets, in the same forms as ``source``; a list, or text with commas between them. Questions that
            repeat one of theirs (see `overlap`) are left out, with a warning that counts them.
        **kwargs: as for every environment.

    Raises:
        InputError: the source is missing, empty or not of the layout; the message names file, line and field.
        MissingExtra: the source needs a library that is not installed.
    """

    layout: ClassVar[Layout]
    built_in: ClassVar[str]
    # The axis that selects the rung of the collection; empty if the layout has no rungs.
    rung_axis: str = ""
    supplies = frozenset({"rationale"})
    content_identifies = True
    # Policy of the verifier "math", if it judges the answers.
    policy: str = "strict"
    max_observation = 16_384

    def __init__(
        self,
        *,
        source: str | None = None,
        part: str | None = None,
        config: str | None = None,
        against: str | Sequence[str] = (),
        **kwargs: Any,
    ):
        for name, value in (("part", part), ("config", config)):
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name} must be text such as 'train', not {value!r}.")
        if source is None and (part is not None or config is not None):
            raise InputError("part and config belong to a source; say which, such as source='openai/gsm8k'.")
        self.source: str | None = None
        if source is not None:
            if not isinstance(source, (str, os.PathLike)) or not str(source).strip():
                raise InputError(
                    f"source must name a file, a folder or a hub data set such as 'openai/gsm8k', not {source!r}."
                )
            self.source = _full_name(os.fspath(source))
        tests = against.split(",") if isinstance(against, str) else against
        self.against = tuple(_full_name(os.fspath(name).strip()) for name in tests if os.fspath(name).strip())
        self.part, self.config = part, config
        # The row requested by the reset in progress.
        self._row: Item | None = None
        collection = load_collection(self._source())
        self._digest = collection.digest
        self.param_space = ParamSpace(self.axes_of(collection))
        super().__init__(**kwargs)
        if not collection.has(self.split):
            raise InputError(
                f"{source} has {len(collection.items)} questions and none of them is in split {self.split!r}; "
                "use split='all', or a larger source."
            )

    def axes_of(self, collection: Collection) -> list[Axis]:
        """Return the axes, with the ranges that the collection covers."""
        raise NotImplementedError

    def task(self, item: Item, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        """Make the task for ``item``."""
        raise NotImplementedError

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        return self._draw_task(rng, params, "all")

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        if self._row is not None:
            places = {self.rung_axis: self._row.rung, "length": load_collection(self._source()).place(self._row)}
            params |= {name: value for name, value in places.items() if name in params}
            return self.task(self._row, rng, params)
        # If this split has no question at these parameters, take the nearest one.
        return self._draw_task(rng, params, self.split)

    @property
    def rows(self) -> tuple[str, ...]:
        """The ids of the rows of the source, in its order, for ``reset(options={"row": id})``."""
        return tuple(load_collection(self._source()).rows)

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Task:
        if isinstance(options, Mapping) and "row" in options:
            options = dict(options)
            rows, row = load_collection(self._source()).rows, options.pop("row")
            if row not in rows:
                raise unknown_name("row", str(row), list(rows))
            self._row = rows[row]
            try:
                return super().begin(seed, options)
            finally:
                self._row = None
        task = super().begin(seed, options)
        key = type(self).__name__, self._source(), self.split
        if key not in _warned:
            spans = self._parameter_ranges(options or {})
            low, high = spans.get(self.rung_axis, (0, 0))
            count = load_collection(key[1]).count(self.split, range(low, high + 1), spans.get("length"))
            if count < FEW:
                _warned.add(key)
                _log.warning(_small_source_warning(key[0], self.split, self.source, count, spans))
        return task

    def _parameter_ranges(self, options: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
        """Return the range from which a reset with these options draws each parameter."""
        one = self.difficulty is not None or options.get("difficulty") is not None
        given = self._params if one else options.get("params") or {}
        axes: tuple[Any, ...] = self.param_space.axes
        return {
            axis.name: (self._params[axis.name],) * 2 if axis.name in given else (axis.low, axis.high) for axis in axes
        }

    def random_action(self, episode: Task, rng: np.random.Generator) -> str | None:
        """Return the right answer to another question of the source; None if there is no other."""
        items = load_collection(self._source()).items
        if len(items) < 2:
            return None
        # All items differ in content.
        item = items[int(rng.random() * len(items))]
        while item.content == episode.data.content:
            item = items[int(rng.random() * len(items))]
        return self.oracle(self.task(item, rng, dict(self._params)))

    def split_key(self, episode: Task) -> str:
        return episode.data.content

    def content_of(self, episode: Task) -> str:
        return episode.data.content

    def belongs(self, key: str) -> bool:
        # A row requested by its id belongs to every split.
        return self._row is not None or super().belongs(key)

    def solver_cost(self, episode: Task) -> float | None:
        """Return the number of characters of question and worked solution."""
        return float(episode.data.length)

    def solution_steps(self, task: Task) -> list[str]:
        """List the worked solution of the record, then the answer."""
        return [*task.data.steps, self.oracle(task)]

    def compute_extra(self, subject: Task, name: str) -> Any:
        """Compute an extra (see `episode.extra`); "rationale" is the original solution if it differs from the steps."""
        return subject.data.rationale or None if name == "rationale" else super().compute_extra(subject, name)

    def _draw_task(self, rng: np.random.Generator, params: dict[str, Any], split: str) -> Task:
        collection = load_collection(self._source())
        if collection.digest != self._digest:
            raise InputError(f"{self.source} has changed since this environment was made; make it anew.")
        item = collection.draw(rng.random(), split, params.get(self.rung_axis, 0), params.get("length"))
        return self.task(item, rng, params)

    def _source(self) -> Source:
        name = str(BUILT_IN / self.built_in) if self.source is None else self.source
        return Source(self.layout, name, self.part, self.config, self.policy, self.against)


def _full_name(source: str) -> str:
    """Return the full path of a file or folder, so that a copy in a process with another working directory finds it
    too; the id of a hub data set stays."""
    return source if is_hub_name(source) else str(Path(source).expanduser().absolute())


def _small_source_warning(
    family: str, split: str, source: str | None, count: int, spans: dict[str, tuple[Any, Any]]
) -> str:
    """Write the warning that a family draws from few questions."""
    drawn = ", ".join(
        f"{name}={low}" if low == high else f"{name} {low} to {high}" for name, (low, high) in spans.items()
    )
    return (
        f"{family}, split {split!r}, has only {count} different question{'s' * (count != 1)} with {drawn} in "
        f"{source or 'the small set that comes with the package'}; what is measured or learned on so few may not hold "
        "for others: give a larger data set with source=, or a wider range of parameters."
    )
